"""The command ``request``, which sends a request of your own to a vendor's API."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from typing_extensions import override

from connector_gateway.cli.call import DRY_RUN_HELP, PREFER, create_option, print_and_exit
from connector_gateway.cli.command_groups import Command
from connector_gateway.cli.connection_lookup import choose_connection
from connector_gateway.cli.field_options import Json
from connector_gateway.cli.gateway_client import Response, send
from connector_gateway.cli.gateway_url_and_key import GatewayTarget, data_folder, resolve_target
from connector_gateway.cli.output import as_json as json_option
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.management.field_descriptions import describe_fields


class Body(Json):
    """The type of a body: a JSON object, list or text, or else plain text."""

    name = "json|text"

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of JSON, or plain text unchanged."""
        is_text = isinstance(value, str) and not value.lstrip().startswith(("{", "[", '"'))
        return value if is_text else super().convert(value, param, ctx)


TYPES: Mapping[str, click.ParamType[Any]] = {"body": Body()}

ARGUMENTS = ("method", "path")
"""The parameters that are arguments. The others are options."""


@data_folder
@json_option
@click.command(
    cls=Command,
    help=f"{REQUEST.description.replace('``', '')}\n\nExample: connector-gateway request notes GET /v1/users/me",
    params=[
        click.Argument(["connector"], type=click.Choice(list(CONNECTORS))),
        *(click.Argument([name]) for name in ARGUMENTS),
        *(
            create_option(field, TYPES.get(field.name))
            for field in describe_fields(REQUEST.params)
            if field.name not in ARGUMENTS
        ),
        click.Option(["--dry-run"], is_flag=True, help=DRY_RUN_HELP),
        click.Option(["--connection"], help="ID or name of the connection. Default: the connector's only connection."),
    ],
)
def request(
    data: Path | None, connector: str, connection: str | None, *, as_json: bool, dry_run: bool, **values: Any
) -> None:
    """Send a request through a connection."""
    sent = {name.removeprefix("p_"): value for name, value in values.items() if value is not None}
    response = asyncio.run(_send(resolve_target(data), connector, connection, sent, dry_run=dry_run))
    print_and_exit(response, json=as_json)


async def _send(
    target: GatewayTarget, connector: str, connection: str | None, values: dict[str, Any], *, dry_run: bool
) -> Response:
    connection_id = await choose_connection(target, connector, connection)
    path = REQUEST.path.format(connection_id=connection_id)
    return await send(target, REQUEST.method, path, values, {PREFER: "dry-run"} if dry_run else {})
