"""How results become JSON."""

from pydantic_core import from_json, to_json

from connector_gateway.kit.shapes import BOUNDARY, Base64, Result, json_pieces

PIECES = [b"QUJD", b"REVG", b"Rw=="]


class Enclosed(Result):
    """Something with a file in it."""

    name: str
    content: Base64 | None = None


def test_a_file_is_passed_on_without_a_copy() -> None:
    pieces = json_pieces(Enclosed(name="a", content=PIECES))

    assert [b'{"name":"a","content":"', *PIECES, b'"}'] == pieces
    assert PIECES[0] is pieces[1]


def test_a_list_may_hold_several_files() -> None:
    pieces = json_pieces([Enclosed(name="a", content=PIECES), Enclosed(name="b"), Enclosed(name="c", content=[b""])])

    assert [
        {"name": "a", "content": "QUJDREVGRw=="},
        {"name": "b", "content": None},
        {"name": "c", "content": ""},
    ] == from_json(b"".join(pieces))


def test_what_holds_no_file_is_one_piece() -> None:
    assert [b'{"name":"a","content":null}'] == json_pieces(Enclosed(name="a"))
    assert [b"[]"] == json_pieces([])


def test_a_file_of_no_pieces_is_empty() -> None:
    assert b'{"name":"a","content":""}' == b"".join(json_pieces(Enclosed(name="a", content=[])))


def test_whoever_does_not_ask_for_pieces_gets_the_whole() -> None:
    assert b'{"name":"a","content":"QUJDREVGRw=="}' == to_json(Enclosed(name="a", content=PIECES))
    assert BOUNDARY not in Enclosed(name="a", content=PIECES).model_dump_json()


def test_a_file_is_text_to_readers_of_the_schema() -> None:
    schema = Enclosed.model_json_schema(mode="serialization")["properties"]["content"]

    assert [{"type": "string"}, {"type": "null"}] == schema["anyOf"]
