"""Tests of the comparison, with small documents."""

from dataclasses import replace
from typing import Any

import pytest

from sandbox.tests.documents.comparison import check_exchanges
from sandbox.tests.documents.exchange import Exchange
from sandbox.tests.documents.finding_explanations import HEADING, ROW, fidelity_page, read
from sandbox.tests.documents.vendor_documents import Document, document
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


def find(seen: Exchange, *documents: Document) -> list[tuple[str, str, str]]:
    _, kinds = check_exchanges([seen], documents or BOARDS)
    return [(one.endpoint, one.location, one.rule) for one in kinds]


@pytest.mark.parametrize(
    ("answer", "location", "rule"),
    [
        (b"{}", "answer", "required: id"),
        (b'{"id": 7}', "answer /id", "type: string"),
        (b'{"id": "7", "colour": 1}', "answer", "more: colour"),
        (b"[]", "answer", "type: object"),
    ],
)
def test_mismatching_response_is_reported(answer: bytes, location: str, rule: str) -> None:
    assert [("GET /1/cards/{id}", location, rule)] == find(replace(SEEN, answer=answer))


def test_nullable_value_can_be_null() -> None:
    assert [] == find(replace(SEEN, answer=b'{"id": "7", "due": null}'))


def test_mismatching_accepted_request_is_reported() -> None:
    put = replace(SEEN, method="PUT", request_type="application/json", request=b'{"id": 7}')

    assert [("PUT /1/cards/{id}", "request /id", "type: string")] == find(put)


@pytest.mark.parametrize(
    ("query", "rule"),
    [((("limit", "many"),), "parameter"), ((("lmit", "5"),), "unknown"), ((("limit", "5"), ("key", "k")), None)],
)
def test_parameters_are_parsed_by_their_schemas(query: tuple[tuple[str, str], ...], rule: str | None) -> None:
    assert ([rule] if rule else []) == [rule for _, _, rule in find(replace(SEEN, query=query))]


def test_only_accepted_sdk_requests_are_checked() -> None:
    bad = replace(SEEN, query=(("lmit", "5"),))

    assert [] == find(replace(bad, is_from_sdk=False)) == find(replace(bad, status=404, answer=b""))


def test_path_without_parameters_takes_precedence() -> None:
    assert [] == find(replace(SEEN, path="/1/cards/all", answer=b'{"id": 7}'))


def test_undocumented_status_is_reported() -> None:
    assert [("GET /1/cards/{id}", "answer", "status: 202")] == find(replace(SEEN, status=202))


def test_exchanges_outside_the_documents_are_counted() -> None:
    counts, kinds = check_exchanges([replace(SEEN, path="/1/lists/7")], BOARDS)

    assert {"outside": 1} == counts
    assert [] == kinds


def test_swagger_error_is_checked_against_its_own_schema() -> None:
    older = document(TWO, "/api")
    post = replace(SEEN, application="chat", method="POST", path="/api/post", answer=b'{"ok": false}')

    assert [("POST /api/post", "answer", "more: ok"), ("POST /api/post", "answer", "required: id")] == sorted(
        find(post, older)
    )
    assert [("POST /api/post", "request", "required: text")] == find(replace(post, answer=b'{"ok": true}'), older)


def test_google_discovery_document_is_parsed() -> None:
    assert [("GET /cards/{id}", "answer /id", "type: string")] == find(
        replace(SEEN, path="/cards/7", answer=b'{"id": 7}'), document(GOOGLES)
    )


def test_row_explains_matching_findings() -> None:
    (row,) = read(f"{HEADING}\n\n| `GET *`, `PUT *` | `answer*/id` | `type: *` | It is a number. |\n\n## Unverified\n")
    _, kinds = check_exchanges([replace(SEEN, answer=b'{"id": 7}'), replace(SEEN, answer=b"{}")], BOARDS)

    assert {"type: string": True, "required: id": False} == {one.rule: row.explains(one) for one in kinds}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_row_of_a_fidelity_page_can_be_parsed(application: str) -> None:
    part = fidelity_page(application).partition(HEADING)[2].partition("\n## ")[0]

    assert [line for line in part.splitlines() if line.startswith("| `")] == [
        match.group() for match in ROW.finditer(part)
    ]
