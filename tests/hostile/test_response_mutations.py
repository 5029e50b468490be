"""The mutations: each changes something, and all kinds occur."""

import json
from random import Random
from typing import Any

from hostile.response_mutations import MALFORMED_BODIES, MALFORMED_ERRORS, changed, mangled

VALUE = {"id": "1", "count": 2, "open": True, "by": {"name": "Ada"}, "labels": ["red"], "due": None}


def changes() -> list[dict[str, Any]]:
    """Return the forms of a mutated value."""
    return [changed(VALUE, Random(seed))[0] for seed in range(400)]


def forms_of(name: str) -> list[Any]:
    """Return the forms of one part of a mutated value, sorted by their texts."""
    return [json.loads(form) for form in sorted({json.dumps(form[name]) for form in changes() if name in form})]


def some_bodies(status: int) -> set[str]:
    """Return the forms of a mutated body."""
    return {mangled(json.dumps(VALUE).encode(), status, Random(seed))[0].decode() for seed in range(400)}


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
