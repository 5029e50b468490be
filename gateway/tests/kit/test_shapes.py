"""How results become JSON."""

from base64 import b64decode
from datetime import UTC, datetime

import pytest
from pydantic_core import from_json, to_json

from connector_gateway.kit.models import BOUNDARY, Base64, Base64Bytes, Result, UtcDatetime, json_pieces
from harness.requirement import requirement

PIECES = [b"ABC", b"DEF", b"G"]


class Enclosed(Result):
    """Something with a file in it."""

    name: str
    content: Base64 | None = None


def test_a_file_is_passed_on_without_a_copy() -> None:
    pieces = json_pieces(Enclosed(name="a", content=PIECES))

    assert [b'{"name":"a","content":"', *map(Base64Bytes, PIECES), b'"}'] == pieces
    assert isinstance(pieces[1], Base64Bytes)
    assert PIECES[0] is pieces[1].content


@pytest.mark.parametrize("content", [b"", b"A", b"AB", b"ABC", b"ABCD"])
def test_base64_content_knows_its_encoded_length(content: bytes) -> None:
    encoded = Base64Bytes(content)

    assert b64decode(bytes(encoded)) == content
    assert len(bytes(encoded)) == len(encoded)


def test_a_list_may_hold_several_files() -> None:
    pieces = json_pieces([Enclosed(name="a", content=PIECES), Enclosed(name="b"), Enclosed(name="c", content=[b""])])

    assert [
        {"name": "a", "content": "QUJDREVGRw=="},
        {"name": "b", "content": None},
        {"name": "c", "content": ""},
    ] == from_json(b"".join(map(bytes, pieces)))


def test_a_value_without_a_file_is_one_piece() -> None:
    assert [b'{"name":"a","content":null}'] == json_pieces(Enclosed(name="a"))
    assert [b"[]"] == json_pieces([])


def test_a_file_of_no_pieces_is_empty() -> None:
    assert b'{"name":"a","content":""}' == b"".join(map(bytes, json_pieces(Enclosed(name="a", content=[]))))


def test_a_file_is_inlined_where_no_pieces_are_requested() -> None:
    assert b'{"name":"a","content":"QUJDREVGRw=="}' == to_json(Enclosed(name="a", content=PIECES))
    assert BOUNDARY not in Enclosed(name="a", content=PIECES).model_dump_json()


def test_a_file_is_text_to_readers_of_the_schema() -> None:
    schema = Enclosed.model_json_schema(mode="serialization")["properties"]["content"]

    assert [{"type": "string"}, {"type": "null"}] == schema["anyOf"]


class Moment(Result):
    """Something that happened."""

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
    assert {"at": formatted, "ended_at": None} == from_json(to_json(Moment.model_validate({"at": value})))


def test_an_instant_stays_one_in_python() -> None:
    moment = Moment.model_validate({"at": "2026-11-03T09:30:00.123456Z"})

    assert datetime(2026, 11, 3, 9, 30, 0, 123456, UTC) == moment.model_dump()["at"]
