"""Makes the reference pages and the OpenAPI document from the declarations; ``--check`` only compares."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from connector_gateway.connectors import CONNECTORS
from connector_gateway.http.openapi import openapi
from connector_gateway.http.reference import kind
from connector_gateway.http.routes import PREFIX
from connector_gateway.kit.errors import catalogue
from connector_gateway.kit.operation import EVERY_CALL, AnyConnector, AnyOperation

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
BASE_URL = "http://127.0.0.1:8080"


def pages() -> Iterator[tuple[str, str]]:
    """Every generated file: its name and text."""
    for connector in CONNECTORS.values():
        yield f"{connector.name}.md", connector_page(connector)
    yield "errors.md", errors_page()
    document = openapi(CONNECTORS.values(), BASE_URL)
    yield "openapi.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def connector_page(connector: AnyConnector) -> str:
    """The reference of one connector."""
    parts = [f"# {connector.name}", connector.summary, "Generated from the declarations; do not edit."]
    return (
        "\n\n".join([*parts, *(operation_section(connector, operation) for operation in connector.operations)]) + "\n"
    )


def operation_section(connector: AnyConnector, operation: AnyOperation) -> str:
    """One operation: route, parameters, result and what it can be refused for."""
    schemas = operation.params.model_json_schema()["properties"]
    parameters = [
        "| Parameter | Type | Required | Meaning |",
        "|---|---|---|---|",
        "| connection_id | string | yes | The authorised connection to act through. |",
        *(parameter_row(name, declared, schemas[name]) for name, declared in operation.parameters.items()),
    ]
    fields = [f"`{declared.alias or name}`" for name, declared in operation.item.model_fields.items()]
    shape = "an array of objects with" if operation.result is not operation.item else "an object with"
    cursor = ", and `next_cursor`" if operation.pages else ""
    refusals = [f"{error.status} `{error.code}`" for error in operation.refusals if error not in EVERY_CALL]
    return "\n\n".join(
        [
            f"## {operation.title}",
            f"`{operation.method} {PREFIX}/{connector.name}{operation.path}` ({operation.scope})",
            operation.description,
            "\n".join(parameters),
            f"Returns {shape} {', '.join(fields)}{cursor}.",
            f"Refusals of its own: {', '.join(refusals) or 'none'}.",
        ]
    )


def parameter_row(name: str, declared: FieldInfo, schema: Mapping[str, Any]) -> str:
    """One row of a table of parameters."""
    meaning = " ".join((declared.description or "").replace("``", "`").split())
    shape = kind(schema).replace(" | ", " or ")
    return f"| {name} | {shape} | {'yes' if declared.is_required() else 'no'} | {meaning} |"


def errors_page() -> str:
    """The whole catalogue."""
    rows = [
        f"| {error.status} | `{error.code}` | {(error.__doc__ or '').strip()} | {error.remedy} |"
        for error in catalogue()
    ]
    head = ["# Errors", "", "Generated from the catalogue; do not edit.", ""]
    table = ["| Status | Code | When | Remedy |", "|---|---|---|---|", *rows]
    return "\n".join([*head, *table]) + "\n"


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` name those that are not as they should be."""
    made = {REFERENCE / name: text for name, text in pages()}
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path} is not up to date; run 'make generate'.", file=sys.stderr)  # noqa: T201  # a tool that tells
        return 1 if stale else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(made[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
