"""The OpenAPI document: names, the error codes of responses, and examples of calls."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.idempotency_key_format import MAX_KEY_CHARACTERS
from connector_gateway.http.api.responses import DRY_RUN
from connector_gateway.http.openapi import openapi
from connector_gateway.http.openapi.examples import examples
from connector_gateway.management.routes import MANAGEMENT
from harness.example_calls import WITHOUT_EXAMPLE, playground, recorded
from harness.requirement import requirement

Schema = Mapping[str, Any]

DOCUMENT = openapi(CONNECTORS.values(), "http://127.0.0.1:8080")
SCHEMAS = DOCUMENT["components"]["schemas"]
ROUTES: Mapping[str, Schema] = {
    described["operationId"]: described for methods in DOCUMENT["paths"].values() for described in methods.values()
}
EARLY_ERRORS = {
    **{
        f"{connector.name}_{operation.name}": operation.all_errors
        for connector in CONNECTORS.values()
        for operation in connector.operations
    },
    **{route.name: route.possible_errors for route in MANAGEMENT},
}
EVERY_RESPONSE = {"X-Run-Id", "X-Service-RateLimit-Remaining", "Server-Timing", "RateLimit", "RateLimit-Policy"}
RETRIED = {"409", "429", "502", "503", "504"}
"""Statuses whose errors can have a ``retry_after``."""


def resolved(schema: Schema) -> Schema:
    """Return the component that *schema* references, or *schema* itself."""
    target: Schema = SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return target


def responses(name: str) -> dict[str, Schema]:
    """Return the responses of a route by status."""
    components = DOCUMENT["components"]["responses"]
    described = ROUTES[name]["responses"].items()
    return {status: components[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for status, one in described}


def contents(name: str) -> dict[str, Schema]:
    """Return the JSON content of a route's responses by status."""
    return {status: response["content"]["application/json"] for status, response in responses(name).items()}


def codes(failure: Schema) -> set[str]:
    """Return the codes of a failure."""
    error = resolved(failure)["properties"]["error"]
    return {resolved(one)["properties"]["code"]["const"] for one in error.get("oneOf", [error])}


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a document, including names."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from [name, *strings(one)]
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


@requirement("common-132")
def test_the_document_is_valid() -> None:
    assert [] == list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors())


def test_schemas_have_readable_names() -> None:
    assert [] == [name for name in SCHEMAS if not re.fullmatch(r"([A-Z][a-z]+)+", name)]
    assert {"NotesEvent", "ChatEvent", "CreatePageAnswer", "CreatePage", "CreatedPage"} <= SCHEMAS.keys()
    assert [] == [text for text in strings(DOCUMENT) if "connector_gateway" in text]


def test_every_schema_is_used() -> None:
    used = {text.rpartition("/")[2] for text in strings(DOCUMENT) if text.startswith("#/components/schemas/")}

    assert used == SCHEMAS.keys()


@pytest.mark.parametrize("name", ROUTES)
def test_every_status_lists_its_error_codes(name: str) -> None:
    documented = {status: codes(content["schema"]) for status, content in contents(name).items() if status != "200"}
    declared: dict[str, set[str]] = {}
    for error in EARLY_ERRORS[name]:
        declared.setdefault(str(error.status), set()).add(error.code)

    assert declared == documented


def test_the_errors_of_a_status_are_distinguished_by_code() -> None:
    error = SCHEMAS["CreatePageConflictError"]["properties"]["error"]

    assert "code" == error["discriminator"]["propertyName"]
    assert {
        "idempotency_in_progress",
        "select_option_missing",
        "ambiguous_database",
        "ambiguous_person",
        "connection_pending",
        "upstream_conflict",
    } == {*error["discriminator"]["mapping"]}
    assert [one["$ref"] for one in error["oneOf"]] == [*error["discriminator"]["mapping"].values()]


def test_an_optional_field_of_a_body_has_its_default() -> None:
    assert "bottom" == SCHEMAS["MoveCard"]["properties"]["position"]["default"]


def test_every_error_has_one_example() -> None:
    example_names = [
        example["$ref"].rpartition("/")[2]
        for response in DOCUMENT["components"]["responses"].values()
        for example in response["content"]["application/json"]["examples"].values()
    ]

    assert {*example_names} == DOCUMENT["components"]["examples"].keys()


@pytest.mark.parametrize("name", ROUTES)
def test_every_response_documents_its_headers(name: str) -> None:
    headers = {status: response["headers"].keys() for status, response in responses(name).items()}

    assert [] == [status for status, names in headers.items() if not EVERY_RESPONSE <= names]
    assert ["401"] == [status for status, names in headers.items() if "WWW-Authenticate" in names]
    assert RETRIED & headers.keys() == {status for status, names in headers.items() if "Retry-After" in names}


def test_only_writes_accept_an_idempotency_key_and_dry_run() -> None:
    operations = [(connector.name, one) for connector in CONNECTORS.values() for one in connector.operations]
    writes = {f"{connector}_{one.name}" for connector, one in operations if one.scope == "write"}
    sent = {"Idempotency-Key", "Prefer"}

    assert writes == {name for name in ROUTES if "Idempotent-Replayed" in responses(name)["200"]["headers"]}
    assert writes == {name for name in ROUTES if sent <= {one["name"] for one in ROUTES[name]["parameters"]}}
    assert writes == {name for name in ROUTES if DRY_RUN in responses(name)["200"]["content"]}


def test_the_connection_is_accepted_in_body_or_query() -> None:
    (connection,) = [one for one in ROUTES["notes_update_page"]["parameters"] if one["name"] == "connection_id"]

    assert ("query", False) == (connection["in"], connection["required"])


def test_the_documented_length_of_an_idempotency_key_is_accepted() -> None:
    (header,) = [one for one in ROUTES["notes_update_page"]["parameters"] if one["name"] == "Idempotency-Key"]

    assert MAX_KEY_CHARACTERS == header["schema"]["maxLength"]


def test_every_operation_has_examples_of_request_and_response() -> None:
    assert ROUTES.keys() - WITHOUT_EXAMPLE == examples().keys()


@pytest.mark.parametrize("name", sorted(ROUTES.keys() - WITHOUT_EXAMPLE))
def test_examples_match_their_schemas(name: str) -> None:
    media_types = [contents(name)["200"]]
    media_types += [ROUTES[name]["requestBody"]["content"]["application/json"]] if "requestBody" in ROUTES[name] else []
    schemas = [{"$ref": content["schema"]["$ref"], "components": DOCUMENT["components"]} for content in media_types]

    assert [] == [
        error.message
        for schema, content in zip(schemas, media_types, strict=True)
        for error in Draft202012Validator(schema).iter_errors(content["example"])
    ]


def test_examples_equal_the_current_responses_to_the_same_calls(tmp_path: Path) -> None:
    with playground(tmp_path) as gateway:
        now = recorded(gateway)

    published = {name: {"arguments": one.arguments, "answer": one.answer} for name, one in examples().items()}
    assert published == now, "run make examples"


def test_examples_contain_no_secrets() -> None:
    texts = [text for one in examples().values() for text in strings([one.arguments, one.answer])]

    assert [] == [text for text in texts if re.match(r"(cgw|ntn|op|xoxb|secret)_\w", text)]
