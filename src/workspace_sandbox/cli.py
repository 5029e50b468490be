"""The command ``workspace-sandbox``: the emulators on their own."""

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.kit.asking import suggested
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.sowing import InvalidSeed
from workspace_sandbox.seedfile import SeedFile, UnreadableSeed
from workspace_sandbox.snapshots import Unusable
from workspace_sandbox.version import VERSION

PORTS = click.IntRange(0, 65_500)
"""It leaves room for the ports of the applications."""


COLLECT_FROM = (20_000, 2, 2)
"""New objects, and looks among the young, from which on garbage is looked for; a reset makes as many."""

PREPARE_AFTER_SECONDS = 1.0


class Names(click.ParamType[tuple[str, ...]]):
    """Names of applications with commas between them."""

    name = "names"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The names, in the order of their ports."""
        given = [name.strip() for name in value.split(",") if name.strip()]
        for name in given:
            if name not in APPLICATIONS:
                self.fail(f"There is no {name!r}; {suggested(name, APPLICATIONS)}", param, ctx)
        return tuple(name for name in APPLICATIONS if name in given) or self.fail("Name an application.", param, ctx)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8081,
    show_default=True,
    type=PORTS,
    help="Control port; the emulators take the next ones. 0 takes any that are free.",
)
@click.option("--public-host", help="Name by which addresses are told, where it is not that of --host.")
@click.option("--only", type=Names(), help="Run these alone, such as notes,chat.")
@click.option("--hooks-url", help="Where applications that deliver what happens do so from the start.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that keeps what the applications hold over restarts.",
)
@click.option("--fresh", is_flag=True, help="Forget what the folder of --data holds.")
@click.option(
    "--seed",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File, JSON or YAML, of what applications hold beside the examples.",
)
@click.option(
    "--until-eof",
    is_flag=True,
    hidden=True,
    help="Stop when standard input ends; print a line when clients that were told to wait may send requests again; "
    "write the folder of --data when it stops, and forget the state of another version there.",
)
@click.version_option(VERSION, package_name="workspace-sandbox")
def sandbox(
    *,
    host: str,
    port: int,
    public_host: str | None,
    only: Iterable[str] | None,
    hooks_url: str | None,
    data: Path | None,
    fresh: bool,
    seed: Path | None,
    until_eof: bool,
) -> None:
    """Run only the emulators; prints their addresses and credentials as one line of JSON once ready."""
    if fresh and data is None:
        raise click.UsageError("--fresh forgets what a folder holds: name it with --data.")
    places = {"host": host, "port": port, "public_host": public_host, "hooks_url": hooks_url, "data": data}
    chosen = {name: EMULATORS[name] for name in only or APPLICATIONS}
    try:
        asyncio.run(_play(_made(chosen, seed, places | {"fresh": fresh, "supervised": until_eof}), until_eof=until_eof))
    except (Unusable, UnreadableSeed) as fault:
        raise click.ClickException(str(fault)) from fault


def _made(chosen: Mapping[str, type[Emulator]], seed: Path | None, places: Mapping[str, Any]) -> Sandbox:
    """The sandbox of the applications *chosen*, with what the file *seed* tells of them.

    It is distinct, since a gateway remembers what it has made when the sandbox is started again.
    """
    if seed is None:
        return Sandbox(chosen, distinct=True, **places)
    file = SeedFile(seed, APPLICATIONS)
    try:
        return Sandbox(chosen, distinct=True, seeds=file.told, **places)
    except InvalidSeed as fault:
        raise file.with_location(fault) from fault


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
    # What is there now stays; a look for garbage that passes it over is done in a tenth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_FROM)
    click.echo(json.dumps({"sandbox_url": playing.address} | playing.describe(), ensure_ascii=False))
    preparing = asyncio.create_task(_prepare(playing))
    if until_eof:
        playing.released = lambda: click.echo(json.dumps({"released": True}))
        try:
            loop.add_reader(sys.stdin, stopped.set)
        except PermissionError:
            # A file, or /dev/null, which nothing can wait for: it ends as soon as it is read.
            stopped.set()
    await stopped.wait()
    preparing.cancel()
    await playing.stop()


async def _prepare(playing: Sandbox) -> None:
    # Not at once: who has just started it is waiting for its first answers.
    await asyncio.sleep(PREPARE_AFTER_SECONDS)
    await playing.prepare()
