"""The mutations: each changes something, all kinds occur, and a seed reproduces them."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import pytest

from harness.sandbox_server import run_emulators
from hostile.proxy import Mangling, mangling
from hostile.response_mutations import MALFORMED_BODIES, MALFORMED_ERRORS, changed, mangled
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.sandbox import Sandbox

VALUE = {"id": "1", "count": 2, "open": True, "by": {"name": "Ada"}, "labels": ["red"], "due": None}


@pytest.fixture(scope="module")
def boards() -> Iterator[Sandbox]:
    with run_emulators(boards=BoardsEmulator) as sandbox:
        sandbox.emulators["boards"].context.knobs["limits"] = False
        yield sandbox


@pytest.fixture
def proxy(boards: Sandbox) -> Iterator[Mangling]:
    with mangling(boards) as started:
        yield started


def changes() -> list[dict[str, Any]]:
    """Return the forms of a mutated value."""
    return [changed(VALUE, Random(seed))[0] for seed in range(400)]


def forms_of(name: str) -> list[Any]:
    """Return the forms of one part of a mutated value, sorted by their texts."""
    return [json.loads(form) for form in sorted({json.dumps(form[name]) for form in changes() if name in form})]


def some_bodies(status: int) -> set[str]:
    """Return the forms of a mutated body."""
    return {mangled(json.dumps(VALUE).encode(), status, Random(seed))[0].decode() for seed in range(400)}


def read_lists(sandbox: Sandbox, proxy: Mangling) -> list[str]:
    """Return the responses through the proxy to thirty equal requests."""
    emulator = sandbox.emulators["boards"]
    replies = emulator.credentials()
    headers = {"Authorization": f'OAuth oauth_consumer_key="{replies["key"]}", oauth_token="{replies["token"]}"'}
    url = f"{proxy.addresses['GATEWAY_BOARDS_BASE_URL']}/1/lists/{emulator.examples()['list_ids'][0]}"
    with httpx.Client(headers=headers) as client:
        return [client.get(url).text for _ in range(30)]


def test_keys_are_removed_lists_emptied_and_types_changed() -> None:
    assert VALUE not in changes()
    assert {True, False} == {"id" in form for form in changes()}
    assert ["1", {"odd": "1"}] == forms_of("id")
    assert ["2", 2] == forms_of("count")
    assert ["True", True] == forms_of("open")
    assert [None, {"odd": None}] == forms_of("due")
    assert [None, {"name": "Ada"}, {"name": {"odd": "Ada"}}, {}] == forms_of("by")
    assert ["odd", ["red"], [], [{"odd": "red"}]] == forms_of("labels")


def test_bodies_are_replaced_and_errors_malformed() -> None:
    accepted, rejections = some_bodies(200), some_bodies(404)

    assert {json.dumps(body) for body in MALFORMED_BODIES} <= accepted
    assert {json.dumps(body) for body in MALFORMED_ERRORS} <= rejections
    assert set() == {json.dumps(body) for body in MALFORMED_ERRORS} & accepted


def test_bodies_that_are_not_json_are_replaced() -> None:
    body, _ = mangled(b"invalid id", 400, Random(1))

    assert body in {json.dumps(odd).encode() for odd in (*MALFORMED_BODIES, *MALFORMED_ERRORS)}


def test_a_seed_mangles_the_same_third_of_the_responses(boards: Sandbox, proxy: Mangling) -> None:
    untouched = read_lists(boards, proxy)
    proxy.begin(1)
    first = read_lists(boards, proxy)
    proxy.begin(1)
    again = read_lists(boards, proxy)

    assert 1 == len(set(untouched))
    assert first == again
    assert 5 <= len([response for response in first if response != untouched[0]]) <= 15


def test_reads_are_not_mangled_if_only_writes_are_selected(boards: Sandbox, proxy: Mangling) -> None:
    proxy.begin(1, 1.0, only_done=True)
    spared = read_lists(boards, proxy)

    assert 1 == len(set(spared))
    assert [] == proxy.mangled
