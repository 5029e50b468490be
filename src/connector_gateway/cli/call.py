"""``call``: every operation, from its declaration, through the running gateway."""

import asyncio
import json
import os
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

import aiohttp
import click
from pydantic_core import to_json

from connector_gateway.cli.installation import data_folder, describe
from connector_gateway.cli.output import as_json as json_option
from connector_gateway.cli.output import fail, show
from connector_gateway.cli.tour import query_text
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.arguments import decode
from connector_gateway.kit.errors import InvalidJson
from connector_gateway.kit.operation import AnyConnector, AnyOperation


@click.group()
def call() -> None:
    """Call an operation of a connector through the running gateway.

    The address and key are those of the dev installation, or of GATEWAY_URL and GATEWAY_API_KEY.
    """


def _group(connector: AnyConnector) -> click.Group:
    commands = [_command(connector, operation) for operation in connector.operations]
    return click.Group(connector.name, {command.name or "": command for command in commands}, help=connector.summary)


def _command(connector: AnyConnector, operation: AnyOperation) -> click.Command:
    def run(data: Path, connection: str | None, *, as_json: bool, **options: Any) -> None:
        values = {names[option]: value for option, value in options.items() if value is not None}
        answer = _send(connector, operation, data, connection, values)
        body = answer["body"]
        if "error" in body:
            fail(body["error"], json=as_json, run_id=body["run_id"])
        show(body if as_json else body["data"], json=as_json)

    names: dict[str, str] = {}
    parameters: list[click.Parameter] = []
    for name, declared in operation.parameters.items():
        option = f"p_{name}"
        names[option] = name
        parameters.append(
            click.Option(
                [f"--{name.replace('_', '-')}", option],
                type=_type(declared.annotation),
                required=declared.is_required(),
                help=" ".join((declared.description or "").replace("``", "").split()),
            )
        )
    command = click.Command(
        operation.name.replace("_", "-"), params=parameters, callback=run, help=operation.description
    )
    connection = click.option("--connection", help="The connection; that of the dev installation if left out.")
    return data_folder(json_option(connection(command)))


class Json(click.ParamType[Any]):
    """A JSON value, such as a list or an object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the JSON text; a plain word stands for itself."""
        if not isinstance(value, str):
            return value
        try:
            return decode(value.encode())
        except InvalidJson as fault:
            self.fail(fault.message, param, ctx)


def _type(annotation: Any) -> click.ParamType[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _type(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return _type(next(option for option in get_args(annotation) if option is not type(None)))
    if origin is Literal:
        return click.Choice(list(get_args(annotation)))
    plain: dict[Any, click.ParamType[Any]] = {int: click.INT, bool: click.BOOL}
    if annotation in plain:
        return plain[annotation]
    return Json() if origin in {list, dict} else click.STRING


def _send(
    connector: AnyConnector, operation: AnyOperation, data: Path, connection: str | None, values: dict[str, Any]
) -> dict[str, Any]:
    """The gateway's answer, as ``{"status", "body"}``."""
    described = describe(data)
    base_url = os.environ.get("GATEWAY_URL") or described.get("base_url")
    key = os.environ.get("GATEWAY_API_KEY") or described.get("keys", {}).get("write")
    connection = connection or described.get("connections", {}).get(connector.name)
    if not base_url or not key:
        raise click.ClickException(
            "No gateway is known: start one with 'make run', or set GATEWAY_URL and GATEWAY_API_KEY."
        )
    if connection is None:
        raise click.ClickException(f"No connection of {connector.name} is known: name one with --connection.")
    path = operation.path.format(**{name: quote(str(values.pop(name)), safe="") for name in operation.path_names})
    url = f"{base_url}/v1/connectors/{connector.name}{path}"
    return asyncio.run(_request(operation.method, url, key, {"connection_id": connection} | values))


async def _request(method: str, url: str, key: str, values: dict[str, Any]) -> dict[str, Any]:
    sent: dict[str, Any] = (
        {"params": {name: query_text(value) for name, value in values.items()}}
        if method == "GET"
        else {"data": to_json(values), "headers": {"Content-Type": "application/json"}}
    )
    sent["headers"] = {"Authorization": f"Bearer {key}"} | sent.get("headers", {})
    try:
        async with aiohttp.ClientSession() as session, session.request(method, url, **sent) as response:
            return {"status": response.status, "body": json.loads(await response.read())}
    except aiohttp.ClientConnectionError as fault:
        raise click.ClickException(f"The gateway at {url} does not answer: {fault}.") from fault


for known in CONNECTORS.values():
    call.add_command(_group(known))
