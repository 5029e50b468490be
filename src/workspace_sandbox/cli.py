"""The command ``workspace-sandbox``: the emulators on their own."""

import asyncio
import signal
import sys

import click
from pydantic_core import to_json

from workspace_sandbox import EMULATORS, Sandbox

PORTS = click.IntRange(0, 65_500)
"""It leaves room for the ports of the applications."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8081, show_default=True, type=PORTS, help="Control port; the emulators take the next ones."
)
@click.option("--hooks-url", help="Where applications that deliver what happens do so from the start.")
@click.option("--until-eof", is_flag=True, hidden=True, help="Stop when standard input ends.")
def sandbox(host: str, port: int, hooks_url: str | None, *, until_eof: bool) -> None:
    """Run only the emulators; prints their addresses and credentials as one line of JSON once ready."""
    asyncio.run(_play(Sandbox(EMULATORS, host=host, port=port, hooks_url=hooks_url), until_eof=until_eof))


async def _play(playing: Sandbox, *, until_eof: bool) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    try:
        await playing.start()
    except OSError as fault:
        raise click.ClickException(
            f"The sandbox cannot listen: {fault.strerror or fault}. Choose other ports."
        ) from fault
    click.echo(to_json({"sandbox_url": playing.address} | playing.describe()).decode())
    if until_eof:
        loop.add_reader(sys.stdin, stopped.set)
    await stopped.wait()
    await playing.stop()
