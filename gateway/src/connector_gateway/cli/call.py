"""The command ``call``, with a subcommand for every operation."""

import asyncio
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import click
import msgspec

from connector_gateway.cli.command_groups import Command, Group
from connector_gateway.cli.connection_lookup import choose_connection
from connector_gateway.cli.dev.sample_requests import call_path
from connector_gateway.cli.field_options import FieldOption, Json, to_param_type, without_code_markup
from connector_gateway.cli.gateway_client import Response, send
from connector_gateway.cli.gateway_url_and_key import GatewayTarget, data_folder, resolve_target
from connector_gateway.cli.output import as_json as json_option
from connector_gateway.cli.output import exit_with_error, print_to_stderr, show, show_json
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.kit.models import IDEMPOTENCY_FIELD
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.management.field_descriptions import Field, describe_fields

KEY_OPTION = "idempotency_header"
HEADER = "Idempotency-Key"
DRY_RUN_OPTION = "dry_run"
PREFER = "Prefer"
DRY_RUN_HELP = "Write nothing. Show the requests that would be sent, and the casts of values."
CONFIRMATION, CONFIRMATION_OPTION = "Confirmation-Token", "confirmation_token"
CONFIRMATION_HELP = "The token of confirmation_required, after a person has confirmed exactly this call."
KEY_HELP = "A retry with the same key within 24 hours returns the first result without writing again."
PARTIAL = 4
"""The exit status of a partial success."""


@click.group(cls=Group)
def call() -> None:
    """Call an operation of a connector through the running gateway.

    URL and key come from GATEWAY_URL and GATEWAY_API_KEY, or from the dev installation.
    Exit status: 0 after success, 1 after an error, 4 after a partial success.
    """


def _group(connector: AnyConnector) -> click.Group:
    commands = [_command(connector, operation) for operation in connector.operations]
    return Group(connector.name, {command.name or "": command for command in commands}, help=connector.summary)


def _command(connector: AnyConnector, operation: AnyOperation) -> click.Command:
    def run(data: Path | None, connection: str | None, *, as_json: bool, **options: Any) -> None:
        values = {names[option]: value for option, value in options.items() if value is not None and value != ()}
        response = asyncio.run(_send(resolve_target(data), connector, operation, connection, values))
        print_and_exit(response, json=as_json)

    names = {f"p_{name}": name for name in operation.parameters}
    parameters = [create_option(field) for field in describe_fields(operation.params)]
    command = Command(
        operation.name.replace("_", "-"),
        params=[*parameters],
        callback=run,
        help=without_code_markup(operation.description),
    )
    if operation.scope == "write" and IDEMPOTENCY_FIELD not in operation.parameters:
        names[KEY_OPTION] = HEADER
        command.params.append(click.Option(["--idempotency-key", KEY_OPTION], help=KEY_HELP))
    if operation.scope == "write":
        names[DRY_RUN_OPTION] = PREFER
        command.params.append(
            click.Option(["--dry-run", DRY_RUN_OPTION], flag_value="dry-run", default=None, help=DRY_RUN_HELP)
        )
        names[CONFIRMATION_OPTION] = CONFIRMATION
        command.params.append(click.Option(["--confirmation-token", CONFIRMATION_OPTION], help=CONFIRMATION_HELP))
    connection = click.option(
        "--connection", help="ID or name of the connection. Default: the connector's only connection."
    )
    return data_folder(json_option(connection(command)))


def create_option(field: Field, param_type: click.ParamType[Any] | None = None) -> click.Option:
    """Return the option of a parameter, whose value is passed as ``p_`` and its name."""
    return FieldOption(
        field,
        [f"--{field.name.replace('_', '-')}", f"p_{field.name}"],
        type=param_type or _type(field),
        required=field.is_required,
        multiple=field.kind == "list",
    )


def print_and_exit(response: Response, *, json: bool) -> None:
    """Print the response and exit: with 0 after success, 1 after an error, 4 after a partial success."""
    body = response.body
    if "error" in body and not json:
        exit_with_error(body, json=False)
    if json:
        show_json(msgspec.json.format(response.text, indent=2).decode())
    else:
        show(body["data"], json=False)
        _print_metadata(response)
    for warning in response.warnings:
        print_to_stderr("warning", warning)
    sys.exit(1 if "error" in body else PARTIAL if body.get("status") == "partial" else 0)


def _print_metadata(response: Response) -> None:
    for name in ("run_id", "next_cursor"):
        if response.body.get(name):
            print_to_stderr(name, response.body[name])
    if response.body.get("status") == "partial":
        succeeded = any(value for name, value in response.body["data"].items() if name != "failed")
        print_to_stderr("status", f"partial: {'some' if succeeded else 'all'} items failed")


class Items(Json):
    """The type of list items: a JSON array, or plain text as a single item."""

    name = "json|text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the items. Those of repeated options are joined before sending."""
        if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
            return [value]
        items = super().convert(value, param, ctx)
        return items if isinstance(items, list) else [items]


def _type(field: Field) -> click.ParamType[Any]:
    by_kind: dict[str, click.ParamType[Any]] = {"boolean": click.BOOL, "list": Items(), "object": Json()}
    return by_kind.get(field.kind) or to_param_type(field)


async def _send(
    target: GatewayTarget,
    connector: AnyConnector,
    operation: AnyOperation,
    connection: str | None,
    values: dict[str, Any],
) -> Response:
    headers = _pop_headers(values)
    connection_id = await choose_connection(target, connector.name, connection)
    values = {
        name: list(chain.from_iterable(value)) if isinstance(value, tuple) else value for name, value in values.items()
    }
    path = call_path(connector.name, operation, values)
    return await send(target, operation.method, path, {"connection_id": connection_id} | values, headers)


def _pop_headers(values: dict[str, Any]) -> dict[str, str]:
    """Remove the options that are sent as headers from *values*, and return the headers."""
    headers = {}
    if HEADER in values:
        headers[HEADER] = _parse_key(values.pop(HEADER)).header
    if IDEMPOTENCY_FIELD in values:
        values[IDEMPOTENCY_FIELD] = _parse_key(values[IDEMPOTENCY_FIELD]).text
    headers |= {name: values.pop(name) for name in (PREFER, CONFIRMATION) if name in values}
    return headers


def _parse_key(text: str) -> NormalizedKey:
    """Return the normalised idempotency key. Raises ``ClickException`` if it is invalid."""
    key = NormalizedKey.parse(text)
    if key.violation:
        raise click.ClickException(f"The idempotency key {text!r} is invalid: {key.violation}.")
    return key


for declared in CONNECTORS.values():
    call.add_command(_group(declared))
