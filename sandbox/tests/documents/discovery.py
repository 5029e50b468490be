"""Google's own form of a document as endpoints."""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.tests.documents.endpoint import Endpoint

Document = Mapping[str, Any]


def endpoints(document: Document, base: str) -> Iterator[Endpoint]:
    """Every endpoint of *document*, and those that take a whole file as their body."""
    common = document["parameters"]
    for method in _methods(document):
        parameters = {**common, **method.get("parameters", {})}
        asked = {name: one for name, one in parameters.items() if one["location"] == "query"}
        made = Endpoint(
            method["httpMethod"],
            f"{base}/{method['flatPath']}",
            {name: _typed(one) for name, one in asked.items()},
            frozenset(name for name, one in asked.items() if one.get("required")),
            method.get("request"),
            {"2XX": method.get("response")},
        )
        yield made
        for upload in method.get("mediaUpload", {}).get("protocols", {}).values():
            path = upload["path"].replace("{+", "{")
            yield Endpoint(
                made.method, path, {**made.parameters, "uploadType": {}, "upload_id": {}}, answers=made.answers
            )


def plain(value: Any) -> Any:
    """*value* as JSON Schema has it: references with their place, and nothing required by a word of its own."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: plain(one) for name, one in value.items() if not (name == "required" and isinstance(one, bool))}
    if isinstance(made.get("$ref"), str) and not made["$ref"].startswith("#"):
        made["$ref"] = f"#/schemas/{made['$ref']}"
    return made


def _typed(one: Document) -> Document:
    return {"type": "array", "items": one} if one.get("repeated") else one


def _methods(resource: Document) -> Iterator[Document]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)
