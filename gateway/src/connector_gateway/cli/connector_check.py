"""The command ``connector-check``, which checks a connector against the emulator of its vendor."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from connector_gateway.cli.command_groups import Command
from connector_gateway.cli.output import print_sentence, show
from connector_gateway.connector_check.results import CHECKS, CheckResult, Finding
from connector_gateway.connector_check.runner import run_checks
from connector_gateway.connectors import CONNECTORS, INSTALLED

MAX_SHOWN = 5
"""The number of findings that are shown of each check."""


@click.command(cls=Command)
@click.argument("connector")
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Run each history with this many seeds, which have other delays and responses.",
)
@click.option("--only", type=click.Choice(list(CHECKS)), help="Run only this check.")
def connector_check(connector: str, seeds: int, only: str | None) -> None:
    """Check an installed connector against the emulator of its vendor, in virtual time.

    Each write is interrupted at every request, with a key and without: requests and responses are lost, the gateway is
    killed, other clients create equal objects, and proxies respond instead of the vendor.
    Calls use the arguments that operations declare as examples.
    Exit status: 0 if nothing is found, 1 otherwise, 2 if the connector cannot be checked.

    Example: connector-gateway connector-check tasks --seeds 3
    """
    if connector not in CONNECTORS:
        raise click.BadParameter(_explain_missing(connector), param_hint="CONNECTOR")
    emulators = import_module("workspace_sandbox").EMULATORS
    if connector not in emulators:
        raise click.BadParameter(
            f"No package has an emulator of {connector} among its entry points workspace_sandbox.applications.",
            param_hint="CONNECTOR",
        )
    checks = [only] if only else list(CHECKS)
    results = run_checks(
        CONNECTORS[connector], emulators[connector], seeds=seeds, only=checks, progress=_print_progress
    )
    show([_row(one) for one in results], json=False, columns=("check", "result", "histories", "promise"))
    for result in results:
        for finding in result.findings[:MAX_SHOWN]:
            print_sentence(_describe(connector, finding))
    sys.exit(any(not one.passed for one in results))


def _explain_missing(connector: str) -> str:
    """Return why a connector is not among those served."""
    if connector in INSTALLED.rejected:
        return INSTALLED.rejected[connector]
    return f"No installed package has a connector {connector!r}. Installed are: {', '.join(CONNECTORS)}."


def _print_progress(part: str) -> None:
    click.echo(f"Checking {part} …", err=True)


def _row(result: CheckResult) -> Mapping[str, Any]:
    found = len(result.findings)
    return {
        "check": result.check,
        "result": f"{found} found" if found else "passed" if result.histories else "nothing to check",
        "histories": result.histories,
        "promise": CHECKS[result.check],
    }


def _describe(connector: str, finding: Finding) -> str:
    """Return a finding, and how to reproduce it."""
    operation = f"{finding.operation}: " if finding.operation else ""
    seeds = f" --seeds {finding.seed}" if finding.seed and finding.seed > 1 else ""
    command = f"connector-gateway connector-check {connector} --only {finding.check}{seeds}"
    return f"{finding.check}: {operation}{finding.problem} To reproduce it: {command}"
