"""Checks live responses against the gateway's own OpenAPI document: status, media type, body and headers."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

import jsonschema_rs

from connector_gateway.connectors import CONNECTORS
from connector_gateway.http.openapi import openapi

Schema = Mapping[str, Any]

UNDOCUMENTED_HEADERS = {"content-type", "content-length", "date", "connection"}
"""Headers of HTTP itself."""

LOCATION_FIELDS = {"parameter", "property", "field", "header", "place"}
"""Fields of a detail that contain the location of the error."""

REFERENCE = "#/components/schemas/"


def check_response(method: str, path: str, status: int, headers: Mapping[str, str], body: Any) -> None:
    """Fail if the document does not allow the response to *method* at *path*; other routes are not checked."""
    operation = _operation(method, path.partition("?")[0])
    if operation is None or "/." in path:  # Clients resolve dots before they send the path.
        return
    assert str(status) in operation["responses"], f"{method} {path}: status {status} is not documented"
    response = _resolve(operation["responses"][str(status)])
    _check_headers(f"{method} {path} {status}", response, headers)
    media_type = headers["content-type"]
    assert media_type in response["content"], f"{method} {path}: {media_type} is not documented"
    problems = [error.message for error in _validator(method, path.partition("?")[0], status, media_type)(body)]
    assert [] == problems, f"{method} {path} {status}: {problems[:3]}"


def check_details(status: int, body: Any) -> None:
    """Fail if a detail of a 4xx has neither a reason nor a location; completed steps are not errors."""
    error = body.get("error") if isinstance(body, dict) and "run_id" in body else None
    if error is None or not 400 <= status < 500:
        return
    violations = [detail for detail in error["details"] if "done" not in detail]
    assert violations, f"{error['code']} has no detail"
    assert [] == [
        violation for violation in violations if "code" not in violation or not violation.keys() & LOCATION_FIELDS
    ], error["code"]


def _check_headers(response_name: str, response: Schema, headers: Mapping[str, str]) -> None:
    documented = {name.lower(): _resolve(header) for name, header in response["headers"].items()}
    present = {name.lower() for name in headers} - UNDOCUMENTED_HEADERS
    required = {name for name, header in documented.items() if header["required"]}
    invalid = [name for name in present & documented.keys() if not _is_valid(documented[name]["schema"], headers[name])]

    assert (set(), set(), []) == (present - documented.keys(), required - present, invalid), response_name


def _is_valid(schema: Schema, text: str) -> bool:
    value = int(text) if schema["type"] == "integer" and text.isdecimal() else text
    return jsonschema_rs.is_valid(dict(schema), value)


@cache
def _document() -> Schema:
    return openapi(CONNECTORS.values(), "http://127.0.0.1")


@cache
def _templates() -> list[tuple[re.Pattern[str], Schema]]:
    # Literal paths first: ``/pages/search`` is not the page of that name.
    paths = sorted(_document()["paths"].items(), key=lambda item: item[0].count("{"))
    return [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), methods) for path, methods in paths]


@lru_cache(maxsize=4096)
def _operation(method: str, path: str) -> Schema | None:
    methods = next((methods for pattern, methods in _templates() if pattern.fullmatch(path)), {})
    operation: Schema | None = methods.get(method.lower())
    return operation


@lru_cache(maxsize=4096)
def _validator(method: str, path: str, status: int, media_type: str) -> Any:
    operation = _operation(method, path)
    assert operation is not None
    response = _resolve(operation["responses"][str(status)])
    return _compiled(response["content"][media_type]["schema"]["$ref"])


@cache
def _compiled(reference: str) -> Any:
    """Return a function that lists the violations of a component's schema."""
    names = set(_reachable(reference.removeprefix(REFERENCE), set()))
    schemas = {name: _document()["components"]["schemas"][name] for name in names}
    validator = jsonschema_rs.Draft202012Validator({"$ref": reference, "components": {"schemas": schemas}})
    return validator.iter_errors


def _reachable(name: str, seen: set[str]) -> Iterator[str]:
    """Yield the names of all schemas that the schema *name* references, including itself."""
    if name in seen:
        return
    seen.add(name)
    yield name
    for reference in _references(_document()["components"]["schemas"][name]):
        yield from _reachable(reference.removeprefix(REFERENCE), seen)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for name, value in schema.items():
            if name != "mapping":
                yield from _references(value)


def _resolve(component: Schema) -> Schema:
    """Return the component that a reference names, or the component itself."""
    if "$ref" not in component:
        return component
    _, _, kind, name = component["$ref"].split("/")
    resolved: Schema = _document()["components"][kind][name]
    return resolved
