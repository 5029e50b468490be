"""Event texts of values, and detection of changes, without a vendor."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from connector_gateway.connectors.notes import mapping, value_casts, vendor_models
from connector_gateway.connectors.notes.events import inbound_hooks
from connector_gateway.kit.vendor_model import convert
from harness.requirement import requirement

DATE = {"start": "2026-11-02", "end": None, "time_zone": None}
LONG = "x" * 20_000
SOURCE = "4f5e6d7c-8b9a-4f5e-8d7c-6b5a4f3e2d1c"


def value(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": "p%3A1", "type": kind, kind: content, **more}


def page(value: dict[str, Any]) -> vendor_models.Page:
    """Return a page with one property."""
    return vendor_models.Page(
        id="page-1",
        url="https://example.com",
        in_trash=False,
        created_time=datetime(2026, 11, 2, tzinfo=UTC),
        last_edited_time=datetime(2026, 11, 2, tzinfo=UTC),
        created_by=vendor_models.Reference(id="u1"),
        last_edited_by=vendor_models.Reference(id="u1"),
        parent=vendor_models.Parent(),
        properties={"P": convert(value, vendor_models.Value)},
    )


def changes(before: dict[str, Any], after: dict[str, Any], described: Any = None) -> list[tuple[str, str]]:
    """Return the changes of a property between two values."""
    entries = mapping.property_changes.entries(page(before))
    schema = {"P": {"id": "p%3A1", "name": "P", "type": after["type"], **(described or {})}}
    found_changes = mapping.property_changes.changes(
        page(after), entries, convert(schema, dict[str, vendor_models.Property])
    )
    return [(change.before, change.after) for change in found_changes]


@requirement("notes-60")
@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("title", [], ""),
        ("title", [{"plain_text": "a"}, {"plain_text": "b"}], "ab"),
        ("rich_text", [{"plain_text": "  blanks \n are unchanged "}], "  blanks \n are unchanged "),
        ("number", None, ""),
        ("number", 0, "0"),
        ("number", 12.50, "12.5"),
        ("number", 1e-7, "0.0000001"),
        ("number", 1e22, "10000000000000000000000"),
        ("checkbox", True, "true"),
        ("checkbox", False, "false"),
        ("select", None, ""),
        ("select", {"id": "o1", "name": "Open"}, "Open"),
        ("status", {"id": "o1", "name": "Done"}, "Done"),
        ("multi_select", [], ""),
        ("multi_select", [{"id": "o2", "name": "b, c"}, {"id": "o1", "name": "a"}], "b, c, a"),
        ("date", None, ""),
        ("date", DATE, "2026-11-02"),
        ("date", DATE | {"end": "2026-11-05"}, "2026-11-02/2026-11-05"),
        ("date", DATE | {"start": "2026-11-02T09:30:00.000+01:00"}, "2026-11-02T09:30:00.000+01:00"),
        (
            "date",
            {"start": "2026-11-02T18:00:00.000", "end": "2026-11-02T19:00:00.000", "time_zone": "America/New_York"},
            "2026-11-02T18:00:00.000[America/New_York]/2026-11-02T19:00:00.000[America/New_York]",
        ),
        ("url", None, ""),
        ("url", "https://example.com/?q=a%20b", "https://example.com/?q=a%20b"),
        ("email", "ann@example.com", "ann@example.com"),
        ("phone_number", "+49 30 1", "+49 30 1"),
        ("people", [{"id": "u1", "name": "Ann"}, {"id": "u2"}, {"id": "u3", "name": None}], "Ann, u2, u3"),
        ("relation", [{"id": "b"}, {"id": "a"}], "a, b"),
        ("files", [{"name": "Plan", "type": "external", "external": {"url": "https://x.test/p"}}], "https://x.test/p"),
        ("files", [{"name": "Foto.png", "type": "file", "file": {"url": "https://signed.test/1"}}], "Foto.png"),
        ("place", {"lat": 1.5, "lon": -2, "name": "Home", "address": "Street 1"}, "Home, Street 1 (1.5, -2)"),
        ("place", {"lat": 1.5, "lon": -2}, "(1.5, -2)"),
    ],
)
def test_value_is_converted_to_one_text(kind: str, content: Any, text: str) -> None:
    assert text == value_casts.event_text.text(convert(value(kind, content), vendor_models.Value))


def test_all_writable_types_are_observed() -> None:
    assert value_casts.to_vendor.CASTS.keys() == value_casts.event_text.TEXT_CONVERTERS.keys()


@requirement("notes-79")
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("formula", {"type": "number", "number": 1}),
        ("rollup", {"type": "number", "number": 1}),
        ("created_time", "2026-11-02T09:30:00.000Z"),
        ("unique_id", {"number": 7}),
        ("button", {}),
        ("verification", {"state": "verified"}),
        ("future", {"any": "thing"}),
    ],
)
def test_computed_values_are_not_observed(kind: str, content: Any) -> None:
    assert {} == mapping.property_changes.entries(page(value(kind, content)))


@pytest.mark.parametrize(
    "empty",
    [
        *(value(kind, []) for kind in ("title", "rich_text", "multi_select", "people", "relation", "files")),
        *(value(kind, None) for kind in ("number", "select", "date", "url", "email", "phone_number", "place")),
        value("checkbox", content=False),
    ],
    ids=lambda empty: str(empty["type"]),
)
def test_default_values_are_not_stored(empty: dict[str, Any]) -> None:
    assert {} == mapping.property_changes.entries(page(empty))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (value("select", {"id": "o1", "name": "Open"}), value("select", {"id": "o1", "name": "Opened"})),
        (value("status", {"id": "o1", "name": "Open"}), value("status", {"id": "o1", "name": "Opened"})),
        (
            value("multi_select", [{"id": "o1", "name": "a"}, {"id": "o2", "name": "b"}]),
            value("multi_select", [{"id": "o2", "name": "B"}, {"id": "o1", "name": "a"}]),
        ),
        (value("people", [{"id": "u1", "name": "Ann"}]), value("people", [{"id": "u1", "name": "Anne"}])),
        (
            value("files", [{"name": "Foto.png", "type": "file", "file": {"url": "https://signed.test/1"}}]),
            value("files", [{"name": "Foto.png", "type": "file", "file": {"url": "https://signed.test/2"}}]),
        ),
        (value("relation", [{"id": "a"}, {"id": "b"}]), value("relation", [{"id": "b"}, {"id": "a"}])),
        (value("rich_text", [{"plain_text": "12"}]), value("number", 12)),
        (value("select", {"id": "o1", "name": "Open"}), value("status", {"id": "o2", "name": "Open"})),
        (value("number", 1), value("formula", {"type": "number", "number": 2})),
    ],
    ids=["option", "status", "options", "person", "hosted file", "order", "type", "status instead", "formula instead"],
)
def test_renamed_or_reordered_value_is_no_change(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert [] == changes(before, after)


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        (value("number", 1), value("number", None), ("1", "")),
        (value("checkbox", content=False), value("checkbox", content=True), ("false", "true")),
        (
            value("select", {"id": "o1", "name": "Open"}),
            value("select", {"id": "o2", "name": "Open"}),
            ("Open", "Open"),
        ),
        (value("date", DATE), value("date", DATE | {"end": "2026-11-03"}), ("2026-11-02", "2026-11-02/2026-11-03")),
        (
            value("date", DATE | {"start": "2026-11-02T18:00:00.000", "time_zone": "Europe/Paris"}),
            value("date", DATE | {"start": "2026-11-02T18:00:00.000", "time_zone": "Asia/Tokyo"}),
            ("2026-11-02T18:00:00.000[Europe/Paris]", "2026-11-02T18:00:00.000[Asia/Tokyo]"),
        ),
    ],
    ids=["emptied", "ticked", "another option of the same name", "an end", "another zone"],
)
def test_different_value_is_a_change(before: dict[str, Any], after: dict[str, Any], texts: tuple[str, str]) -> None:
    assert [texts] == changes(before, after)


@requirement("notes-77")
@pytest.mark.parametrize(
    ("after", "expected"),
    [({"id": "o1", "name": "To do"}, []), ({"id": "o2", "name": "Done"}, [("To do", "Done")])],
    ids=["first option", "another option"],
)
def test_added_status_starts_as_its_first_option(after: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    described = {"status": {"options": [{"id": "o1", "name": "To do"}, {"id": "o2", "name": "Done"}]}}

    assert expected == changes(value("formula", {"type": "string"}), value("status", after), described)


def test_added_status_with_unknown_options_is_no_change() -> None:
    assert [] == changes(value("formula", {"type": "string"}), value("status", {"id": "o2", "name": "Done"}))


def test_long_texts_are_truncated_but_compared_in_full() -> None:
    before, after = value("rich_text", [{"plain_text": LONG}]), value("rich_text", [{"plain_text": LONG + "!"}])

    ((first, second),) = changes(before, after)
    assert first == second
    assert mapping.property_changes.MAX_EVENT_TEXT + 1 == len(first)
    assert [] == changes(before, before)


@pytest.mark.parametrize(
    ("raw", "source_id"),
    [
        ({"entity": {"id": SOURCE.replace("-", ""), "type": "data_source"}}, SOURCE),
        ({"data": {"parent": {"data_source_id": SOURCE}}}, SOURCE),
        ({"entity": {"id": SOURCE, "type": "page"}, "data": {"parent": {}}}, None),
        ({"entity": {"id": "../../users", "type": "data_source"}}, None),
        ({"entity": {"id": 12, "type": "data_source"}}, None),
        ({"entity": None, "data": None}, None),
        ({}, None),
    ],
)
def test_data_source_id_is_read_from_a_delivery(raw: dict[str, Any], source_id: str | None) -> None:
    assert source_id == inbound_hooks.data_source_id(json.dumps(raw).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b"[" * 900,
        b'{"verification_token": 1}',
        b'{"verification_token": "other"}',
        b'{"verification_token": "secret_a", "type": "page.created"}',
        b'{"verification_token": "secret_' + b"a" * 1000 + b'"}',
    ],
)
def test_other_bodies_are_not_taken_for_a_handshake(body: bytes) -> None:
    assert inbound_hooks.verification_token(body) is None
