"""``conformance``: the clauses of the contract, checked from outside against the service at any address."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import click

from connector_gateway.cli.output import as_json, note, show
from connector_gateway.conformance.place import Broken, Place
from connector_gateway.conformance.report import Outcome, junit, outcomes, rows
from connector_gateway.connectors import CONNECTORS

COLUMNS = ("subject", "holds", "broken", "skipped")


@click.command()
@click.option("--url", required=True, envvar="GATEWAY_URL", help="The address of the service.")
@click.option("--key", required=True, envvar="GATEWAY_API_KEY", help="An API key that may read and write.")
@click.option("--read-key", required=True, help="An API key of the same workspace that may only read.")
@click.option(
    "--connection", "named", multiple=True, help="CONNECTOR=CONNECTION_ID, in place of the newest; may be repeated."
)
@click.option("--junit", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write the outcomes as XML.")
@as_json
def conformance(url: str, key: str, read_key: str, named: tuple[str, ...], file: Path | None, *, as_json: bool) -> None:
    """Check the service at an address against the contract, and change nothing in the applications behind it.

    Ends with 0 where no clause is broken, and with 1 otherwise.
    """
    connections = {connector: connection_id for connector, _, connection_id in (one.partition("=") for one in named)}
    if unknown := [name for name, connection_id in connections.items() if name not in CONNECTORS or not connection_id]:
        raise click.BadParameter(f"{unknown[0]!r} is no CONNECTOR=CONNECTION_ID.", param_hint="--connection")
    found = asyncio.run(_checked(Place(url, key, read_key, connections)))
    if file is not None:
        file.write_bytes(junit(found))
    show(rows(found), json=as_json, columns=COLUMNS)
    for one in found:
        if one.result == "broken":
            note(f"{one.subject}, {one.check.name} ({', '.join(one.check.clauses)})", one.why)
    sys.exit(any(one.result == "broken" for one in found))


async def _checked(place: Place) -> Sequence[Outcome]:
    try:
        async with place:
            await place.find_connections()
            return await outcomes(place, CONNECTORS)
    except (aiohttp.ClientError, TimeoutError, Broken) as fault:
        raise click.ClickException(f"Nothing answers there that could be checked: {fault}.") from fault
