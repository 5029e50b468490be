"""Parser of Google discovery documents."""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.tests.documents.endpoint import Endpoint

Document = Mapping[str, Any]


def endpoints(document: Document, base: str) -> Iterator[Endpoint]:
    """Yield every endpoint of *document*, including its upload endpoints."""
    common = document["parameters"]
    for method in _methods(document):
        parameters = {**common, **method.get("parameters", {})}
        query = {name: one for name, one in parameters.items() if one["location"] == "query"}
        endpoint = Endpoint(
            method["httpMethod"],
            f"{base}/{method['flatPath']}",
            {name: _typed(one) for name, one in query.items()},
            frozenset(name for name, one in query.items() if one.get("required")),
            method.get("request"),
            {"2XX": method.get("response")},
        )
        yield endpoint
        for upload in method.get("mediaUpload", {}).get("protocols", {}).values():
            path = upload["path"].replace("{+", "{")
            yield Endpoint(
                endpoint.method,
                path,
                {**endpoint.parameters, "uploadType": {}, "upload_id": {}},
                answers=endpoint.answers,
            )


def plain(value: Any) -> Any:
    """Return *value* as JSON Schema, with full references and without boolean ``required``."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    fields = {name: plain(one) for name, one in value.items() if not (name == "required" and isinstance(one, bool))}
    if isinstance(fields.get("$ref"), str) and not fields["$ref"].startswith("#"):
        fields["$ref"] = f"#/schemas/{fields['$ref']}"
    return fields


def _typed(one: Document) -> Document:
    return {"type": "array", "items": one} if one.get("repeated") else one


def _methods(resource: Document) -> Iterator[Document]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)
