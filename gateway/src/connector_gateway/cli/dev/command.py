"""The command ``dev``: a gateway with its sandbox for development, which ``make run`` starts."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from connector_gateway.cli.dev.data_folder import HOST, SANDBOX, DevInstallation, lock_folder
from connector_gateway.cli.serve.gc_control import gc_disabled

MAX_PORT = 65_535
MAX_SANDBOX_PORT = 65_500
"""The maximum first port of the sandbox, which leaves enough ports for the emulators."""

RELEASE_SECONDS = 5.0
"""Seconds to wait for ports and files that a previous process is releasing."""


@click.command()
@click.option("--port", default=8080, show_default=True, type=click.IntRange(1, MAX_PORT), help="The gateway's port.")
@click.option(
    "--sandbox-port",
    default=8081,
    show_default=True,
    type=click.IntRange(1, MAX_SANDBOX_PORT),
    help="The sandbox's first port. The emulators use the next ones.",
)
@click.option("--data", default=".data", show_default=True, type=click.Path(path_type=Path), help="Folder for state.")
@click.option("--fresh", is_flag=True, help="Delete the state of earlier runs first, and no other files.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
def dev(port: int, sandbox_port: int, data: Path, *, fresh: bool, quiet: bool) -> None:
    """Run the gateway and the sandbox together, with a workspace, two keys and a connection to each emulator."""
    installation = DevInstallation(port, sandbox_port, data)
    with lock_folder(data, RELEASE_SECONDS), _sandbox(installation, fresh=fresh) as sandbox:
        with gc_disabled():
            from connector_gateway.cli.dev.setup import serve_dev  # noqa: PLC0415  # while the sandbox starts

        asyncio.run(serve_dev(installation, sandbox, fresh=fresh, quiet=quiet))


@contextmanager
def _sandbox(installation: DevInstallation, *, fresh: bool) -> Iterator[subprocess.Popen[bytes]]:
    """Run the sandbox in a separate process, which exits when this one does."""
    # The sandbox releases its first port last. It checks the others itself.
    _wait_for_ports([installation.port, installation.sandbox_port])
    options = ["--port", str(installation.sandbox_port), "--hooks-url", f"{installation.base_url}/hooks", "--until-eof"]
    options += ["--data", str(installation.data / SANDBOX), *(["--fresh"] if fresh else [])]
    # In a separate session, which Ctrl-C does not reach, because calls in progress still need the emulators.
    process = subprocess.Popen(  # noqa: S603  # our own program with our own arguments
        # Without -P, a file in the working directory could shadow a module of the same name.
        [sys.executable, "-P", "-m", "connector_gateway", "sandbox", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.stdin:
            process.stdin.close()
        process.wait()


def _wait_for_ports(ports: list[int]) -> None:
    deadline = time.monotonic() + RELEASE_SECONDS
    for port in ports:
        while not _is_free(port):
            if time.monotonic() > deadline:
                raise click.ClickException(
                    f"Port {port} is in use. Choose others: --port for the gateway, --sandbox-port for the sandbox."
                )
            time.sleep(0.05)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
