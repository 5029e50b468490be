"""Casts of property values to the vendor's form and back, by type. Lossy values are rejected."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic_core import to_json

from connector_gateway.connectors.notes import mapping, value_casts, vendor_models
from connector_gateway.kit.casts import to_sent_json
from connector_gateway.kit.errors import (
    AmbiguousDatabase,
    InvalidParameters,
    LossyCast,
    PropertyNotFound,
    SelectOptionMissing,
    UnsupportedBlock,
)
from connector_gateway.kit.vendor_model import convert
from harness.requirement import requirement
from workspace_sandbox.notes.validation import utf16_length

UID = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
OTHER = "1b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
OPTIONS = [{"id": "o1", "name": "Open"}, {"id": "o2", "name": "Won, at last"}, {"id": "o3", "name": " blank "}]


def build_property(kind: str) -> vendor_models.Property:
    config = {"options": OPTIONS} if kind in OPTIONED else {}
    return convert({"id": "p1", "name": "P", "type": kind, kind: config}, vendor_models.Property)


OPTIONED = {"select", "multi_select", "status"}


def cast(kind: str, value: Any) -> Any:
    return value_casts.to_vendor.cast("P", build_property(kind), value)


def written_text(*parts: str) -> list[dict[str, Any]]:
    """Return a text in the form of a write."""
    return [{"type": "text", "text": {"content": part}} for part in parts]


def read_text(*parts: str) -> list[dict[str, Any]]:
    """Return a text in the form of a read."""
    return [{"type": "text", "plain_text": part} for part in parts]


# Casts to the vendor's form


@requirement("notes-12")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("url", "example.com/notes"),
        ("url", "no address"),
        ("url", "https://exa mple.com"),
        ("url", "https://[::1"),
        ("url", " https://example.com "),
        ("email", "ann"),
        ("email", "Ann <ann@acme.test>"),
        ("email", "ann@localhost"),
        ("email", '"a b"@acme.test'),
        ("phone_number", "ask for Ann"),
    ],
)
def test_unchecked_types_accept_any_text(kind: str, value: str) -> None:
    assert value == cast(kind, value)


@requirement("notes-9", "notes-11")
@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("title", "Acme", written_text("Acme")),
        ("title", "", []),
        ("title", 12, written_text("12")),
        ("title", Decimal("12.50"), written_text("12.5")),
        ("title", Decimal("1e21"), written_text("1000000000000000000000")),
        ("title", None, []),
        ("rich_text", "  blanks are unchanged \n", written_text("  blanks are unchanged \n")),
        ("rich_text", -3, written_text("-3")),
        ("rich_text", None, []),
        ("number", 12, 12),
        ("number", Decimal("12.5"), 12.5),
        ("number", Decimal("12.0"), 12),
        ("number", Decimal("1e3"), 1000),
        ("number", Decimal("-0.0"), 0),
        ("number", "12.5", 12.5),
        ("number", " 12.50 ", 12.5),
        ("number", "+7", 7),
        ("number", "1e3", 1000),
        ("number", 2**53, 2**53),
        ("number", -(2**53), -(2**53)),
        ("number", None, None),
        ("checkbox", True, True),
        ("checkbox", False, False),
        ("checkbox", "true", True),
        ("checkbox", "false", False),
        ("select", "Open", {"id": "o1"}),
        ("select", "Won, at last", {"id": "o2"}),
        ("select", " blank ", {"id": "o3"}),
        ("select", None, None),
        ("status", "Open", {"id": "o1"}),
        ("multi_select", "Open", [{"id": "o1"}]),
        ("multi_select", "Won, at last", [{"id": "o2"}]),
        ("multi_select", ["Open", "Won, at last", "Open"], [{"id": "o1"}, {"id": "o2"}]),
        ("multi_select", [], []),
        ("multi_select", None, []),
        ("date", "2026-11-02", {"start": "2026-11-02"}),
        ("date", " 2026-11-02 ", {"start": "2026-11-02"}),
        ("date", "2026-11-02T09:30:00Z", {"start": "2026-11-02T09:30:00+00:00"}),
        ("date", "2026-11-02T09:30:00.250+02:00", {"start": "2026-11-02T09:30:00.250000+02:00"}),
        ("date", None, None),
        ("checkbox", None, False),
        ("status", None, None),
        ("date", "2026-11-02/2026-11-05", {"start": "2026-11-02", "end": "2026-11-05"}),
        ("date", {"start": "2026-11-02"}, {"start": "2026-11-02"}),
        ("date", {"start": "2026-11-02", "end": None}, {"start": "2026-11-02"}),
        (
            "date",
            {"start": "2026-11-02T09:30:00Z", "end": "2026-11-02T12:30:00+02:00"},
            {"start": "2026-11-02T09:30:00+00:00", "end": "2026-11-02T12:30:00+02:00"},
        ),
        ("url", "https://example.com/a?b=c%20d#e", "https://example.com/a?b=c%20d#e"),
        ("url", "mailto:ann@example.com", "mailto:ann@example.com"),
        ("url", None, None),
        ("email", "ann@acme.test", "ann@acme.test"),
        ("email", None, None),
        ("phone_number", "+49 (30) 55-50", "+49 (30) 55-50"),
        ("phone_number", None, None),
        ("people", UID, [{"id": UID}]),
        ("people", UID.replace("-", "").upper(), [{"id": UID}]),
        ("people", [UID, OTHER], [{"id": UID}, {"id": OTHER}]),
        ("people", [UID, UID.replace("-", "")], [{"id": UID}]),
        ("people", None, []),
        ("relation", [UID], [{"id": UID}]),
        ("relation", [], []),
        ("relation", None, []),
        (
            "files",
            "https://example.com/a/b.pdf?c=d",
            [{"name": "b.pdf", "type": "external", "external": {"url": "https://example.com/a/b.pdf?c=d"}}],
        ),
        (
            "files",
            ["http://example.com"],
            [{"name": "example.com", "type": "external", "external": {"url": "http://example.com"}}],
        ),
        ("files", None, []),
        ("place", {"lat": Decimal("1.5"), "lon": 2, "name": "Here"}, {"lat": 1.5, "lon": 2, "name": "Here"}),
        ("place", None, None),
    ],
)
def test_lossless_value_is_cast(kind: str, value: Any, expected: Any) -> None:
    assert expected == cast(kind, value)


@requirement("notes-10")
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("title", True),
        ("title", ["a"]),
        ("title", {"a": 1}),
        ("title", "x" * 190_001),
        ("rich_text", False),
        ("number", ""),
        ("number", " "),
        ("number", "1,200"),
        ("number", "5 kg"),
        ("number", "1_000"),
        ("number", "٣"),
        ("number", "NaN"),
        ("number", "Infinity"),
        ("number", "0x10"),
        ("number", True),
        ("number", [1]),
        ("number", {"a": 1}),
        ("number", 2**53 + 1),
        ("number", "9007199254740993"),
        ("number", Decimal("0.1234567890123456789")),
        ("number", "1e999999999"),
        ("number", "1e-999999999"),
        ("number", Decimal("1e300")),
        ("checkbox", "yes"),
        ("checkbox", "TRUE"),
        ("checkbox", 1),
        ("checkbox", 0),
        ("checkbox", []),
        ("select", 5),
        ("select", True),
        ("select", ["Open"]),
        ("select", {"name": "Open"}),
        ("status", ["Open"]),
        ("multi_select", 5),
        ("multi_select", [5]),
        ("multi_select", [None]),
        ("multi_select", ["Open"] * 101),
        ("date", ""),
        ("date", "2026-11-02/"),
        ("date", "2026-11-05/2026-11-02"),
        ("date", {"start": "2026-11-02", "end": "2026-11-02T09:30:00Z"}),
        ("date", {"end": "2026-11-02"}),
        ("date", {"start": "2026-11-02", "until": "2026-11-03"}),
        ("date", "02.11.2026"),
        ("date", "2026-02-30"),
        ("date", "2026-11-02T09:30:00"),
        ("date", "2026-11-02T09:30:00.123456Z"),
        ("date", "tomorrow"),
        ("date", 1_795_000_000),
        ("date", True),
        ("date", ["2026-11-02"]),
        ("date", "20261102"),
        ("date", "2026-W45-1"),
        ("date", "2026-11-02T09:30:00.0000001Z"),
        ("url", ""),
        ("url", "https://example.com/" + "x" * 2000),
        ("url", 5),
        ("email", ""),
        ("email", "a" * 200 + "@acme.test"),
        ("email", True),
        ("phone_number", 4930),
        ("phone_number", ""),
        ("phone_number", "1" * 201),
        ("people", "Ann"),
        ("people", [5]),
        ("people", [UID] * 101),
        ("relation", "nope"),
        ("relation", {"id": UID}),
        ("files", "ftp://example.com/a"),
        ("files", "a.pdf"),
        ("files", "https://[oops"),
        ("files", 5),
        ("place", "Lisboa"),
        ("place", {"lat": 1}),
        ("place", {"lat": 1, "lon": "east"}),
        ("place", {"lat": 1, "lon": [2]}),
        ("place", {"lat": True, "lon": 2}),
        ("place", {"lat": 1, "lon": 2, "planet": "Mars"}),
        ("place", {"lat": 1, "lon": 2, "name": ["Here"]}),
        ("place", []),
    ],
)
def test_lossy_value_is_rejected_with_property_type_and_value(kind: str, value: Any) -> None:
    with pytest.raises(LossyCast) as error:
        cast(kind, value)
    (detail,) = error.value.details

    assert ("P", kind) == (detail["property"], detail["type"])
    assert not re.search("<class|isoformat|hexadecimal|decimal\\.|month|[\\[\\]]", error.value.message)
    assert to_sent_json(value) == detail["value"]
    assert to_json(detail)


@requirement("notes-52")
@pytest.mark.parametrize("kind", sorted(OPTIONED))
@pytest.mark.parametrize("value", ["open", "Open ", "", "Nope"])
def test_unknown_option_is_rejected_with_the_allowed_options(kind: str, value: str) -> None:
    with pytest.raises(SelectOptionMissing) as error:
        cast(kind, value)

    assert [{"property": "P", "value": value, "allowed": ["Open", "Won, at last", " blank "]}] == error.value.details


@requirement("notes-52")
def test_all_unknown_options_are_reported() -> None:
    with pytest.raises(SelectOptionMissing) as error:
        cast("multi_select", ["Nope", "Open", "Never"])

    assert ["Nope", "Never"] == [detail["value"] for detail in error.value.details]


@requirement("notes-18")
@pytest.mark.parametrize("character", ["a", "é", "会", "👩‍👩‍👧", "🎉"])
def test_long_text_is_split_into_parts_within_the_vendor_limit(character: str) -> None:
    content = character * 3000
    parts = [part["text"]["content"] for part in value_casts.to_vendor.rich_text(content)]

    assert content == "".join(parts)
    assert max(map(utf16_length, parts)) <= 2000


def test_longest_text_has_at_most_a_hundred_parts() -> None:
    assert len(value_casts.to_vendor.rich_text("x" * 190_000)) <= 100


@requirement("notes-13")
def test_properties_are_written_by_id_and_computed_ones_skipped() -> None:
    schema = {
        "Name": {"id": "title", "name": "Name", "type": "title", "title": {}},
        "Stage": {"id": "a%3Ab", "name": "Stage", "type": "select", "select": {"options": OPTIONS}},
        "Score": {"id": "s", "name": "Score", "type": "formula", "formula": {}},
        "Mood": {"id": "m", "name": "Mood", "type": "sentiment", "sentiment": {}},
    }
    properties = convert(schema, dict[str, vendor_models.Property])
    written, skipped = mapping.properties.to_vendor_properties(
        properties, {"Score": 1, "Stage": "Open", "Mood": "good", "Name": "Acme"}
    )

    assert {"a%3Ab": {"select": {"id": "o1"}}, "title": {"title": written_text("Acme")}} == written
    assert ["Score", "Mood"] == skipped


@requirement("notes-51")
def test_all_unknown_properties_are_reported() -> None:
    with pytest.raises(PropertyNotFound) as error:
        mapping.properties.to_vendor_properties(
            {"Name": build_property("title")}, {"Name": "a", "name": "b", "Nope": "c"}
        )

    assert ["name", "Nope"] == [detail["property"] for detail in error.value.details]


# Casts from the vendor's form


def raw_value(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": "p1", "type": kind, kind: content, **more}


def value(kind: str, content: Any, **more: Any) -> vendor_models.Value:
    return convert(raw_value(kind, content, **more), vendor_models.Value)


def page(kind: str, content: Any, **more: Any) -> vendor_models.Page:
    """Return a page with one property."""
    return vendor_models.Page(
        id=UID,
        url="https://example.com",
        in_trash=False,
        created_time=datetime(2026, 11, 2, tzinfo=UTC),
        last_edited_time=datetime(2026, 11, 2, tzinfo=UTC),
        created_by=vendor_models.Reference(id=UID),
        last_edited_by=vendor_models.Reference(id=UID),
        parent=vendor_models.Parent(),
        properties={"P": value(kind, content, **more)},
    )


PERSON = {"object": "user", "id": UID, "name": "Ann", "person": {"email": "ann@acme.test"}}

VALUES_AND_TEXTS = [
    ("title", read_text("Ac", "me"), ["Acme"]),
    ("title", [], []),
    ("rich_text", [{"plain_text": "@Ann", "type": "mention"}], ["@Ann"]),
    ("number", 12.5, ["12.5"]),
    ("number", 12.0, ["12"]),
    ("number", 1e21, ["1000000000000000000000"]),
    ("number", 1e-7, ["0.0000001"]),
    ("number", 0, ["0"]),
    ("number", None, []),
    ("select", {"id": "o1", "name": "Open"}, ["Open"]),
    ("select", None, []),
    ("multi_select", [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}], ["a", "b"]),
    ("status", {"id": "1", "name": "Done"}, ["Done"]),
    ("date", {"start": "2026-11-02", "end": None}, ["2026-11-02"]),
    ("date", {"start": "2026-11-02", "end": "2026-11-03"}, ["2026-11-02", "2026-11-02/2026-11-03"]),
    ("date", None, []),
    ("checkbox", True, ["true"]),
    ("checkbox", False, ["false"]),
    ("url", "https://example.com", ["https://example.com"]),
    ("email", None, []),
    ("phone_number", "110", ["110"]),
    ("people", [PERSON], ["Ann", UID, "ann@acme.test"]),
    ("people", [{"object": "user", "id": UID}], [UID]),
    ("relation", [{"id": UID}], [UID]),
    ("files", [{"name": "a.pdf", "external": {"url": "https://e.com/a"}}], ["a.pdf", "https://e.com/a"]),
    ("files", [{"name": "b.png", "file": {"url": "https://e.com/b"}}], ["b.png", "https://e.com/b"]),
    ("files", [{"name": "", "file_upload": {"id": UID}}], []),
    ("place", {"lat": 1, "lon": 2, "name": "Here", "address": None}, ["Here"]),
    ("created_by", PERSON, ["Ann", UID, "ann@acme.test"]),
    ("created_time", "2026-11-02T09:30:00.000Z", ["2026-11-02T09:30:00.000Z"]),
    ("unique_id", {"prefix": "EV", "number": 7}, ["EV-7", "7"]),
    ("unique_id", {"prefix": None, "number": 7}, ["7"]),
    ("verification", {"state": "verified"}, ["verified"]),
    ("verification", None, []),
    ("formula", {"type": "string", "string": "so"}, ["so"]),
    ("formula", {"type": "number", "number": 1.5}, ["1.5"]),
    ("formula", {"type": "boolean", "boolean": False}, ["false"]),
    ("formula", {"type": "date", "date": {"start": "2026-11-02"}}, ["2026-11-02"]),
    ("formula", {"type": "number", "number": None}, []),
    ("formula", {"type": "unsupported", "unsupported": {}}, []),
    ("rollup", {"type": "number", "number": 3, "function": "count"}, ["3"]),
    ("rollup", {"type": "date", "date": None, "function": "latest_date"}, []),
    ("rollup", {"type": "array", "array": [raw_value("number", 1), raw_value("title", read_text("a"))]}, ["1", "a"]),
    ("rollup", {"type": "unsupported", "function": "count"}, []),
    ("button", {}, []),
    ("sentiment", {"score": 5}, []),
    ("sentiment", ["a"], []),
    ("sentiment", "plain", []),
]


@requirement("notes-39")
@pytest.mark.parametrize(("kind", "content", "texts"), VALUES_AND_TEXTS)
def test_value_is_converted_to_searchable_texts(kind: str, content: Any, texts: list[str]) -> None:
    assert texts == value_casts.from_vendor.texts(value(kind, content))


@requirement("notes-37", "notes-38", "notes-39")
@pytest.mark.parametrize(
    ("kind", "content", "query", "match", "matches"),
    [
        ("title", read_text("  Acme "), "Acme", "exact", True),
        ("title", read_text("Acme"), "acme", "exact", False),
        ("title", read_text("Acme GmbH"), "Acme", "exact", False),
        ("title", read_text("Acme GmbH"), "me Gm", "contains", True),
        ("title", [], "", "exact", True),
        ("title", read_text("  "), "", "exact", True),
        ("title", read_text("a"), "", "exact", False),
        ("title", read_text("a"), "", "contains", True),
        ("number", 12.5, "12.50", "exact", True),
        ("number", 1000, "1e3", "exact", True),
        ("number", 1000, "1000", "exact", True),
        ("number", 1000, "00", "contains", True),
        ("number", 12, "twelve", "exact", False),
        ("formula", {"type": "number", "number": 5}, "5.0", "exact", True),
        ("multi_select", [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}], "b", "exact", True),
        ("relation", [{"id": UID}], UID.replace("-", "").upper(), "exact", True),
        ("people", [PERSON], "ann@acme.test", "exact", True),
        ("people", [PERSON], "acme", "contains", True),
        ("checkbox", True, "true", "exact", True),
        ("checkbox", False, "true", "exact", False),
    ],
)
def test_values_match_as_text_after_trimming(kind: str, content: Any, query: str, match: str, *, matches: bool) -> None:
    assert matches == mapping.searches.matches(value(kind, content), query, match)


@requirement("notes-97")
@pytest.mark.parametrize(
    ("kind", "content", "query", "match", "matches"),
    [
        ("title", read_text("Acme"), "acme", "exact", False),
        ("title", read_text("Acme"), "acme", "contains", False),
        ("url", "https://Acme.test", "https://acme.test", "exact", False),
        ("people", [PERSON], "ANN@acme.test", "exact", True),
        ("people", [PERSON], UID.upper(), "exact", True),
    ],
)
def test_matching_is_case_sensitive_except_for_people_and_identifiers(
    kind: str, content: Any, query: str, match: str, *, matches: bool
) -> None:
    assert matches == mapping.searches.matches(value(kind, content), query, match)


@requirement("notes-40")
@pytest.mark.parametrize(
    ("start", "query", "is_same"),
    [
        ("2026-11-02", "2026-11-02", True),
        ("2026-11-02", "2026-11-03", False),
        ("2026-11-02T09:30:00.000+00:00", "2026-11-02T09:30:00Z", True),
        ("2026-11-02T09:30:00.000+00:00", "2026-11-02T10:30:00+01:00", True),
        ("2026-11-02T09:30:00.000+00:00", "2026-11-02T09:30Z", True),
        ("2026-11-02T09:30:00.000+00:00", "2026-11-02 09:30:00", True),
        ("2026-11-02T09:30:00.000+00:00", "2026-11-02T09:31:00Z", False),
        ("2026-11-02T00:30:00.000+02:00", "2026-11-02", True),
        ("2026-11-02T00:30:00.000+02:00", "2026-11-01", False),
        ("2026-11-02", "2026-11-02T00:00:00Z", False),
        ("2026-11-02", "20261102", False),
        ("some day", "2026-11-02", False),
    ],
)
@pytest.mark.parametrize("kind", ["date", "formula", "rollup", "created_time"])
def test_dates_are_compared_as_days_or_times(kind: str, start: str, query: str, *, is_same: bool) -> None:
    contents: dict[str, Any] = {
        "date": {"start": start},
        "formula": {"type": "date", "date": {"start": start}},
        "rollup": {"type": "array", "array": [raw_value("date", {"start": start})]},
        "created_time": start,
    }

    assert is_same == mapping.searches.matches(value(kind, contents[kind]), query, "exact")


@requirement("notes-40")
@pytest.mark.parametrize(
    ("period", "query", "is_same"),
    [
        ({"start": "2026-11-02", "end": "2026-11-05"}, "2026-11-02/2026-11-05", True),
        ({"start": "2026-11-02", "end": "2026-11-05"}, "2026-11-02", True),
        ({"start": "2026-11-02", "end": "2026-11-05"}, "2026-11-02/2026-11-04", False),
        (
            {"start": "2026-11-02T09:00:00.000Z", "end": "2026-11-02T10:00:00.000Z"},
            "2026-11-02T10:00:00+01:00/2026-11-02T11:00:00+01:00",
            True,
        ),
        ({"start": "2026-11-02T18:00:00.000", "time_zone": "America/New_York"}, "2026-11-02T23:00:00Z", True),
        ({"start": "2026-11-02T18:00:00.000", "time_zone": "Nowhere/Else"}, "2026-11-02T18:00:00Z", True),
    ],
)
def test_periods_and_zoned_times_are_compared_as_times(period: dict[str, Any], query: str, *, is_same: bool) -> None:
    assert is_same == mapping.searches.matches(value("date", period), query, "exact")


# Recognition of written pages


@pytest.mark.parametrize(
    ("kind", "written", "content"),
    [
        ("title", "Acme", read_text("Ac", "me")),
        ("title", None, []),
        ("number", "12.0", 12),
        ("select", "Open", {"id": "o1", "name": "Open", "color": "red"}),
        ("select", None, None),
        ("multi_select", ["Won, at last", "Open"], [{"id": "o1", "name": "Open"}, {"id": "o2", "name": "Won"}]),
        ("multi_select", None, []),
        ("date", "2026-11-02", {"start": "2026-11-02", "end": None, "time_zone": None}),
        ("date", "2026-11-02T09:30:00Z", {"start": "2026-11-02T10:30:00.000+01:00", "end": None}),
        ("people", [UID, UID], [{"object": "user", "id": UID}]),
        ("relation", [OTHER, UID], [{"id": UID}, {"id": OTHER}]),
        ("files", "https://e.com/a", [{"name": "a", "type": "external", "external": {"url": "https://e.com/a"}}]),
        ("place", {"lat": 1, "lon": 2}, {"lat": 1.0, "lon": 2, "name": None, "address": None}),
        ("checkbox", "false", False),
        ("url", "https://e.com", "https://e.com"),
    ],
)
def test_page_with_the_written_values_is_recognised(kind: str, written: Any, content: Any) -> None:
    assert mapping.in_doubt_matching.has_values(page(kind, content), {"p1": {kind: cast(kind, written)}})


@pytest.mark.parametrize("kind", ["people", "relation"])
def test_page_with_a_truncated_list_is_recognised(kind: str) -> None:
    ids = [f"{number:08x}-4f50-4617-8293-a4b5c6d7e8f9" for number in range(40)]
    part = page(kind, [{"id": uid} for uid in ids[:25]], has_more=True)

    assert mapping.in_doubt_matching.has_values(part, {"p1": {kind: cast(kind, ids)}})


@pytest.mark.parametrize(
    ("kind", "written", "content"),
    [
        ("title", "Acme", read_text("Acme ")),
        ("number", 1, 2),
        ("number", 0, None),
        ("select", "Open", None),
        ("select", None, {"id": "o1", "name": "Open"}),
        ("multi_select", "Open", [{"id": "o1", "name": "Open"}, {"id": "o2", "name": "Won"}]),
        ("date", "2026-11-02", {"start": "2026-11-02T00:00:00.000+00:00"}),
        ("date", "2026-11-02T09:30:00Z", {"start": "2026-11-02T09:30:00.000", "time_zone": "America/New_York"}),
        ("date", "2026-11-02", {"start": "2026-11-02", "end": "2026-11-03"}),
        ("relation", [UID, OTHER], [{"id": UID}]),
        ("checkbox", True, False),
    ],
)
def test_page_with_other_values_is_not_recognised(kind: str, written: Any, content: Any) -> None:
    assert not mapping.in_doubt_matching.has_values(page(kind, content), {"p1": {kind: cast(kind, written)}})


@pytest.mark.parametrize(
    ("kind", "content", "is_default"),
    [
        ("title", [], True),
        ("title", read_text("Acme"), False),
        ("number", None, True),
        ("number", 0, False),
        ("checkbox", False, True),
        ("checkbox", True, False),
        ("select", {"id": "o1", "name": "Open"}, False),
        ("status", None, True),
        ("status", {"id": "o1", "name": "Not started"}, True),
        ("status", {"id": "o2", "name": "Done"}, False),
        ("people", [{"id": UID}], False),
        ("place", None, True),
        ("formula", {"type": "number", "number": 3}, True),
        ("unique_id", {"prefix": "T", "number": 7}, True),
        ("sentiment", "calm", True),
    ],
)
def test_unwritten_value_is_compared_with_the_default(kind: str, content: Any, *, is_default: bool) -> None:
    assert is_default == value_casts.write_comparison.is_default(value(kind, content), "o1")


# Blocks in doubt


def build_blocks(*texts: str) -> list[dict[str, Any]]:
    return [mapping.blocks.block(0, line)[0] for line in texts]


@pytest.mark.parametrize(
    ("groups", "ours", "is_appended"),
    [
        (["ab", "cd"], "ab", False),
        (["ab", "cd"], "abcd", True),
        (["ab", "cd"], "abcX", True),
        (["ab", "cd"], "cd", True),
        (["ab", "cd"], "bd", False),
        (["aa", "aa"], "aa", False),
        (["aa", "aa"], "aaa", True),
        (["ab", "b"], "b", False),
        (["ab", "b"], "abb", True),
        (["ab", "cd", "e"], "abcd", False),
        (["ab", "cd", "e"], "abcde", True),
    ],
)
def test_append_is_recognised_by_block_count_or_unique_content(
    groups: list[str], ours: str, *, is_appended: bool
) -> None:
    step = mapping.blocks.append_steps("p", [build_blocks(*group) for group in groups])[-1]

    assert is_appended == mapping.in_doubt_matching.is_appended(
        [mapping.in_doubt_matching.signature_written(block) for block in build_blocks(*ours)], step
    )


# Body blocks


@requirement("notes-14", "notes-15")
@pytest.mark.parametrize(
    ("child", "kind"),
    [
        ("Hello", "paragraph"),
        ({"type": "paragraph", "text": "Hello"}, "paragraph"),
        ({"type": "bulleted_list_item", "text": "Hello"}, "bulleted_list_item"),
        ({"type": "callout", "text": "Hello"}, "callout"),
    ],
)
def test_body_block_is_a_string_or_an_object(child: Any, kind: str) -> None:
    ((block,),) = mapping.blocks.block_groups([child])

    assert {"object": "block", "type": kind, kind: {"rich_text": written_text("Hello")}} == block


@requirement("notes-16")
@pytest.mark.parametrize("kind", ["heading_1", "", None, 5, ["paragraph"], {}])
def test_unsupported_block_is_rejected_with_its_position(kind: Any) -> None:
    with pytest.raises(UnsupportedBlock) as error:
        mapping.blocks.block_groups(["fine", {"type": kind, "text": "x"}])

    assert (1, "children.1.type") == (error.value.details[0]["index"], error.value.details[0]["parameter"])


@pytest.mark.parametrize(
    "child",
    [
        5,
        None,
        ["a"],
        {"type": "paragraph"},
        {"type": "paragraph", "text": 5},
        {"type": "paragraph", "text": "a", "color": "red"},
        {"type": "paragraph", "text": "x" * 200_001},
    ],
)
def test_malformed_block_is_rejected_with_its_position(child: Any) -> None:
    with pytest.raises(InvalidParameters) as error:
        mapping.blocks.block_groups([child])

    assert error.value.details[0]["parameter"].startswith("children.0")


@requirement("common-29")
def test_all_invalid_blocks_are_reported() -> None:
    with pytest.raises(InvalidParameters) as error:
        mapping.blocks.block_groups([5, "fine", {"type": "image", "text": "x"}, {"type": "paragraph"}])

    assert [
        ("invalid_parameters", "children.0"),
        ("unsupported_block", "children.2.type"),
        ("invalid_parameters", "children.3.text"),
    ] == [(detail["code"], detail["parameter"]) for detail in error.value.details]


@requirement("notes-17")
@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50])])
def test_blocks_are_grouped_within_the_request_limit(count: int, sizes: list[int]) -> None:
    assert sizes == [len(group) for group in mapping.blocks.block_groups(["x"] * count)]


def test_large_blocks_are_sent_in_smaller_groups() -> None:
    groups = mapping.blocks.block_groups(["会" * 30_000] * 20)

    assert max(len(to_json(group)) for group in groups) < 500_000


# Databases


def build_source(uid: str, title: str, *names: str) -> vendor_models.DataSource:
    """Return a data source with properties of these names."""
    return vendor_models.DataSource(
        id=uid,
        title=[vendor_models.RichText(plain_text=title)],
        parent=vendor_models.Parent(database_id=OTHER),
        properties={name: vendor_models.Property(id=name, name=name, type="number") for name in names},
        in_trash=False,
        created_time=datetime(2026, 11, 2, tzinfo=UTC),
        last_edited_time=datetime(2026, 11, 2, tzinfo=UTC),
    )


@requirement("notes-42")
def test_first_source_with_all_names_is_chosen() -> None:
    sources = [build_source("1", "One", "A"), build_source("2", "Two", "A", "B")]

    assert "1" == mapping.databases.choose_source(sources, ["A"]).id
    assert "2" == mapping.databases.choose_source(sources, ["B"]).id


@requirement("notes-43")
def test_names_spread_over_several_sources_are_ambiguous() -> None:
    with pytest.raises(AmbiguousDatabase) as error:
        mapping.databases.choose_source([build_source("1", "One", "A"), build_source("2", "Two", "B")], ["A", "B"])

    assert ["One", "Two"] == [detail["data_source"] for detail in error.value.details]


@requirement("notes-45")
def test_names_of_no_source_are_reported_instead_of_ambiguity() -> None:
    with pytest.raises(PropertyNotFound) as error:
        mapping.databases.choose_source([build_source("1", "One", "A"), build_source("2", "Two", "B")], ["A", "C", "D"])

    assert [("C", ["A", "B"]), ("D", ["A", "B"])] == [
        (detail["property"], detail["allowed"]) for detail in error.value.details
    ]
