"""The command ``serve``, which runs the gateway in production."""

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
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.installation_settings import load_environment, load_settings, print_connector_problems
from connector_gateway.cli.serve import core_dumps
from connector_gateway.cli.serve.server import PORTS, PortInUse, bind, configure_log, server
from connector_gateway.cli.serve.supervisor import Supervisor, command
from connector_gateway.cli.serve.worker_channel import SupervisorChannel, WorkerSpec
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.onboarding_checklist import OnboardingChecklist, read_onboarding_checklist
from connector_gateway.core.secrets.missing_key_check import MissingSecretKeys
from connector_gateway.http.console import CONSOLE
from connector_gateway.http.server.worker_metrics import WorkerMetrics
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.settings import DATABASE_URL, Settings
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse, UnusableDatabase

NOT_STARTED = 3
"""The exit status if the service could not start, or another process took over the database."""

WORKERS_NEED_SHARED_STATE = (
    "{} workers require PostgreSQL (GATEWAY_DATABASE_URL) and a shared store for rate limits (GATEWAY_SHARED_URL). "
    "Set both, or run one worker."
)

MAX_FOLDER_BYTES = 68
"""The maximum length of the path of the temporary folder. The path of a socket in it may have about 100 bytes."""

FOLDER_TOO_LONG = (
    "The path of the temporary folder is too long for the sockets of workers: {}. "
    "Set TMPDIR to a shorter path, such as /tmp."
)

FIRST_SETTINGS = ("GATEWAY_SECRET_KEYS", "GATEWAY_OPERATOR_TOKEN", "GATEWAY_DATABASE_URL")
"""Settings that the first start creates, if none of them is set and no database exists."""

LOOPBACK_HOSTS = {"127.0.0.1", "localhost", "::1"}
PROGRAM = "connector-gateway"
STEP_COMMANDS = {
    "workspace": "workspaces create NAME",
    "connection": "connections create WORKSPACE CONNECTOR",
    "key": "keys create WORKSPACE",
    "call": "call CONNECTOR OPERATION  (with GATEWAY_URL={} and the key as GATEWAY_API_KEY)",
}
"""The command for each of the first steps."""

OMITTED_PREFIXES = ("(Background on", "[SQL:", "[parameters:", "Is the server running")

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # only compared


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=PORTS, help="Port to listen on.")
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes. Default: GATEWAY_WORKERS, or 1.")
@click.option("--supervised", hidden=True, type=WorkerSpec.read, help="Specification of a worker, from its supervisor.")
@data_folder
def serve(host: str, port: int, workers: int | None, supervised: WorkerSpec | None, data: Path | None) -> None:
    """Run the gateway with settings from the environment (GATEWAY_…) and from .env.

    The first start in an empty folder creates secrets and stores them in .env.
    """
    # SIGHUP is sent when a terminal closes, and by convention to reload settings. It must not end the service.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    core_dumps.disable()
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
    except PortInUse as error:
        _fail(str(error))


def _bind_for_operators(host: str, public: list[socket.socket], port: int) -> list[socket.socket]:
    if port == public[0].getsockname()[1]:
        _fail(f"GATEWAY_ADMIN_PORT is {port}, which is also the public port. Choose another.")
    try:
        return bind(host, port, chosen_by="GATEWAY_ADMIN_PORT")
    except PortInUse as error:
        _fail(str(error))


def _supervise(settings: Settings, listening: list[socket.socket], data: Path | None) -> int:
    """Serve with several processes until stopped, and return the exit status."""
    if len(os.fsencode(gettempdir())) > MAX_FOLDER_BYTES:
        _fail(FOLDER_TOO_LONG.format(gettempdir()))
    configure_log(settings.log_level)
    options = ("--workers", str(settings.workers), *(("--data", str(data)) if data else ()))
    tasks: list[asyncio.Task[None]] = []
    supervisor = Supervisor(
        command(*options),
        listening,
        settings.workers,
        stop_seconds=settings.stop_seconds,
        retire_seconds=settings.retire_seconds,
        ready=lambda: tasks.append(asyncio.create_task(_print_shared_summary(settings, listening[0]))),
    )
    return asyncio.run(supervisor.run())


def _run(settings: Settings, listening: list[socket.socket], spec: WorkerSpec | None) -> bool:
    """Serve until stopped. Returns False if the service did not start or ended with an error."""
    host, port = listening[0].getsockname()[:2]
    app = App(settings, peers=WorkerMetrics(spec.home, spec.number, spec.count) if spec else None)
    running = server(
        app.http(),
        host,
        port,
        app.settings.stop_seconds,
        log_level=app.settings.log_level,
        ready=None if spec else lambda: _print_summary(app, listening[0]),
        channel=SupervisorChannel(spec.line) if spec else None,
        retire_seconds=app.settings.retire_seconds,
    )
    try:
        running.run(listening)
    except (DatabaseInUse, UnusableDatabase, MissingSecretKeys) as error:
        _fail(str(error))
    except StorageUnavailable as error:
        _fail(f"The database cannot be opened: {_on_one_line(error.private)}. Check GATEWAY_DATABASE_URL.")
    return running.started and not app.shutdown.reason


def _settings(data: Path | None, listening: socket.socket, workers: int | None, *, starting: bool) -> Settings:
    """Read the settings of the installation to serve. Its base URL defaults to the listening address.

    Only the process that is *starting* the service checks the strength of secrets, and not its workers.
    """
    values = load_environment(data)
    first = {} if data or any(values.get(name) for name in FIRST_SETTINGS) else _first_settings()
    values |= first
    values["GATEWAY_BASE_URL"] = values.get("GATEWAY_BASE_URL") or _local_url(listening)
    if workers is not None:
        values["GATEWAY_WORKERS"] = str(workers)
    if starting:
        print_connector_problems()
    settings = load_settings(values, starting=starting)
    if settings.workers > 1 and not settings.shareable:
        _fail(WORKERS_NEED_SHARED_STATE.format(settings.workers))
    # Only a successful start stores the new settings.
    if first:
        _store_settings(first)
    return settings


def _first_settings() -> dict[str, str]:
    """Return settings for a new installation. Raises ``ClickException`` if its database already exists."""
    database = Path(DATABASE_URL.removeprefix("sqlite:///")).resolve()
    # New keys could not decrypt the secrets in it, which are encrypted with the lost keys.
    if database.exists():
        raise click.ClickException(
            f"The database {database} exists, but its settings are missing. Restore {env_file.env_file()}, "
            "or set GATEWAY_SECRET_KEYS and GATEWAY_OPERATOR_TOKEN to their previous values."
        )
    return env_file.new_settings(f"sqlite:///{database}")


def _store_settings(settings: Mapping[str, str]) -> None:
    """Store the *settings* of a new installation, and print where."""
    try:
        path = env_file.append_settings(settings)
    except OSError as error:
        raise click.ClickException(
            f"Settings cannot be stored in {env_file.env_file()}: {error.strerror}. Start in a folder of your own, "
            "or set GATEWAY_ENV_FILE to another path."
        ) from error
    click.echo(
        f"Created a secret key and an operator token in {path}, which only you can read. "
        "Keep this file: connections cannot be decrypted without it.",
        err=True,
    )


async def _print_summary(app: App, listening: socket.socket, workers: int = 1) -> None:
    """Print the URLs of the service, and the remaining steps to the first call."""
    settings = app.settings
    operators_url = _local_url(listening, settings.admin_port) if settings.admin_port else settings.base_url
    # The service is already running, so an error here must not end it.
    try:
        connections = str(sum((await app.connections.count_by_status()).values()))
        steps, link = await read_onboarding_checklist(app.database), await _sign_in(app, operators_url)
    except StorageUnavailable:
        connections, steps, link = "unknown, the database is unavailable", None, f"{operators_url}{CONSOLE}"
    lines = {
        "listening": _local_url(listening),
        "base URL": settings.base_url,
        "database": app.database.url.render_as_string(),
        **({"workers": str(workers)} if workers > 1 else {}),
        "connections": connections,
        "reference": f"{settings.base_url}/docs",
        "console": link,
    }
    click.echo(
        "\n".join(
            [*(f"{name:12} {value}" for name, value in lines.items()), *_remaining_steps(steps, settings.base_url)]
        ),
        err=True,
    )


async def _print_shared_summary(settings: Settings, listening: socket.socket) -> None:
    """Print the summary when several workers serve."""
    app = App(settings)
    async with app.open():
        await _print_summary(app, listening, settings.workers)


async def _sign_in(app: App, operators_url: str) -> str:
    """Return a sign-in link, or the command that prints one if the output may be stored in a log."""
    if not (sys.stderr.isatty() or urlsplit(app.settings.base_url).hostname in LOOPBACK_HOSTS):
        return f"{operators_url}{CONSOLE}  (connector-gateway console prints a sign-in link)"
    with act_as(app.audit, Actor("cli", surface="cli")):
        return f"{await app.sign_in_link(operators_url)}  (valid once, for ten minutes)"


def _remaining_steps(steps: OnboardingChecklist | None, base_url: str) -> Iterator[str]:
    """Yield a line for each of the first steps, unless all are done."""
    if steps is None or steps.done:
        return
    yield "\nNext steps, in the console or with these commands:"
    for name, by in STEP_COMMANDS.items():
        yield f"  [{'x' if getattr(steps, name) else ' '}] {name:12} {PROGRAM} {by.format(base_url)}"


def _local_url(listening: socket.socket, port: int | None = None) -> str:
    """Return the URL of *listening* from this machine, optionally with another *port*."""
    host, own = listening.getsockname()[:2]
    host, port = ANY_ADDRESS.get(host, host), port or own
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _on_one_line(message: str) -> str:
    """Return the message of a database driver on one line, without hints and SQLAlchemy's additions."""
    lines = (line.strip() for line in message.splitlines())
    return "; ".join(line for line in lines if not line.startswith(OMITTED_PREFIXES))


def _fail(sentence: str) -> NoReturn:
    click.echo(f"Error: {sentence}", err=True)
    sys.exit(NOT_STARTED)
