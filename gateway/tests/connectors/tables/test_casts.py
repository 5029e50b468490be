"""Cell values: accepted values of every type, lossy values, and equal forms."""

import re
from decimal import Decimal
from typing import Any

import pytest

from connector_gateway.connectors.tables import value_casts
from connector_gateway.connectors.tables.vendor_models import Field
from connector_gateway.kit.casts import to_sent_json
from connector_gateway.kit.errors import LossyCast
from workspace_sandbox.tables.data.cell_validation import STRICT

OPTIONS: dict[str, dict[str, Any]] = {
    "number": {"precision": 2},
    "currency": {"precision": 0, "symbol": "€"},
    "percent": {"precision": 1},
    "duration": {"durationFormat": "h:mm:ss.SS"},
    "rating": {"max": 5},
    "singleSelect": {"choices": [{"id": "sel1", "name": "Open"}, {"id": "sel2", "name": "Won"}]},
    "multipleSelects": {"choices": [{"id": "sel1", "name": "eu"}, {"id": "sel2", "name": "b2b"}]},
}


def build_cases(kind: str, *values: Any) -> list[tuple[str, Any]]:
    """Return one case per value."""
    return [(kind, value) for value in values]


def describe_field(kind: str) -> Field:
    return Field(id="fld1", name="It", type=kind, raw_options=OPTIONS.get(kind))


def test_every_writable_type_has_a_cast() -> None:
    assert STRICT.keys() == value_casts.to_vendor.CASTS.keys()


@pytest.mark.parametrize("kind", value_casts.to_vendor.CASTS)
def test_null_clears_a_field_of_any_type(kind: str) -> None:
    assert value_casts.to_vendor.cast(describe_field(kind), None, creates=False) is None


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("singleLineText", "two\nlines ", "two\nlines "),
        ("singleLineText", "", ""),
        ("singleLineText", 17, "17"),
        ("multilineText", Decimal("2.50"), "2.5"),
        ("richText", "**bold**", "**bold**"),
        ("email", "", ""),
        ("url", "", ""),
        ("phoneNumber", "", ""),
        ("singleLineText", Decimal("1E+3"), "1000"),
        ("email", "Ana.Poe@example.com", "Ana.Poe@example.com"),
        ("url", "https://example.com/a%20b", "https://example.com/a%20b"),
        ("url", "mailto:ana@example.com", "mailto:ana@example.com"),
        ("url", "example.com", "example.com"),
        ("url", "example.com/a?b=c", "example.com/a?b=c"),
        ("phoneNumber", "+46 40 123", "+46 40 123"),
        ("number", 12, 12),
        ("number", Decimal("12.50"), 12.5),
        ("number", " 12.50 ", 12.5),
        ("number", "-0.01", -0.01),
        ("number", "1e3", 1000),
        ("number", Decimal("12.00"), 12),
        ("number", 2**53, 2**53),
        ("currency", "100", 100),
        ("percent", "0.125", 0.125),
        ("percent", 33, 33),
        ("duration", 90, 90),
        ("duration", "90.25", 90.25),
        ("rating", 1, 1),
        ("rating", "5", 5),
        ("rating", Decimal("3.0"), 3),
        ("checkbox", True, True),
        ("checkbox", False, False),
        ("checkbox", "true", True),
        ("checkbox", "false", False),
        ("singleSelect", "Open", "Open"),
        ("singleSelect", "Anything", "Anything"),
        ("multipleSelects", "eu", ["eu"]),
        ("multipleSelects", ["b2b", "eu", "b2b"], ["b2b", "eu"]),
        ("multipleSelects", [], []),
        ("date", "2026-11-02", "2026-11-02"),
        ("date", " 2026-11-02 ", "2026-11-02"),
        ("dateTime", "2026-11-02T09:30:00Z", "2026-11-02T09:30:00.000Z"),
        ("dateTime", "2026-11-02", "2026-11-02T00:00:00.000Z"),
        ("dateTime", "2026-11-02T10:30:00.250+01:00", "2026-11-02T09:30:00.250Z"),
        ("dateTime", "2026-11-02 10:30+01:00", "2026-11-02T09:30:00.000Z"),
        ("singleCollaborator", "ana@example.com", {"email": "ana@example.com"}),
        ("singleCollaborator", "usrA8sVd3kQe71LxZm", {"id": "usrA8sVd3kQe71LxZm"}),
        ("singleCollaborator", {"email": "ana@example.com"}, {"email": "ana@example.com"}),
        ("singleCollaborator", {"id": "usrA8sVd3kQe71LxZm"}, {"id": "usrA8sVd3kQe71LxZm"}),
        ("singleCollaborator", {"id": "usr1", "email": "ana@example.com", "name": "Ana"}, {"id": "usr1"}),
        ("multipleCollaborators", "ana@example.com", [{"email": "ana@example.com"}]),
        ("multipleCollaborators", ["usr1", {"email": "a@example.com"}], [{"id": "usr1"}, {"email": "a@example.com"}]),
        ("multipleRecordLinks", "recA", ["recA"]),
        ("multipleRecordLinks", ["recA", " recB", "recA"], ["recA", "recB"]),
        ("multipleRecordLinks", [], []),
        ("multipleAttachments", "https://example.com/a.png", [{"url": "https://example.com/a.png"}]),
        (
            "multipleAttachments",
            ["http://example.com/a", {"url": "https://example.com/b", "filename": "b.png"}],
            [{"url": "http://example.com/a"}, {"url": "https://example.com/b", "filename": "b.png"}],
        ),
        (
            "multipleAttachments",
            [{"url": "https://example.com/b", "filename": None}],
            [{"url": "https://example.com/b"}],
        ),
        (
            "multipleAttachments",
            [{"id": "att1", "url": "https://example.com/b", "filename": "b.png", "size": 1, "type": "image/png"}],
            [{"url": "https://example.com/b", "filename": "b.png"}],
        ),
        ("multipleAttachments", [], []),
        ("barcode", {"text": "400", "type": None}, {"text": "400"}),
        ("barcode", "4006381333931", {"text": "4006381333931"}),
        ("barcode", {"text": "400", "type": "ean13"}, {"text": "400", "type": "ean13"}),
    ],
)
def test_a_valid_value_is_cast_exactly(kind: str, value: Any, expected: Any) -> None:
    cast = value_casts.to_vendor.cast(describe_field(kind), value, creates=True)

    assert (type(expected), expected) == (type(cast), cast)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *build_cases("singleLineText", True, ["a"], {"a": 1}),
        *build_cases("multilineText", True, ["a"], {"a": 1}),
        *build_cases("richText", True, ["a"], {"a": 1}),
        *build_cases("email", "ana", "ana@", "a b@example.com", 1, True, ["ana@example.com"]),
        *build_cases("url", "nonsense", "two words", "http://", "https://exa mple.com/", 1, []),
        *build_cases("phoneNumber", 46, True, ["+46"]),
        *build_cases(
            "number", "", "a", "1,5", "12 or so", "1_000", "\u0661\u0662", "NaN", "Infinity", "12.345", Decimal("0.001")
        ),
        *build_cases("number", True, [1], {}, 2**53 + 1, "9007199254740993", Decimal("1e400")),
        *build_cases("currency", "0.5", Decimal("0.5"), "€ 5"),
        *build_cases("percent", "12.5%", "0.1255", True),
        *build_cases("duration", "1:30", "0.125", Decimal("0.125")),
        *build_cases("rating", 0, 6, -1, "2.5", Decimal("2.5"), "many", True),
        *build_cases("checkbox", 1, 0, "True", "yes", "", [], Decimal(1)),
        *build_cases("singleSelect", 1, True, ["Open"], {"name": "Open"}),
        *build_cases("multipleSelects", 1, ["eu", 1], [["eu"]], {"name": "eu"}, ["x"] * 1001),
        *build_cases(
            "date", "2026-11-02T00:00:00Z", "2.11.2026", "2026-02-30", "20261102", "", 20261102, ["2026-11-02"]
        ),
        *build_cases("dateTime", "2026-11-02T09:30:00", "tomorrow", "2026-11-02T09:30:00.0001Z", 1, "", True),
        *build_cases("dateTime", "0001-01-01T00:00:00+14:00"),
        *build_cases("singleCollaborator", "Ana", "", 1, ["ana@example.com"], {"name": "Ana"}, {}),
        *build_cases("singleCollaborator", {"id": "usr1", "colour": "red"}),
        *build_cases("multipleCollaborators", 1, ["ana@example.com", "Ana"], [None]),
        *build_cases("multipleRecordLinks", "Acme", "rec", ["recA", 1], {"id": "recA"}, ["tblA"], "rec/A"),
        *build_cases(
            "multipleAttachments", "ftp://example.com/a", "a.png", 1, [1], [{"filename": "a"}], [{"id": "att1"}]
        ),
        *build_cases(
            "multipleAttachments", [{"url": None}], [{"url": 1}], [{"url": "https://example.com/a", "filename": ""}]
        ),
        *build_cases(
            "barcode", {"text": None}, 1, ["1"], {"type": "ean13"}, {"text": 1}, {"text": "1", "colour": "red"}
        ),
    ],
)
def test_a_lossy_value_is_rejected(kind: str, value: Any) -> None:
    with pytest.raises(LossyCast) as error:
        value_casts.to_vendor.cast(describe_field(kind), value, creates=True)

    assert [{"field": "It", "type": kind, "value": to_sent_json(value)}] == error.value.details


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *build_cases("number", "a", "", "1e", Decimal("1e400")),
        *build_cases("date", "2026-02-30", "2026-1-011"),
        *build_cases("dateTime", "tomorrow", "0001-01-01T00:00:00+14:00", "2026-11-02T25:00:00Z"),
        *build_cases("url", "http://[::1"),
        *build_cases("multipleAttachments", "http://[::1"),
    ],
)
def test_the_reason_of_a_rejected_value_contains_no_python_terms(kind: str, value: Any) -> None:
    with pytest.raises(LossyCast) as error:
        value_casts.to_vendor.cast(describe_field(kind), value, creates=True)

    assert not re.search(r"decimal\.|isoformat|[Ii]nvalid|<class|must be|range|limit|digits \(", error.value.message)


@pytest.mark.parametrize(
    "value", [[{"id": "att1"}], [{"id": "att1", "url": "https://example.com/b", "filename": "b.png", "size": 1}]]
)
def test_an_update_preserves_attachments_by_their_id(value: Any) -> None:
    assert [{"id": "att1"}] == value_casts.to_vendor.cast(describe_field("multipleAttachments"), value, creates=False)


def test_digits_are_counted_as_displayed() -> None:
    duration = Field(id="fld1", name="It", type="duration", raw_options={"durationFormat": "h:mm"})

    assert 61 == value_casts.to_vendor.cast(duration, 61, creates=True)
    with pytest.raises(LossyCast):
        value_casts.to_vendor.cast(duration, "61.5", creates=True)


# Options


@pytest.mark.parametrize(
    ("kind", "written", "missing"),
    [
        ("singleSelect", "Open", []),
        ("singleSelect", "open", ["open"]),
        ("singleSelect", "Open ", ["Open "]),
        ("singleSelect", "", [""]),
        ("singleSelect", None, []),
        ("multipleSelects", ["eu", "us", "EU"], ["us", "EU"]),
        ("multipleSelects", [], []),
        ("singleLineText", "anything", []),
    ],
)
def test_options_are_compared_by_every_character(kind: str, written: Any, missing: list[str]) -> None:
    assert missing == value_casts.select_options.missing_options(describe_field(kind), written)


# Representation


@pytest.mark.parametrize(
    ("value", "visible"),
    [
        (Decimal("12.5"), 12.5),
        (Decimal("0.1"), 0.1),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        ({"a": [Decimal("1.5"), "x", None, True, 3]}, {"a": [1.5, "x", None, True, 3]}),
    ],
)
def test_values_are_reported_as_sent(value: Any, visible: Any) -> None:
    assert visible == to_sent_json(value)


# Comparison


@pytest.mark.parametrize(
    ("kind", "written", "current"),
    [
        ("singleLineText", "a ", "a"),
        ("richText", "**a**", "**a**\n"),
        ("number", 2, 2.0),
        ("checkbox", False, None),
        ("checkbox", True, True),
        ("singleLineText", "", None),
        ("multipleSelects", [], None),
        ("date", None, None),
        ("multipleSelects", ["a", "b"], ["b", "a"]),
        ("multipleRecordLinks", ["recA", "recB"], ["recB", "recA"]),
        ("dateTime", "2026-11-02T09:30:00.000Z", "2026-11-02T09:30:00+00:00"),
        ("singleCollaborator", {"email": "a@b.c"}, {"id": "usr1", "email": "a@b.c", "name": "A"}),
        ("multipleCollaborators", [{"id": "usr2"}, {"id": "usr1"}], [{"id": "usr1"}, {"id": "usr2", "name": "B"}]),
        ("multipleAttachments", [{"url": "https://a.b/c%20d.png"}], [{"id": "att1", "filename": "c d.png"}]),
        ("multipleAttachments", [{"url": "https://a.b/c", "filename": "x"}], [{"id": "att1", "filename": "x"}]),
        ("barcode", {"text": "1"}, {"text": "1", "type": "ean13"}),
    ],
)
def test_a_written_value_equals_the_read_value(kind: str, written: Any, current: Any) -> None:
    assert value_casts.write_comparison.equals_written(kind, written, current)


@pytest.mark.parametrize(
    ("kind", "written", "current"),
    [
        ("singleLineText", "a", "A"),
        ("singleLineText", "a", None),
        ("singleLineText", None, "a"),
        ("number", 2, 2.5),
        ("number", 0, None),
        ("checkbox", True, None),
        ("multipleSelects", ["a"], ["a", "b"]),
        ("dateTime", "2026-11-02T09:30:00.000Z", "2026-11-02T09:30:00.001Z"),
        ("singleCollaborator", {"email": "a@b.c"}, {"id": "usr1", "email": "x@b.c"}),
        ("multipleCollaborators", [{"id": "usr1"}], [{"id": "usr1"}, {"id": "usr2"}]),
        ("multipleAttachments", [{"url": "https://a.b/c"}], [{"id": "att1", "filename": "d"}]),
        ("multipleAttachments", [{"url": "https://a.b/c"}], [{"filename": "c"}, {"filename": "c"}]),
        ("barcode", {"text": "1"}, {"text": "2"}),
    ],
)
def test_different_values_are_not_equal(kind: str, written: Any, current: Any) -> None:
    assert not value_casts.write_comparison.equals_written(kind, written, current)
