"""OpenAPI 3 and Swagger 2 as endpoints."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sandbox.tests.documents.endpoint import Endpoint, Schema

METHODS = ("get", "put", "post", "delete", "patch")
FORM = "application/x-www-form-urlencoded"
Document = Mapping[str, Any]


def endpoints(document: Document, base: str) -> Iterator[Endpoint]:
    """Every endpoint of *document*, whose paths are below *base*."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield _endpoint(document, method.upper(), base + path, item, item[method])


def plain(value: Any) -> Any:
    """*value* with what OpenAPI calls ``nullable`` told as JSON Schema does."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: plain(one) for name, one in value.items()}
    # Not by its presence: a property may have that name.
    if made.get("nullable") is not True:
        return made
    del made["nullable"]
    return {"anyOf": [made, {"type": "null"}]}


def _endpoint(document: Document, method: str, path: str, item: Document, operation: Document) -> Endpoint:
    declared = [_followed(document, one) for one in [*item.get("parameters", []), *operation.get("parameters", [])]]
    asked = [one for one in declared if one["in"] in {"query", "formData"}]
    keys = [one for one in _security(document) if one.get("in") == "query"]
    body = next((one["schema"] for one in declared if one["in"] == "body"), None)
    sent = _followed(document, operation.get("requestBody", {})).get("content", {})
    return Endpoint(
        method,
        path,
        {
            **{one["name"].split("[")[0]: one.get("schema", one) for one in asked},
            **{one["name"]: {} for one in keys},
            **sent.get(FORM, {}).get("schema", {}).get("properties", {}),
        },
        frozenset(one["name"] for one in asked if one.get("required") is True),
        body or _json(sent),
        {str(status): _answer(document, answer) for status, answer in operation["responses"].items()},
    )


def _security(document: Document) -> Iterable[Document]:
    return document.get("components", document).get("securitySchemes", document.get("securityDefinitions", {})).values()  # type: ignore[no-any-return]


def _answer(document: Document, told: Document) -> Schema | None:
    answer = _followed(document, told)
    return answer.get("schema") or _json(answer.get("content", {}))


def _json(content: Mapping[str, Document]) -> Schema | None:
    return next((one.get("schema") for kind, one in content.items() if "json" in kind or kind == "*/*"), None)


def _followed(document: Document, told: Document) -> Document:
    """What *told* is or refers to."""
    found: Any = told
    while "$ref" in found:
        reference, found = found["$ref"], document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
    return found  # type: ignore[no-any-return]
