"""Generates the reference pages, tables of guides and the import contracts from the declarations.

``--check`` only compares.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from client_generator import ClientSource, errors_module
from command_reference import command_reference
from facts_reference import facts_reference
from kit_api_reference import emulator_kit_reference, kit_reference
from pydantic.fields import FieldInfo
from vendor_page_tables import application_rows, limit_rows, operation_rows

from connector_gateway.connectors import CONNECTOR_NAMES, CONNECTORS
from connector_gateway.http.api.routes import PREFIX
from connector_gateway.kit.errors import EVERY_CALL, GatewayError, all_errors
from connector_gateway.kit.errors.remedy_placeholders import general_remedy
from connector_gateway.kit.oauth import OAuthConfig
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from workspace_sandbox import APPLICATIONS, EMULATORS
from workspace_sandbox.kit.user_actions import markdown_table

PROJECT = Path(__file__).parent.parent
REFERENCE = PROJECT / "docs" / "reference"
PAGES = PROJECT / "docs" / "vendors"
GUIDES = PROJECT / "docs" / "guide" / "connect"
CONTRACTS = PROJECT / "pyproject.toml"
CLIENT = PROJECT / "client" / "src" / "connector_gateway_client"
SANDBOX = PROJECT / "sandbox" / "src" / "workspace_sandbox"
REMARK = "<!-- {} -->\n"
"""The markers of a generated part of a page."""


def files() -> Iterator[tuple[Path, str]]:
    """Return every generated file and its text."""
    for connector in CONNECTORS.values():
        yield REFERENCE / f"{connector.name}.md", connector_page(connector)
        page = PAGES / f"{connector.name}.md"
        yield page, vendor_page(connector, page.read_text(encoding="utf-8"))
        if connector.oauth is not None:
            guide = GUIDES / f"{connector.name}.md"
            yield guide, connect_guide(connector, connector.oauth, guide.read_text(encoding="utf-8"))
    overview = PAGES / "README.md"
    rows = application_rows(CONNECTORS.values())
    yield overview, between(overview.read_text(encoding="utf-8"), "applications", rows, remark=REMARK)
    requests = REFERENCE / "vendor-requests.md"
    yield requests, between(requests.read_text(encoding="utf-8"), "requests", request_rows(), remark=REMARK)
    yield REFERENCE / "errors.md", errors_page()
    yield REFERENCE / "commands.md", command_reference()
    yield REFERENCE / "kit.md", ruff("format", file="kit.md", text=kit_reference())
    yield REFERENCE / "emulator-kit.md", ruff("format", file="kit.md", text=emulator_kit_reference())
    yield REFERENCE / "vendor-facts.md", facts_reference()
    yield CLIENT / "errors.py", formatted(errors_module())
    source = ClientSource(CONNECTORS.values())
    yield CLIENT / "models.py", formatted(source.models_module())
    yield CLIENT / "operations.py", formatted(source.operations_module())
    for name in APPLICATIONS:
        fidelity = SANDBOX / name / "FIDELITY.md"
        user_actions = markdown_table(EMULATORS[name].user_actions)
        yield fidelity, between(fidelity.read_text(encoding="utf-8"), "user actions", user_actions, remark=REMARK)
    yield CONTRACTS, import_contracts(CONTRACTS.read_text(encoding="utf-8"))


def request_rows() -> Iterator[str]:
    """Yield the table of the vendor requests of every operation."""
    yield "| Operation | Cold | Warm | Besides its own request |"
    yield "|---|---|---|---|"
    for connector in CONNECTORS.values():
        for operation in connector.operations:
            requests = operation.requests
            counts = f"{len(requests.cold)} | {len(requests.warm)}"
            yield f"| `{connector.name}_{operation.name}` | {counts} | {requests.besides} |"


def formatted(source: str) -> str:
    """Return *source*, a module, formatted like all code here."""
    module = "client/src/generated.py"
    return ruff("format", file=module, text=ruff("check", "--fix", "--select", "I,F401", file=module, text=source))


def ruff(*words: str, file: str, text: str) -> str:
    """Return the *text* of a *file* as a command of ruff changes it."""
    command = [sys.executable, "-m", "ruff", *words, "--quiet", "--stdin-filename", file, "-"]
    return subprocess.run(command, input=text, capture_output=True, check=True, text=True, cwd=PROJECT).stdout


def import_contracts(text: str) -> str:
    """Return *text* with the import contracts for the registered connectors and emulators."""
    connectors = [f'  "connector_gateway.connectors.{connector}",' for connector in CONNECTOR_NAMES]
    side_by_side = " | ".join(f"workspace_sandbox.{name}" for name in APPLICATIONS)
    return between(between(text, "connectors", connectors), "applications", [f'  "{side_by_side}",'])


def connect_guide(connector: AnyConnector, oauth: OAuthConfig, text: str) -> str:
    """Return *text*, the guide of connecting accounts, with the scopes and URLs that the connector declares."""
    scopes = scope_rows(oauth) if oauth.scopes else ["None."]
    marked = between(text, "scopes", scopes, remark=REMARK)
    return between(marked, "addresses", address_rows(connector, oauth), remark=REMARK)


def vendor_page(connector: AnyConnector, text: str) -> str:
    """Return *text*, the page of a vendor, with the connector's declarations."""
    marked = between(text, "operations", operation_rows(connector), remark=REMARK)
    return between(marked, "limits", limit_rows(connector), remark=REMARK)


def scope_rows(oauth: OAuthConfig) -> list[str]:
    """Return the table of the scopes that are requested, and the operations that need them."""
    rows = [
        f"| `{scope}` | {', '.join(map(title_of, needed)) or 'see below'} |" for scope, needed in oauth.scopes.items()
    ]
    return ["| Scope | Operations that need it |", "|---|---|", *rows]


def title_of(operation: str) -> str:
    """Return the title of an operation."""
    return operation.replace("_", " ")


def address_rows(connector: AnyConnector, oauth: OAuthConfig) -> list[str]:
    """Return the redirect URI, and the vendor's URLs for users and requests."""
    endpoints = {"Consent": oauth.authorize, "Tokens": oauth.token, "Revocation": oauth.revoke}
    return [
        f"- Redirect URI: `<GATEWAY_BASE_URL>/connect/{connector.name}/callback`",
        *(f"- {name}: `{endpoint.to_url(connector.base_urls)}`" for name, endpoint in endpoints.items() if endpoint),
    ]


def between(text: str, name: str, lines: Iterable[str], *, remark: str = "  # {}\n") -> str:
    """Return *text* with *lines* between the markers of the generated part of that name."""
    before, marker, rest = text.partition(remark.format(f"generated: {name}"))
    _, ended, after = rest.partition(remark.format("end"))
    if not marker or not ended:
        raise ValueError(f"There is no generated part {name}.")
    return "".join([before, marker, *(f"{line}\n" for line in lines), ended, after])


def connector_page(connector: AnyConnector) -> str:
    """Return the reference of one connector."""
    parts = [f"# {connector.name}", connector.summary, "Generated from the declarations; do not edit."]
    return (
        "\n\n".join([*parts, *(operation_section(connector, operation) for operation in connector.operations)]) + "\n"
    )


def operation_section(connector: AnyConnector, operation: AnyOperation) -> str:
    """Return one operation: route, parameters, result and errors."""
    schemas = operation.params.model_json_schema()["properties"]
    parameters = [
        "| Parameter | Type | Required | Meaning |",
        "|---|---|---|---|",
        "| connection_id | string | yes | The connection to use. |",
        *(parameter_row(name, declared, schemas[name]) for name, declared in operation.parameters.items()),
    ]
    fields = [f"`{declared.alias or name}`" for name, declared in operation.item.model_fields.items()]
    shape = "an array of objects with" if operation.result is not operation.item else "an object with"
    cursor = ", and `next_cursor`" if operation.is_paged else ""
    errors = [f"{error.status} `{error.code}`" for error in operation.all_errors if error not in EVERY_CALL]
    return "\n\n".join(
        [
            f"## {operation.title}",
            f"`{operation.method} {PREFIX}/{connector.name}{operation.path}` ({operation.scope})",
            operation.description,
            "\n".join(parameters),
            f"Returns {shape} {', '.join(fields)}{cursor}.",
            f"Errors of its own: {', '.join(errors) or 'none'}.",
        ]
    )


def parameter_row(name: str, declared: FieldInfo, schema: Mapping[str, Any]) -> str:
    """Return one row of a table of parameters."""
    meaning = " ".join(schema.get("description", "").replace("``", "`").split())
    shape = kind(schema).replace(" | ", " or ")
    return f"| {name} | {shape} | {'yes' if declared.is_required() else 'no'} | {meaning} |"


def kind(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema in words."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        return kind(options[0])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    words = str(schema.get("type", "any"))
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = f" {least} to {most}" if least is not None and most is not None else ""
    default = f", default {json.dumps(schema['default'])}" if schema.get("default") not in (None, "", [], {}) else ""
    return words + bounds + default


def errors_page() -> str:
    """Return the complete catalogue."""
    rows = [error_row(error) for error in all_errors()]
    head = ["# Errors", "", "Generated from the declarations; do not edit.", ""]
    table = ["| Status | Code | When | Remedy |", "|---|---|---|---|", *rows]
    return "\n".join([*head, *table]) + "\n"


def error_row(error: type[GatewayError]) -> str:
    """Return one row of the catalogue."""
    remedy = general_remedy(error, CONNECTORS.values())
    return f"| {error.status} | `{error.code}` | {(error.__doc__ or '').strip()} | {remedy} |"


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` report outdated ones."""
    generated = dict(files())
    stale = [path for path, text in generated.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path} is not up to date; run 'make generate'.", file=sys.stderr)
        return 1 if stale else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.write_text(generated[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
