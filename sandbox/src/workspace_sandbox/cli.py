"""The command ``workspace-sandbox``, which runs the emulators without the gateway."""

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from workspace_sandbox import EMULATORS, Sandbox
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.input_validation import suggest
from workspace_sandbox.kit.state.seed_file_values import InvalidSeed
from workspace_sandbox.seed_file import SeedFile, UnreadableSeed
from workspace_sandbox.snapshots import UnusableFolder
from workspace_sandbox.version import VERSION

PORTS = click.IntRange(0, 65_500)
"""Valid control ports. The upper bound leaves room for the ports of the emulators."""


COLLECT_FROM = (20_000, 2, 2)
"""Thresholds of the garbage collector, in new objects and collections. A reset allocates about that many objects."""

PREPARE_AFTER_SECONDS = 1.0


class Names(click.ParamType[tuple[str, ...]]):
    """Comma-separated names of emulators."""

    name = "names"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names in the order of their ports."""
        names = [name.strip() for name in value.split(",") if name.strip()]
        for name in names:
            if name not in EMULATORS:
                self.fail(f"Unknown emulator {name!r}; {suggest(name, EMULATORS)}", param, ctx)
        return tuple(name for name in EMULATORS if name in names) or self.fail(
            "Name at least one emulator.", param, ctx
        )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8081,
    show_default=True,
    type=PORTS,
    help="Control port; the emulators use the following ports. 0 selects free ports.",
)
@click.option("--public-host", help="Host name in the printed URLs, if it differs from --host.")
@click.option("--only", type=Names(), help="Run only these emulators, such as notes,chat.")
@click.option("--hooks-url", help="Base URL to which emulators deliver events from the start.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder in which the state of the emulators survives restarts.",
)
@click.option("--fresh", is_flag=True, help="Discard the state in the folder of --data.")
@click.option(
    "--seed",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON or YAML file with objects to create in addition to the default data.",
)
@click.option(
    "--until-eof",
    is_flag=True,
    hidden=True,
    help="Stop when standard input ends; print a line when throttled clients may send requests again; "
    "write the folder of --data on exit, and discard the state of another version there.",
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
    """Run only the emulators; prints their URLs and credentials as one line of JSON once ready."""
    if fresh and data is None:
        raise click.UsageError("--fresh discards the state in a folder: name the folder with --data.")
    options = {"host": host, "port": port, "public_host": public_host, "hooks_url": hooks_url, "data": data}
    chosen = dict(_load_emulators(only))
    try:
        asyncio.run(
            _serve(
                _create_sandbox(chosen, seed, options | {"fresh": fresh, "supervised": until_eof}), until_eof=until_eof
            )
        )
    except (UnusableFolder, UnreadableSeed) as error:
        raise click.ClickException(str(error)) from error


def _load_emulators(only: Iterable[str] | None) -> Iterator[tuple[str, type[Emulator]]]:
    """Yield the emulators *only*, or all that can be imported. Raises ``ClickException`` if one of *only* cannot."""
    for name in only or EMULATORS:
        try:
            yield name, EMULATORS[name]
        # The code of an installed package can raise anything.
        except Exception as error:
            reason = f"The emulator {name} cannot be imported: {type(error).__name__}: {error}"
            if only:
                raise click.ClickException(reason) from error
            click.echo(f"warning: {reason}", err=True)


def _create_sandbox(chosen: Mapping[str, type[Emulator]], seed: Path | None, options: Mapping[str, Any]) -> Sandbox:
    """Create the sandbox of the *chosen* emulators, with the data of the file *seed*.

    Its identifiers are unique, because a gateway remembers the objects that it created before the sandbox restarted.
    """
    if seed is None:
        return Sandbox(chosen, distinct=True, **options)
    file = SeedFile(seed, list(chosen))
    try:
        return Sandbox(chosen, distinct=True, seeds=file.data, **options)
    except InvalidSeed as error:
        raise file.with_location(error) from error


async def _serve(server: Sandbox, *, until_eof: bool) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stopped.set)
    try:
        await server.start()
    except OSError as error:
        raise click.ClickException(
            f"The sandbox cannot listen: {error.strerror or error}. Choose other ports."
        ) from error
    # Existing objects stay alive. Collections that skip them take a tenth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_FROM)
    click.echo(json.dumps({"sandbox_url": server.address} | server.describe(), ensure_ascii=False))
    preparing = asyncio.create_task(_prepare(server))
    if until_eof:
        server.released = lambda: click.echo(json.dumps({"released": True}))
        try:
            loop.add_reader(sys.stdin, stopped.set)
        except PermissionError:
            # The event loop cannot wait for a file or /dev/null, whose end is reached immediately.
            stopped.set()
    await stopped.wait()
    preparing.cancel()
    await server.stop()


async def _prepare(server: Sandbox) -> None:
    # The process that started the sandbox is waiting for its first responses, so the preparation is delayed.
    await asyncio.sleep(PREPARE_AFTER_SECONDS)
    await server.prepare()
