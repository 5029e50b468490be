"""The JSON of results."""

from base64 import b64decode
from datetime import UTC, date, datetime
from typing import Annotated

import pytest
from pydantic import Field, ValidationError
from pydantic_core import from_json, to_json

from connector_gateway.kit.models import BOUNDARY, Base64, Base64Bytes, Day, Params, Result, UtcDatetime, json_pieces
from harness.requirement import requirement

PIECES = [b"ABC", b"DEF", b"G"]


class ResultWithFile(Result):
    """A result with a file."""

    name: str
    content: Base64 | None = None


def test_a_file_is_passed_on_without_a_copy() -> None:
    pieces = json_pieces(ResultWithFile(name="a", content=PIECES))

    assert [b'{"name":"a","content":"', *map(Base64Bytes, PIECES), b'"}'] == pieces
    assert isinstance(pieces[1], Base64Bytes)
    assert PIECES[0] is pieces[1].content


@pytest.mark.parametrize("content", [b"", b"A", b"AB", b"ABC", b"ABCD"])
def test_base64_bytes_report_their_encoded_length(content: bytes) -> None:
    encoded = Base64Bytes(content)

    assert b64decode(bytes(encoded)) == content
    assert len(bytes(encoded)) == len(encoded)


def test_a_list_can_contain_several_files() -> None:
    pieces = json_pieces(
        [ResultWithFile(name="a", content=PIECES), ResultWithFile(name="b"), ResultWithFile(name="c", content=[b""])]
    )

    assert [
        {"name": "a", "content": "QUJDREVGRw=="},
        {"name": "b", "content": None},
        {"name": "c", "content": ""},
    ] == from_json(b"".join(map(bytes, pieces)))


def test_a_value_without_a_file_is_one_piece() -> None:
    assert [b'{"name":"a","content":null}'] == json_pieces(ResultWithFile(name="a"))
    assert [b"[]"] == json_pieces([])


def test_a_file_without_pieces_is_empty() -> None:
    assert b'{"name":"a","content":""}' == b"".join(map(bytes, json_pieces(ResultWithFile(name="a", content=[]))))


def test_a_file_is_inlined_unless_pieces_are_requested() -> None:
    assert b'{"name":"a","content":"QUJDREVGRw=="}' == to_json(ResultWithFile(name="a", content=PIECES))
    assert BOUNDARY not in ResultWithFile(name="a", content=PIECES).model_dump_json()


def test_the_schema_describes_a_file_as_text() -> None:
    schema = ResultWithFile.model_json_schema(mode="serialization")["properties"]["content"]

    assert [{"type": "string"}, {"type": "null"}] == schema["anyOf"]


class ResultWithTimes(Result):
    """A result with datetimes."""

    at: UtcDatetime
    ended_at: UtcDatetime | None = None


@requirement("common-17")
@pytest.mark.parametrize(
    ("value", "formatted"),
    [
        ("2026-11-03T09:30:00Z", "2026-11-03T09:30:00.000Z"),
        ("2026-11-03T09:30:00.5+01:00", "2026-11-03T08:30:00.500Z"),
        ("2026-11-03T09:30:00.123999Z", "2026-11-03T09:30:00.123Z"),
        ("2026-11-03", "2026-11-03T00:00:00.000Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00.000Z"),
    ],
)
def test_a_datetime_is_formatted_in_utc_with_milliseconds(value: str, formatted: str) -> None:
    assert {"at": formatted, "ended_at": None} == from_json(to_json(ResultWithTimes.model_validate({"at": value})))


def test_a_datetime_is_unchanged_in_python() -> None:
    result = ResultWithTimes.model_validate({"at": "2026-11-03T09:30:00.123456Z"})

    assert datetime(2026, 11, 3, 9, 30, 0, 123456, UTC) == result.model_dump()["at"]


class ParamsWithDay(Params):
    """Parameters with a date."""

    day: Day


def test_a_day_is_read_from_a_text() -> None:
    assert date(2026, 11, 3) == ParamsWithDay.model_validate({"day": "2026-11-03"}).day


@pytest.mark.parametrize("value", ["2026-11-31", "20261103", "2026-W45-2", "2026-11-03T00:00:00Z", "", 20_000, True])
def test_anything_else_than_a_day_is_rejected(value: object) -> None:
    with pytest.raises(ValidationError, match=r"should be a date such as 2026-11-02|should be a valid date"):
        ParamsWithDay.model_validate({"day": value})


class Shelf(Result):
    id: Annotated[int, Field(description="Declared.")]
    """Not published."""

    kind: str = Field(alias="type")
    """Its type.

    In the vendor's terms.
    """

    label: str


class Bookcase(Shelf):
    label: str
    """Its label."""

    kind: str = ""


def test_schemas_describe_fields_by_their_docstrings() -> None:
    shelf, bookcase = (model.model_json_schema()["properties"] for model in (Shelf, Bookcase))

    assert ["Declared.", "Its type.\n\nIn the vendor's terms.", None] == [
        shelf[name].get("description") for name in ("id", "type", "label")
    ]
    assert ["Declared.", None, "Its label."] == [bookcase[name].get("description") for name in ("id", "kind", "label")]
