"""The set-up of a ``dev`` installation: workspace, keys, connections, its description for tools, and the tour."""

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import click
from pydantic_core import from_json
from rich.json import JSON
from rich.text import Text

from connector_gateway.app import App
from connector_gateway.cli.control_char_escaping import printable_json
from connector_gateway.cli.dev.data_folder import (
    DESCRIPTION,
    HOST,
    DevInstallation,
    State,
    clear,
    load_state,
    save_state,
    write,
)
from connector_gateway.cli.dev.reset import reset_upstream_state
from connector_gateway.cli.dev.sample_requests import SampleRequest, curl, sample_requests
from connector_gateway.cli.installation_settings import (
    dev_settings,
    load_environment,
    load_settings,
    print_connector_problems,
)
from connector_gateway.cli.output import console
from connector_gateway.cli.serve.server import GatewayServer, server
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.task_cancellation import cancel_and_wait
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

V = TypeVar("V")

PROGRAM = "connector-gateway"

POLL_SECONDS = "300"
"""The default poll interval. It is long, since emulators deliver events immediately."""


async def serve_dev(
    installation: DevInstallation, sandbox: subprocess.Popen[bytes], *, fresh: bool, quiet: bool
) -> None:
    """Serve until stopped, in front of *sandbox*, with everything ready to call.

    If *fresh*, earlier state is removed once the sandbox has bound its ports.
    """
    lines = await _lines_of(sandbox)
    line = await lines.readline()
    if not line:
        raise click.ClickException("The sandbox did not start. See the error above.")
    sandbox_info = from_json(line)
    _check_ports(installation, sandbox_info)
    try:
        if fresh:
            clear(installation.data)
        # Tools must not find a gateway that is not ready yet.
        (installation.data / DESCRIPTION).unlink(missing_ok=True)
        await _serve(installation, sandbox_info, lines, quiet=quiet)
    except (GatewayError, UnusableDatabase) as error:
        raise click.ClickException(f"The gateway could not be set up: {error}") from error
    except PermissionError as error:
        raise click.ClickException(
            f"This user cannot access {error.filename}. Choose another folder with --data."
        ) from error


async def _lines_of(sandbox: subprocess.Popen[bytes]) -> asyncio.StreamReader:
    """Return the output of the sandbox."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sandbox.stdout)
    return lines


async def _serve(
    installation: DevInstallation, sandbox_info: Mapping[str, Any], lines: asyncio.StreamReader, *, quiet: bool
) -> None:
    state = _state(installation.data)
    own = dev_settings(installation.data, state, {**sandbox_info, "base_url": installation.base_url})
    print_connector_problems()
    settings = load_settings(_defaults(quiet=quiet) | load_environment() | own)
    resumes = state.get("sandbox") == sandbox_info["state"]
    if not resumes:
        await reset_upstream_state(Database(settings.database_url), SystemClock())
    hosts = [url for described in sandbox_info["upstreams"].values() for url in _urls(described).values()]
    app = App(
        settings, files=PublicFileFetcher(settings.upstream_timeout_seconds, settings.max_file_bytes, trusted=hosts)
    )
    # Polls would delay the requests of the tour.
    app.defer_polls()
    examples: dict[str, Mapping[str, Any]] = {}
    running = server(
        app.http(examples), HOST, installation.port, settings.stop_seconds, log_level=settings.log_level, is_read=True
    )
    async with _retry_on_output(lines, app), _serving(running):
        with act_as(app.audit, Actor("cli", surface="cli")):
            state, links = await _set_up(app, state, sandbox_info, resumes=resumes)
            sign_in = "" if quiet else await app.sign_in_link(installation.base_url)
        save_state(installation.data, state)
        described = _description(installation, sandbox_info, state, links)
        examples |= {
            name: {"connection_id": connection_id, **described["examples"][name]}
            for name, connection_id in described["connections"].items()
        }
        write(installation.data / DESCRIPTION, described)
        if not quiet:
            await _show(described, installation.data, sign_in)
        app.start_polls()


@contextlib.asynccontextmanager
async def _retry_on_output(lines: asyncio.StreamReader, app: App) -> AsyncIterator[None]:
    """Retry upstream requests whenever the sandbox prints that its rate limits were lifted."""

    async def retry_loop() -> None:
        while await lines.readline():
            with contextlib.suppress(GatewayError):
                await app.retry_upstream()

    retrying = asyncio.create_task(retry_loop())
    try:
        yield
    finally:
        await cancel_and_wait(retrying)


def _check_ports(installation: DevInstallation, sandbox_info: Mapping[str, Any]) -> None:
    """Check that the sandbox does not use the gateway's port."""
    addresses = [value for described in sandbox_info["upstreams"].values() for value in _urls(described).values()]
    if installation.port in {urlsplit(address).port for address in (sandbox_info["sandbox_url"], *addresses)}:
        raise click.ClickException(
            f"Port {installation.port} of the gateway is also a port of the sandbox, "
            f"whose ports start at {installation.sandbox_port}. Choose another --port or --sandbox-port."
        )


def _urls(described: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in described.items() if name.endswith("_url")}


@contextlib.asynccontextmanager
async def _serving(running: GatewayServer) -> AsyncIterator[None]:
    """Serve while the block runs, and then until stopped.

    An exception in the block stops the server and is then raised, unless the server was already stopping.
    """
    serving = asyncio.create_task(running.serve())
    try:
        await _wait_until_started(running, serving)
        yield
    except BaseException:
        was_stopping, running.should_exit = running.should_exit, True
        await asyncio.wait({serving})
        if not was_stopping:
            raise
    await serving


async def _wait_until_started(running: GatewayServer, serving: asyncio.Task[None]) -> None:
    while not running.started:
        if serving.done():
            raise click.ClickException(f"The gateway did not start: {serving.exception()}")
        await asyncio.sleep(0.01)


def _state(data: Path) -> State:
    """Return the state stored in *data*, or new secrets if there is none."""
    state = load_state(data)
    if state is None:
        state = {"secret_key": secrets.token_urlsafe(32), "operator_token": f"op_{secrets.token_urlsafe(32)}"}
        save_state(data, state)
    return state


def _defaults(*, quiet: bool) -> dict[str, str]:
    watched = [name for name, connector in CONNECTORS.items() if connector.event_source is not None]
    intervals = {f"GATEWAY_{name.upper()}_WATCH_SECONDS": POLL_SECONDS for name in watched}
    return intervals | ({"GATEWAY_LOG_LEVEL": "error"} if quiet else {})


async def _set_up(
    app: App, state: State, sandbox: Mapping[str, Any], *, resumes: bool
) -> tuple[State, Mapping[str, str]]:
    """Set up workspace, keys and connections, reusing those of the last start if they are valid.

    Returns the new state, and the connect links.
    """
    if not await _is_valid(app, state):
        state = dict(state) | await _new_workspace(app)
    connections = await _connections(app, state, sandbox["upstreams"], resumes=resumes)
    invited = await _invitations(app, state)
    links = {name: link["connect_url"] for name, link in invited.items()}
    identifiers = {name: link["connection_id"] for name, link in invited.items()}
    changes = {"connections": connections, "invited": identifiers, "sandbox": sandbox["state"]}
    return dict(state) | changes, links


def _description(
    installation: DevInstallation, sandbox: Mapping[str, Any], state: State, links: Mapping[str, str]
) -> dict[str, Any]:
    """Describe the installation for tools."""
    return {
        "base_url": installation.base_url,
        "sandbox_url": sandbox["sandbox_url"],
        "operator_token": state["operator_token"],
        "workspace_id": state["workspace_id"],
        "keys": state["keys"],
        "connections": state["connections"],
        "connect_urls": links,
        "upstreams": sandbox["upstreams"],
        "clients": sandbox["clients"],
        "examples": {name: CONNECTORS[name].examples(values) for name, values in sandbox["examples"].items()},
    }


async def _new_workspace(app: App) -> dict[str, Any]:
    """Create a workspace with a key of each scope and without connections."""
    workspace_id = (await app.workspaces.create("dev", "paid"))["workspace_id"]
    keys = {
        "read": (await app.keys.create(workspace_id, "read", name="dev read"))["key"],
        "write": (await app.keys.create(workspace_id, "read_write", name="dev write"))["key"],
    }
    return {"workspace_id": workspace_id, "keys": keys, "connections": {}}


async def _connections(
    app: App, state: State, upstreams: Mapping[str, Mapping[str, str]], *, resumes: bool
) -> dict[str, str]:
    """Return the connection to each emulator, by connector."""
    workspace_id, before = state["workspace_id"], state["connections"]
    return await _gather(
        {
            name: _connection(app, workspace_id, name, described, before.get(name), resumes=resumes)
            for name, described in upstreams.items()
            if name in CONNECTORS
        }
    )


async def _invitations(app: App, state: State) -> dict[str, dict[str, Any]]:
    """Return a connect link for each connector with OAuth."""
    workspace_id, before = state["workspace_id"], state.get("invited", {})
    return await _gather(
        {
            name: _invitation(app, workspace_id, name, before.get(name))
            for name, connector in CONNECTORS.items()
            if connector.oauth is not None
        }
    )


async def _gather(tasks: Mapping[str, Awaitable[V]]) -> dict[str, V]:
    """Return the results by name. Concurrent writes share a commit."""
    return dict(zip(tasks, await asyncio.gather(*tasks.values()), strict=True))


async def _is_valid(app: App, state: State) -> bool:
    """Return True if the keys of the last start are still valid in this database."""
    try:
        for key in state["keys"].values():
            await app.keys.authenticate(f"Bearer {key}")
    except (KeyError, GatewayError):
        return False
    return True


async def _connection(
    app: App, workspace_id: Any, connector: str, described: Mapping[str, str], existing: str | None, *, resumes: bool
) -> str:
    """Return a connection to an emulator: the one of the last start with the current credentials, or a new one.

    If the sandbox *resumes* its state, it accepts the credentials of the last start, so the connection is unchanged.
    """
    if existing is not None and resumes and await app.connections.find(existing) is not None:
        return existing
    credentials = {name: value for name, value in described.items() if not name.endswith("_url")}
    if existing is not None:
        with contextlib.suppress(GatewayError):
            await app.connections.change(existing, credentials=credentials)
            return existing
    created = await app.connections.create(workspace_id, connector, credentials, name=f"{connector} sandbox")
    return str(created["connection_id"])


async def _invitation(app: App, workspace_id: Any, connector: str, existing: str | None) -> dict[str, Any]:
    """Return a connect link for an account of the emulator, for the same connection at each start."""
    if existing is not None:
        with contextlib.suppress(GatewayError):
            return await app.connection_setup.reconnect(existing, allow_other_account=True)
    return await app.connection_setup.create(workspace_id, connector, None, name=f"{connector} in the browser")


def _command() -> str:
    """Return the command that runs this program: its name if the shell finds it, or else its path."""
    script = Path(sys.executable).with_name(PROGRAM)
    path = shutil.which(PROGRAM)
    if not script.exists() or (path is not None and script.samefile(path)):
        return PROGRAM
    return shlex.quote(os.path.relpath(script))


async def _call(session: aiohttp.ClientSession, described: Mapping[str, Any], sample: SampleRequest) -> str:
    """Perform one call of the tour and return its envelope as JSON."""
    url = described["base_url"] + sample.path
    headers = {"Authorization": f"Bearer {described['keys']['write']}", **sample.headers}
    async with session.request(sample.method, url, params=sample.query, json=sample.body, headers=headers) as response:
        return json.dumps(await response.json(), ensure_ascii=False)


async def _show(described: Mapping[str, Any], data: Path, sign_in: str) -> None:
    """Perform one call through each connector, and print its envelope, its curl command, and all URLs."""
    async with aiohttp.ClientSession() as session:
        samples = sample_requests(described, CONNECTORS)
        # Concurrently, since some wait for a rate limit.
        calls = [asyncio.create_task(_call(session, described, sample)) for sample in samples.values()]
        for (connector, sample), call in zip(samples.items(), calls, strict=True):
            console.rule(Text(f"{connector}: {sample.title}"), align="left")
            console.print(JSON(printable_json(await call)), soft_wrap=True)
            console.print(f"\n{curl(described, sample)}\n", soft_wrap=True, style="cyan")
    console.rule("connect an account in the browser", align="left")
    for connector, url in described["connect_urls"].items():
        console.print(f"{connector:9} {url}", soft_wrap=True)
    console.rule("ready", align="left")
    command, folder = _command(), shlex.quote(str(data))
    console.print(
        f"gateway   {described['base_url']}  (reference: {described['base_url']}/docs)\n"
        f"console   {sign_in}  (valid once, for ten minutes; {command} console prints another)\n"
        f"sandbox   {described['sandbox_url']}\n"
        f'shell     eval "$({command} env --data {folder})"\n'
        f"history   {command} runs list --data {folder}\n"
        "stop      Ctrl-C",
        soft_wrap=True,
    )
