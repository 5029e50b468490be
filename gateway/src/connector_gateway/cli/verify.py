"""The command ``verify``, which checks the facts about a vendor against a live account."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from connector_gateway.cli.command_groups import Command
from connector_gateway.cli.connection_lookup import choose_connection, list_usable
from connector_gateway.cli.dev.data_folder import describe
from connector_gateway.cli.gateway_client import send
from connector_gateway.cli.gateway_url_and_key import GatewayTarget, resolve_target
from connector_gateway.cli.output import exit_with_error, print_sentence, show, to_json_text
from connector_gateway.connectors import CONNECTORS
from connector_gateway.verify.account_under_test import Account, CallFailed, UnsuitablePlace
from connector_gateway.verify.checks import Checks
from connector_gateway.verify.facts import load_facts
from connector_gateway.verify.runner import CONTRADICTED, FactResult, load_checks, run_checks

COLUMNS = ("fact", "result", "expected", "observed", "reason")


@click.command(cls=Command)
@click.argument("connector", type=click.Choice(list(CONNECTORS)))
@click.option("--connection", help="ID or name of the connection. Default: the connector's only connection.")
@click.option("--write", "writes", is_flag=True, help="Also check facts that need writes, in the place of --in.")
@click.option("--in", "place", help="The empty object in which --write may write. Without it, the error says which.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JSON.")
@click.option(
    "--dev",
    "description",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The dev.json of a running dev installation.",
)
def verify(
    connector: str,
    connection: str | None,
    place: str | None,
    report: Path | None,
    description: Path | None,
    *,
    writes: bool,
) -> None:
    """Check what the gateway assumes about a vendor against a live account.

    Requests are sent through a running gateway, at the vendor's pace, with a key created with --passthrough.
    Checks change only what they have created, and remove it. The report contains no data of the account.
    Exit status: 0 if no fact is contradicted, 1 otherwise.
    """
    checks = load_checks(connector)
    if checks is None:
        print_sentence(f"There are no checks of {connector} yet.")
        return
    if writes and not place:
        raise click.BadParameter(f"It requires --in: {checks.place}.", param_hint="--write")
    if place and not writes:
        raise click.BadParameter("It requires --write.", param_hint="--in")
    if report is not None and not report.absolute().parent.is_dir():
        raise click.BadParameter(f"The folder {report.parent} does not exist.", param_hint="--report")
    try:
        results = asyncio.run(_verify(connector, connection, place, description, checks))
    except asyncio.CancelledError as error:
        raise click.Abort from error
    rows = [one.row() for one in results]
    if report is not None:
        report.write_text(to_json_text(rows) + "\n", encoding="utf-8")
    show(rows, json=False, columns=COLUMNS)
    sys.exit(any(one.result == CONTRADICTED for one in results))


async def _verify(
    connector: str, connection: str | None, place: str | None, description: Path | None, checks: Checks
) -> Sequence[FactResult]:
    async with _target(description) as target:
        connection_id = await choose_connection(target, connector, connection)
        if connection_id not in {one["connection_id"] for one in await list_usable(target, connector)}:
            raise click.BadParameter(
                f"{connection_id} is not a connection of {connector} that the key can use.", param_hint="--connection"
            )
        account = Account(CONNECTORS[connector], connection_id, partial(_body, target), place)
        # As at an interrupt by the keyboard, the checks end and what they created is removed.
        if task := asyncio.current_task():
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            if place:
                await checks.open_place(account)
            return await run_checks(account, checks, load_facts(connector), _print_progress)
        except UnsuitablePlace as error:
            raise click.BadParameter(f"{error} Use {checks.place}.", param_hint="--in") from error
        except CallFailed as error:
            exit_with_error(error.body, json=False)
        finally:
            for one in await account.clean_up():
                print_sentence(f"Not removed: {one.kind} {one.object_id}.")


@asynccontextmanager
async def _target(description: Path | None) -> AsyncIterator[GatewayTarget]:
    """The gateway of the settings, or a dev installation with a key that ends with the checks."""
    if description is None:
        yield resolve_target(None)
        return
    target, described = resolve_target(description.parent), describe(description.parent)
    operator = replace(target, key=described["operator_token"])
    key = {"workspace_id": described["workspace_id"], "scope": "read_write", "name": "verify", "passthrough": True}
    created = (await _body(operator, "POST", "/v1/keys", key))["data"]
    try:
        yield replace(target, key=created["key"])
    finally:
        await _body(operator, "DELETE", f"/v1/keys/{created['key_id']}", {})


async def _body(target: GatewayTarget, method: str, path: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    return (await send(target, method, path, values)).body


def _print_progress(result: FactResult) -> None:
    print_sentence(f"{result.fact}: {result.result}")
