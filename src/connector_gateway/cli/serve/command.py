"""``serve``: production."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import gettempdir
from typing import NoReturn
from urllib.parse import urlsplit

import click

from connector_gateway.app import App
from connector_gateway.cli import env_file
from connector_gateway.cli.installation import environment
from connector_gateway.cli.serve import core_dumps
from connector_gateway.cli.serve.server import PORTS, PortInUse, bind, configure_log, server
from connector_gateway.cli.serve.supervisor import Supervisor, command
from connector_gateway.cli.serve.worker import SupervisorChannel, WorkerSpec
from connector_gateway.cli.settings_loader import settings_of
from connector_gateway.cli.target import data_folder
from connector_gateway.core.access.audited_actions import Actor, acting
from connector_gateway.core.first_steps import FirstSteps, first_steps
from connector_gateway.core.secrets.startup_check import MissingSecretKeys
from connector_gateway.http.console import CONSOLE
from connector_gateway.http.server.worker_metrics import WorkerMetrics
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.settings import DATABASE_URL, Settings
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse, UnusableDatabase

NOT_STARTED = 3
"""Exit status where the service could not start, or had to give way to another process."""

APART = (
    "{} workers need PostgreSQL in GATEWAY_DATABASE_URL, and GATEWAY_SHARED_URL, where they count budgets and keys' "
    "windows together; set both, or run one worker."
)

MAX_FOLDER_BYTES = 68
"""Of the name of the folder for temporary files: the system takes some hundred for the address of a socket in it."""

FOLDER_TOO_LONG = (
    "The folder for temporary files has too long a name for the sockets by which workers meet: {}. "
    "Set TMPDIR to a shorter one, such as /tmp."
)

OWN = ("GATEWAY_SECRET_KEYS", "GATEWAY_OPERATOR_TOKEN", "GATEWAY_DATABASE_URL")
"""Where none of these is set, and no database is there yet, the first start makes them."""

THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}
PROGRAM = "connector-gateway"
COMMANDS = {
    "workspace": "workspaces create NAME",
    "connection": "connections create WORKSPACE CONNECTOR",
    "key": "keys create WORKSPACE",
    "call": "call CONNECTOR OPERATION  (with GATEWAY_URL={} and the key as GATEWAY_API_KEY)",
}
"""The command for each step towards the first call."""

LEFT_OUT = ("(Background on", "[SQL:", "[parameters:", "Is the server running")

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # compared with, not listened on


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=PORTS, help="Port to listen on.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that serve; GATEWAY_WORKERS, or 1, by default.")
@click.option("--supervised", hidden=True, type=WorkerSpec.read, help="The place of a worker, given by its supervisor.")
@data_folder
def serve(host: str, port: int, workers: int | None, supervised: WorkerSpec | None, data: Path | None) -> None:
    """Run the gateway, with settings from the environment (GATEWAY_…) and from .env.

    The first start in an empty folder makes its secrets, and keeps them in .env.
    """
    # Sent when a terminal closes, and by habit to have settings read again; it is no reason to die.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    core_dumps.forbid()
    with ExitStack() as stack:
        listening = supervised.sockets if supervised else _bind(host, port)
        for one in listening:
            stack.enter_context(one)
        settings = _settings(data, listening[0], workers, starting=supervised is None)
        if supervised is None and settings.admin_port is not None:
            listening += (stack.enter_context(one) for one in _bind_for_operators(host, listening, settings.admin_port))
        if supervised is None and settings.workers > 1:
            sys.exit(_supervise(settings, listening, data))
        sys.exit(0 if _run(settings, listening, supervised) else NOT_STARTED)


def _bind(host: str, port: int) -> list[socket.socket]:
    try:
        return bind(host, port)
    except PortInUse as taken:
        _fail(str(taken))


def _bind_for_operators(host: str, public: list[socket.socket], port: int) -> list[socket.socket]:
    if port == public[0].getsockname()[1]:
        _fail(f"GATEWAY_ADMIN_PORT is {port}, which is the port that everybody is served at; choose another.")
    try:
        return bind(host, port, chosen_by="GATEWAY_ADMIN_PORT")
    except PortInUse as taken:
        _fail(str(taken))


def _supervise(settings: Settings, listening: list[socket.socket], data: Path | None) -> int:
    """Have several processes serve until told to stop; the exit status."""
    if len(os.fsencode(gettempdir())) > MAX_FOLDER_BYTES:
        _fail(FOLDER_TOO_LONG.format(gettempdir()))
    configure_log(settings.log_level)
    options = ("--workers", str(settings.workers), *(("--data", str(data)) if data else ()))
    telling: list[asyncio.Task[None]] = []
    supervisor = Supervisor(
        command(*options),
        listening,
        settings.workers,
        stop_seconds=settings.stop_seconds,
        retire_seconds=settings.retire_seconds,
        ready=lambda: telling.append(asyncio.create_task(_tell_together(settings, listening[0]))),
    )
    return asyncio.run(supervisor.run())


def _run(settings: Settings, listening: list[socket.socket], place: WorkerSpec | None) -> bool:
    """Serve until told to stop; whether it started and ended as it should."""
    host, port = listening[0].getsockname()[:2]
    app = App(settings, siblings=WorkerMetrics(place.home, place.number, place.count) if place else None)
    running = server(
        app.http(),
        host,
        port,
        app.settings.stop_seconds,
        log_level=app.settings.log_level,
        ready=None if place else lambda: _tell(app, listening[0]),
        line=SupervisorChannel(place.line) if place else None,
        retire_seconds=app.settings.retire_seconds,
    )
    try:
        running.run(listening)
    except (DatabaseInUse, UnusableDatabase, MissingSecretKeys) as refusal:
        _fail(str(refusal))
    except StorageUnavailable as away:
        _fail(f"The database cannot be opened: {_on_one_line(away.private)}. Is GATEWAY_DATABASE_URL right?")
    return running.started and not app.stopping.reason


def _settings(data: Path | None, listening: socket.socket, workers: int | None, *, starting: bool) -> Settings:
    """Read the settings of the installation to serve, which is reached where it listens unless they say otherwise.

    The strength of secrets is checked once, by the process that is *starting* the service, and not by its workers.
    """
    found = environment(data)
    first = {} if data or any(found.get(name) for name in OWN) else _first_settings()
    found |= first
    found["GATEWAY_BASE_URL"] = found.get("GATEWAY_BASE_URL") or _address(listening)
    if workers is not None:
        found["GATEWAY_WORKERS"] = str(workers)
    settings = settings_of(found, starting=starting)
    if settings.workers > 1 and not settings.shareable:
        _fail(APART.format(settings.workers))
    # Nothing is left behind by a start that is refused.
    if first:
        _keep(first)
    return settings


def _first_settings() -> dict[str, str]:
    """Settings for a new installation; ``ClickException`` if its database is there already."""
    database = Path(DATABASE_URL.removeprefix("sqlite:///")).resolve()
    # New keys would open nothing of it: the secrets in it are sealed with those that are lost.
    if database.exists():
        raise click.ClickException(
            f"{database} is there, but not the settings that it was served with. Put {env_file.env_file()} back, "
            "or set GATEWAY_SECRET_KEYS and GATEWAY_OPERATOR_TOKEN to what they were."
        )
    return env_file.new_settings(f"sqlite:///{database}")


def _keep(settings: Mapping[str, str]) -> None:
    """Keep the *settings* of a new installation, and tell where."""
    try:
        path = env_file.append_settings(settings)
    except OSError as fault:
        raise click.ClickException(
            f"Settings cannot be kept in {env_file.env_file()}: {fault.strerror}. Start in a folder of your own, "
            "or name a file with GATEWAY_ENV_FILE."
        ) from fault
    click.echo(
        f"Made a secret key and an operator token, and keep them in {path}, which only you may read. "
        "Without that file nobody can open the connections.",
        err=True,
    )


async def _tell(app: App, listening: socket.socket, workers: int = 1) -> None:
    """Print what is served and where, and what is left to do before the first call."""
    settings = app.settings
    operators_url = _address(listening, settings.admin_port) if settings.admin_port else settings.base_url
    # It listens already: what is only printed here is no reason to end.
    try:
        connections = str(sum((await app.connections.count_by_status()).values()))
        steps, link = await first_steps(app.database), await _sign_in(app, operators_url)
    except StorageUnavailable:
        connections, steps, link = "not known, the database is away", None, f"{operators_url}{CONSOLE}"
    lines = {
        "listening": _address(listening),
        "reached at": settings.base_url,
        "database": app.database.url.render_as_string(),
        **({"workers": str(workers)} if workers > 1 else {}),
        "connections": connections,
        "reference": f"{settings.base_url}/docs",
        "console": link,
    }
    click.echo(
        "\n".join([*(f"{name:12} {value}" for name, value in lines.items()), *_left_to_do(steps, settings.base_url)]),
        err=True,
    )


async def _tell_together(settings: Settings, listening: socket.socket) -> None:
    """Print the same where several workers serve."""
    app = App(settings)
    async with app.opened():
        await _tell(app, listening, settings.workers)


async def _sign_in(app: App, operators_url: str) -> str:
    """Return a sign-in link, or the command that prints one where what is printed here is kept in a log."""
    if not (sys.stderr.isatty() or urlsplit(app.settings.base_url).hostname in THIS_MACHINE):
        return f"{operators_url}{CONSOLE}  (connector-gateway console prints a link that signs in)"
    with acting(app.audit, Actor("cli", surface="cli")):
        return f"{await app.sign_in_link(operators_url)}  (signs in once, within ten minutes)"


def _left_to_do(steps: FirstSteps | None, base_url: str) -> Iterator[str]:
    """Yield a line for each step towards the first call, unless all are done."""
    if steps is None or steps.done:
        return
    yield "\nTo do in the console, or by these commands:"
    for name, by in COMMANDS.items():
        yield f"  [{'x' if getattr(steps, name) else ' '}] {name:12} {PROGRAM} {by.format(base_url)}"


def _address(listening: socket.socket, port: int | None = None) -> str:
    """The address that *listening* is reached at from this machine, or another *port* of the same host."""
    host, own = listening.getsockname()[:2]
    host, port = ANY_ADDRESS.get(host, host), port or own
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _on_one_line(said: str) -> str:
    """What a driver said, without what it asks, and what SQLAlchemy adds, on lines of their own."""
    lines = (line.strip() for line in said.splitlines())
    return "; ".join(line for line in lines if not line.startswith(LEFT_OUT))


def _fail(sentence: str) -> NoReturn:
    click.echo(f"Error: {sentence}", err=True)
    sys.exit(NOT_STARTED)
