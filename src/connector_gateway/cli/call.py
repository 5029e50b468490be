"""``call``: every operation, from its declaration, through the running gateway."""

import asyncio
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import aiohttp
import click
import msgspec
from pydantic.fields import FieldInfo
from yarl import URL

from connector_gateway import __version__
from connector_gateway.cli.groups import Group
from connector_gateway.cli.json_text import value_of
from connector_gateway.cli.output import ENCODER, fail, note, show, show_json
from connector_gateway.cli.output import as_json as json_option
from connector_gateway.cli.running import data_folder, how_to_reach, reached
from connector_gateway.cli.tour import address_of, query_text
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.arguments import decode
from connector_gateway.core.key_text import KeyText
from connector_gateway.kit.errors import InvalidJson
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.shapes import IDEMPOTENCY_FIELD

KEY_OPTION = "idempotency_header"
HEADER = "Idempotency-Key"
DRY_RUN_OPTION = "dry_run"
PREFER = "Prefer"
DRY_RUN_HELP = "Write nothing; show what would be sent, and how values would be cast."
KEY_HELP = "Repeating it within 24 hours returns the first result, and does nothing again."
WARNING = re.compile(r'199 - "([^"]*)"')
"""A sentence in a ``Warning`` header."""

PARTIAL = 4
"""Exit status where a part was done, and a part was not."""


@dataclass(frozen=True)
class Answered:
    """What the gateway answered: the text as it came, the same read, and its warnings."""

    text: bytes
    body: dict[str, Any]
    warnings: list[str]


@click.group(cls=Group)
def call() -> None:
    """Call an operation of a connector through the running gateway.

    The address and key are those of GATEWAY_URL and GATEWAY_API_KEY, or of the dev installation.
    Ends with 0 where all was done, with 1 where the call was refused, and with 4 where a part was done.
    """


def _group(connector: AnyConnector) -> click.Group:
    commands = [_command(connector, operation) for operation in connector.operations]
    return Group(connector.name, {command.name or "": command for command in commands}, help=connector.summary)


def _command(connector: AnyConnector, operation: AnyOperation) -> click.Command:
    def run(data: Path | None, connection: str | None, *, as_json: bool, **options: Any) -> None:
        given = {names[option]: value for option, value in options.items() if value is not None and value != ()}
        _tell(_send(connector, operation, data, connection, given), json=as_json)

    names = {f"p_{name}": name for name in operation.parameters}
    parameters = [_option(name, declared) for name, declared in operation.parameters.items()]
    command = click.Command(
        operation.name.replace("_", "-"), params=[*parameters], callback=run, help=_plain(operation.description)
    )
    if operation.scope == "write" and IDEMPOTENCY_FIELD not in operation.parameters:
        names[KEY_OPTION] = HEADER
        command.params.append(click.Option(["--idempotency-key", KEY_OPTION], help=KEY_HELP))
    if operation.scope == "write":
        names[DRY_RUN_OPTION] = PREFER
        command.params.append(
            click.Option(["--dry-run", DRY_RUN_OPTION], flag_value="dry-run", default=None, help=DRY_RUN_HELP)
        )
    connection = click.option("--connection", help="The connection; that of the dev installation if left out.")
    return data_folder(json_option(connection(command)))


def _option(name: str, declared: FieldInfo) -> click.Option:
    kind = _type(declared.annotation)
    return click.Option(
        [f"--{name.replace('_', '-')}", f"p_{name}"],
        type=kind,
        required=declared.is_required(),
        multiple=isinstance(kind, Items),
        help=" ".join(_plain(declared.description or "").split())
        + (" May be repeated." if isinstance(kind, Items) else ""),
    )


def _tell(answer: Answered, *, json: bool) -> None:
    """Print the answer and end the command: with 0 if all was done, 1 if nothing was, 4 if a part was."""
    body = answer.body
    if "error" in body and not json:
        fail(body["error"], json=False, run_id=body.get("run_id"))
    if json:
        show_json(msgspec.json.format(answer.text, indent=2).decode())
    else:
        show(body["data"], json=False)
        _note_the_rest(answer)
    for warning in answer.warnings:
        note("warning", warning)
    sys.exit(1 if "error" in body else PARTIAL if body.get("status") == "partial" else 0)


def _note_the_rest(answer: Answered) -> None:
    """Print what an envelope says besides its data."""
    for name in ("run_id", "next_cursor"):
        if answer.body.get(name):
            note(name, answer.body[name])
    if answer.body.get("status") == "partial":
        note("status", "partial: not everything was done")


class Json(click.ParamType[Any]):
    """A JSON value, such as a list or an object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the JSON text."""
        if not isinstance(value, str):
            return value
        try:
            return value_of(value)
        except ValueError as fault:
            self.fail(f"{value!r} is not JSON: {fault}.", param, ctx)


class Items(Json):
    """One or more items of a list: a JSON array, or a plain word that stands for itself."""

    name = "json|text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The items; those of all occurrences are joined where they are sent."""
        if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
            return [value]
        items = super().convert(value, param, ctx)
        return items if isinstance(items, list) else [items]


def _type(annotation: Any) -> click.ParamType[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _type(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return _type(next(option for option in get_args(annotation) if option is not type(None)))
    if origin is Literal:
        return click.Choice(list(get_args(annotation)))
    plain: dict[Any, click.ParamType[Any]] = {int: click.INT, bool: click.BOOL, list: Items(), dict: Json()}
    return plain.get(origin or annotation, click.STRING)


def _send(
    connector: AnyConnector,
    operation: AnyOperation,
    data: Path | None,
    connection: str | None,
    values: dict[str, Any],
) -> Answered:
    """The gateway's answer."""
    base_url, key, described = reached(data)
    connection = connection or described.get("connections", {}).get(connector.name)
    if connection is None:
        raise click.ClickException(f"No connection of {connector.name} is known: name one with --connection.")
    headers = {"Authorization": f"Bearer {key}", "User-Agent": f"connector-gateway-cli/{__version__}"}
    # Before the path is filled in: what is left after it travels as parameters.
    if HEADER in values:
        headers[HEADER] = _key(values.pop(HEADER)).header
    if IDEMPOTENCY_FIELD in values:
        values[IDEMPOTENCY_FIELD] = _key(values[IDEMPOTENCY_FIELD]).text
    if PREFER in values:
        headers[PREFER] = values.pop(PREFER)
    values = {name: _joined(value) if isinstance(value, tuple) else value for name, value in values.items()}
    url = f"{base_url.rstrip('/')}{address_of(connector.name, operation, values)}"
    try:
        return asyncio.run(_request(operation.method, url, headers, {"connection_id": connection} | values))
    except (aiohttp.ClientConnectionError, TimeoutError) as fault:
        raise click.ClickException(
            f"The gateway at {url} does not answer: {_reason(fault)}. {how_to_reach(base_url, data)}"
        ) from fault


def _key(given: str) -> KeyText:
    """The idempotency key, in its normal form; ``ClickException`` if it cannot be one."""
    key = KeyText.of(given)
    if key.fault:
        raise click.ClickException(f"The idempotency key {given!r} cannot be used: {key.fault}.")
    return key


async def _request(method: str, url: str, headers: dict[str, str], values: dict[str, Any]) -> Answered:
    sent: dict[str, Any] = (
        {"params": {name: query_text(value) for name, value in values.items()}, "headers": headers}
        if method == "GET"
        else {"data": ENCODER.encode(values), "headers": headers | {"Content-Type": "application/json"}}
    )
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, URL(url, encoded=True), **sent) as response,
        ):
            text = await response.read()
            warnings = WARNING.findall(", ".join(response.headers.getall("Warning", [])))
            return Answered(text, _envelope(text), warnings)
    except (aiohttp.ClientConnectionError, TimeoutError):
        raise
    except (aiohttp.ClientError, ValueError) as fault:
        raise click.ClickException(f"What answers at {url} is no gateway, or cannot be asked: {fault}.") from fault


def _reason(fault: Exception) -> str:
    """Why nobody answers, in the system's words where it has any."""
    return os.strerror(fault.errno) if isinstance(fault, OSError) and fault.errno else str(fault) or "it took too long"


def _plain(text: str) -> str:
    """A description without the marks that pages and documents draw."""
    return text.replace("``", "")


def _envelope(text: bytes) -> dict[str, Any]:
    try:
        body = decode(text)
    except InvalidJson as fault:
        raise ValueError("its answer is not JSON") from fault
    if not isinstance(body, dict) or not ("data" in body or _tells_an_error(body.get("error"))):
        raise ValueError("its answer is no envelope")
    return body


def _tells_an_error(error: Any) -> bool:
    """Whether it is one of the service's; others call something ``error``, too."""
    # Another server may be listening on that port, and its errors would be shown as ours.
    return isinstance(error, dict) and {"code", "message", "remedy"} <= error.keys()


def _joined(occurrences: tuple[list[Any], ...]) -> list[Any]:
    return [item for items in occurrences for item in items]


for known in CONNECTORS.values():
    call.add_command(_group(known))
