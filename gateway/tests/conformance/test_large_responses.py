"""Vendor responses above the size limit are requested in smaller pages."""

from collections.abc import Iterator

import pytest

from harness.all_connectors import AllConnectors, run_all_connectors
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

LARGE = "x" * (5 * 1024 * 1024)

LISTINGS = pytest.mark.parametrize(
    ("connector", "path", "upstream", "required"),
    [
        ("notes", "/notes/databases", "/v1/search", ()),
        ("chat", "/chat/channels", "/api/conversations.list", ()),
        ("boards", "/boards/lists", "/1/boards/{board_id}/cards", ("board_id",)),
        ("crm", "/crm/contacts", "/crm/objects", ()),
        ("crm", "/crm/contacts", "/crm/owners", ()),
        ("tables", "/tables/records", "/v0/app", ("base_id", "table")),
    ],
    ids=["notes", "chat", "boards", "crm", "crm owners", "tables"],
)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_all_connectors(sandbox, tmp_path_factory.mktemp("large")) as started,
    ):
        yield started


@requirement("common-189")
@LISTINGS
def test_a_too_large_response_is_requested_in_smaller_pages(
    started: AllConnectors, connector: str, path: str, upstream: str, required: tuple[str, ...]
) -> None:
    caller = started.with_new_connection(connector)
    examples = caller.examples(connector)
    query = {name: examples[name] for name in required}
    caller.fault(connector, path=upstream.format(**examples), fault="status", status=200, body={"pad": LARGE})

    reply = caller.get(path, **query)

    assert (200, True) == (reply.status, bool(reply.data))


@requirement("common-189")
@LISTINGS
def test_a_single_too_large_item_returns_an_upstream_error(
    started: AllConnectors, connector: str, path: str, upstream: str, required: tuple[str, ...]
) -> None:
    caller = started.with_new_connection(connector)
    examples = caller.examples(connector)
    query = {name: examples[name] for name in required}
    caller.fault(connector, path=upstream.format(**examples), fault="status", status=200, body={"pad": LARGE}, times=6)

    reply = caller.get(path, **query)
    caller.clear(connector)

    assert (502, "upstream_error") == (reply.status, reply.code)


@requirement("common-189")
def test_a_write_with_a_too_large_response_is_in_doubt(started: AllConnectors) -> None:
    caller = started.with_new_connection("boards")
    path = f"/boards/cards/{caller.examples('boards')['card_id']}/comments"
    caller.fault("boards", method="POST", fault="status", status=200, body={"pad": LARGE})

    reply = caller.post(path, text="A comment with a large answer")

    assert (502, "outcome_unknown") == (reply.status, reply.code)
