"""Parser of OpenAPI 3 and Swagger 2 documents."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sandbox.tests.documents.endpoint import Endpoint, Schema

METHODS = ("get", "put", "post", "delete", "patch")
FORM = "application/x-www-form-urlencoded"
Document = Mapping[str, Any]


def endpoints(document: Document, base: str) -> Iterator[Endpoint]:
    """Yield every endpoint of *document*, whose paths are below *base*."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield _endpoint(document, method.upper(), base + path, item, item[method])


def plain(value: Any) -> Any:
    """Return *value* with ``nullable`` converted to JSON Schema."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    fields = {name: plain(one) for name, one in value.items()}
    # A property can also have this name.
    if fields.get("nullable") is not True:
        return fields
    del fields["nullable"]
    return {"anyOf": [fields, {"type": "null"}]}


def _endpoint(document: Document, method: str, path: str, item: Document, operation: Document) -> Endpoint:
    declared = [_resolve(document, one) for one in [*item.get("parameters", []), *operation.get("parameters", [])]]
    parameters = [one for one in declared if one["in"] in {"query", "formData"}]
    keys = [one for one in _security(document) if one.get("in") == "query"]
    body = next((one["schema"] for one in declared if one["in"] == "body"), None)
    content = _resolve(document, operation.get("requestBody", {})).get("content", {})
    return Endpoint(
        method,
        path,
        {
            **{one["name"].split("[")[0]: one.get("schema", one) for one in parameters},
            **{one["name"]: {} for one in keys},
            **content.get(FORM, {}).get("schema", {}).get("properties", {}),
        },
        frozenset(one["name"] for one in parameters if one.get("required") is True),
        body or _json(content),
        {str(status): _answer(document, response) for status, response in operation["responses"].items()},
    )


def _security(document: Document) -> Iterable[Document]:
    return document.get("components", document).get("securitySchemes", document.get("securityDefinitions", {})).values()  # type: ignore[no-any-return]


def _answer(document: Document, reference: Document) -> Schema | None:
    response = _resolve(document, reference)
    return response.get("schema") or _json(response.get("content", {}))


def _json(content: Mapping[str, Document]) -> Schema | None:
    return next((one.get("schema") for kind, one in content.items() if "json" in kind or kind == "*/*"), None)


def _resolve(document: Document, node: Document) -> Document:
    """Return *node*, or the object it refers to."""
    target: Any = node
    while "$ref" in target:
        reference, target = target["$ref"], document
        for part in reference.removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
    return target  # type: ignore[no-any-return]
