"""What the check of exchanges against documents finds, by small documents of our own."""

from dataclasses import replace
from typing import Any

import pytest

from sandbox.tests.documents.checking import checked
from sandbox.tests.documents.exchange import Exchange
from sandbox.tests.documents.explained import HEADING, ROW, page_of, read
from sandbox.tests.documents.published import Document, document
from workspace_sandbox import APPLICATIONS

CARD = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "due": {"type": "string", "nullable": True}},
}
ANSWER = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Card"}}}}}
THREE: dict[str, Any] = {
    "openapi": "3.0.0",
    "components": {"schemas": {"Card": CARD}, "securitySchemes": {"key": {"in": "query", "name": "key"}}},
    "paths": {
        "/cards/{id}": {
            "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
            "get": {"responses": ANSWER},
            "put": {"requestBody": {"content": {"application/json": {"schema": CARD}}}, "responses": ANSWER},
        },
        "/cards/all": {"get": {"responses": {"200": {}}}},
    },
}
TWO = {
    "swagger": "2.0",
    "paths": {
        "/post": {
            "post": {
                "parameters": [{"name": "text", "in": "formData", "type": "string", "required": True}],
                "responses": {"200": {"schema": {"properties": {"ok": {"enum": [True]}}}}, "default": {"schema": CARD}},
            }
        }
    },
}
GOOGLES: dict[str, Any] = {
    "parameters": {},
    "schemas": {"Card": {"type": "object", "properties": {"id": {"type": "string", "required": True}}}},
    "resources": {
        "cards": {"methods": {"get": {"httpMethod": "GET", "flatPath": "cards/{id}", "response": {"$ref": "Card"}}}}
    },
}
BOARDS = [document(THREE, "/1")]
SEEN = Exchange("boards", "GET", "/1/cards/7", (), "", b"", 200, "application/json", b'{"id": "7"}', True, True)


def found(seen: Exchange, *documents: Document) -> list[tuple[str, str, str]]:
    _, kinds = checked([seen], documents or BOARDS)
    return [(one.endpoint, one.place, one.says) for one in kinds]


@pytest.mark.parametrize(
    ("answer", "place", "says"),
    [
        (b"{}", "answer", "required: id"),
        (b'{"id": 7}', "answer /id", "type: string"),
        (b'{"id": "7", "colour": 1}', "answer", "more: colour"),
        (b"[]", "answer", "type: object"),
    ],
)
def test_an_answer_that_does_not_fit_is_found(answer: bytes, place: str, says: str) -> None:
    assert [("GET /1/cards/{id}", place, says)] == found(replace(SEEN, answer=answer))


def test_what_may_be_null_is_null() -> None:
    assert [] == found(replace(SEEN, answer=b'{"id": "7", "due": null}'))


def test_an_accepted_request_that_does_not_fit_is_found() -> None:
    put = replace(SEEN, method="PUT", request_type="application/json", request=b'{"id": 7}')

    assert [("PUT /1/cards/{id}", "request /id", "type: string")] == found(put)


@pytest.mark.parametrize(
    ("query", "says"),
    [((("limit", "many"),), "parameter"), ((("lmit", "5"),), "unknown"), ((("limit", "5"), ("key", "k")), None)],
)
def test_parameters_are_read_by_their_schemas(query: tuple[tuple[str, str], ...], says: str | None) -> None:
    assert ([says] if says else []) == [rule for _, _, rule in found(replace(SEEN, query=query))]


def test_only_what_a_library_asked_and_was_granted_is_held_against_a_request() -> None:
    bad = replace(SEEN, query=(("lmit", "5"),))

    assert [] == found(replace(bad, is_of_library=False)) == found(replace(bad, status=404, answer=b""))


def test_a_path_without_names_is_meant_first() -> None:
    assert [] == found(replace(SEEN, path="/1/cards/all", answer=b'{"id": 7}'))


def test_a_status_that_is_not_described_is_found() -> None:
    assert [("GET /1/cards/{id}", "answer", "status: 202")] == found(replace(SEEN, status=202))


def test_what_no_document_knows_is_counted() -> None:
    counts, kinds = checked([replace(SEEN, path="/1/lists/7")], BOARDS)

    assert {"outside": 1} == counts
    assert [] == kinds


def test_a_refusal_of_the_older_form_is_held_against_its_own_shape() -> None:
    older = document(TWO, "/api")
    post = replace(SEEN, application="chat", method="POST", path="/api/post", answer=b'{"ok": false}')

    assert [("POST /api/post", "answer", "more: ok"), ("POST /api/post", "answer", "required: id")] == sorted(
        found(post, older)
    )
    assert [("POST /api/post", "request", "required: text")] == found(replace(post, answer=b'{"ok": true}'), older)


def test_googles_form_is_read() -> None:
    assert [("GET /cards/{id}", "answer /id", "type: string")] == found(
        replace(SEEN, path="/cards/7", answer=b'{"id": 7}'), document(GOOGLES)
    )


def test_a_row_explains_what_it_matches() -> None:
    (row,) = read(f"{HEADING}\n\n| `GET *`, `PUT *` | `answer*/id` | `type: *` | It is a number. |\n\n## Unverified\n")
    _, kinds = checked([replace(SEEN, answer=b'{"id": 7}'), replace(SEEN, answer=b"{}")], BOARDS)

    assert {"type: string": True, "required: id": False} == {one.says: row.explains(one) for one in kinds}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_row_of_a_page_can_be_read(application: str) -> None:
    part = page_of(application).partition(HEADING)[2].partition("\n## ")[0]

    assert [line for line in part.splitlines() if line.startswith("| `")] == [
        match.group() for match in ROW.finditer(part)
    ]
