"""The command ``conformance``, which checks a running service against the clauses of the contract."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import aiohttp
import click
from pydantic import TypeAdapter, ValidationError

from connector_gateway.cli.output import as_json, print_to_stderr, show
from connector_gateway.conformance.report import CheckOutcome, junit, rows, run_checks
from connector_gateway.conformance.service_under_test import CheckFailed, TargetService
from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors.suggestions import closest_match

ARGUMENTS = TypeAdapter(dict[str, dict[str, Any]])
COLUMNS = ("subject", "holds", "broken", "skipped")


@click.command()
@click.option("--url", required=True, envvar="GATEWAY_URL", help="URL of the service.")
@click.option("--key", required=True, envvar="GATEWAY_API_KEY", help="API key with read and write access.")
@click.option("--read-key", required=True, help="Read-only API key of the same workspace.")
@click.option(
    "--connection", "named", multiple=True, help="CONNECTOR=CONNECTION_ID. Default: the newest ones. Can be repeated."
)
@click.option(
    "--arguments",
    type=click.File("rb"),
    help='JSON file with the arguments of operations: {"notes_create_page": {…}}.',
)
@click.option(
    "--write",
    "writes",
    is_flag=True,
    help="Also run the writes listed in --arguments, once each. Created objects are not deleted.",
)
@click.option(
    "--junit", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JUnit XML."
)
@as_json
def conformance(
    url: str,
    key: str,
    read_key: str,
    named: tuple[str, ...],
    arguments: BinaryIO | None,
    file: Path | None,
    *,
    writes: bool,
    as_json: bool,
) -> None:
    """Check a running service against the contract.

    Vendor accounts are not changed, unless --write is given.
    Exit status: 0 if no clause is violated, 1 otherwise.
    """
    connections = {connector: connection_id for connector, _, connection_id in (one.partition("=") for one in named)}
    if unknown := [name for name, connection_id in connections.items() if name not in CONNECTORS or not connection_id]:
        raise click.BadParameter(f"{unknown[0]!r} is not CONNECTOR=CONNECTION_ID.", param_hint="--connection")
    values = _read_arguments(arguments)
    if writes and not values:
        raise click.BadParameter("It requires --arguments.", param_hint="--write")
    outcomes = asyncio.run(_run_checks(TargetService(url, key, read_key, connections, values, writes=writes)))
    if file is not None:
        file.write_bytes(junit(outcomes))
    show(rows(outcomes), json=as_json, columns=COLUMNS)
    for one in outcomes:
        if one.result == "broken":
            print_to_stderr(f"{one.subject}, {one.check.name} ({', '.join(one.check.clauses)})", one.why)
    sys.exit(any(one.result == "broken" for one in outcomes))


def _read_arguments(file: BinaryIO | None) -> Mapping[str, Mapping[str, Any]]:
    """Return the arguments of operations from *file*."""
    try:
        arguments = {} if file is None else ARGUMENTS.validate_json(file.read())
    except ValidationError as error:
        raise click.BadParameter("The file must contain a JSON object of objects.", param_hint="--arguments") from error
    names = {
        f"{connector.name}_{operation.name}" for connector in CONNECTORS.values() for operation in connector.operations
    }
    if unknown := arguments.keys() - names:
        suggestion = closest_match(min(unknown), names)
        more = f" Did you mean {suggestion}?" if suggestion else ""
        raise click.BadParameter(f"Unknown operation {min(unknown)}.{more}", param_hint="--arguments")
    return arguments


async def _run_checks(service: TargetService) -> Sequence[CheckOutcome]:
    try:
        async with service:
            await service.find_connections()
            return await run_checks(service, CONNECTORS)
    except (aiohttp.ClientError, TimeoutError, CheckFailed) as error:
        raise click.ClickException(f"Cannot check {service.base_url}: {error}.") from error
