"""What ``dev`` sets up in front of its sandbox: workspace, keys, connections, a description for tools, and a tour."""

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
from connector_gateway.cli.dev.command import HOST, DevInstallation
from connector_gateway.cli.dev.folder import DESCRIPTION, State, clear, keep, state_of, write
from connector_gateway.cli.dev.reset import reset_upstream_state
from connector_gateway.cli.dev.samples import SampleRequest, curl, sample_requests
from connector_gateway.cli.installation import dev_settings, environment
from connector_gateway.cli.output import console
from connector_gateway.cli.serve.server import GatewayServer, server
from connector_gateway.cli.settings_loader import settings_of
from connector_gateway.cli.terminal_text import printable_json
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.access.audited_actions import Actor, acting
from connector_gateway.core.upstream_files.remote_files import PublicFileFetcher
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.tasks import cancel_and_wait
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

V = TypeVar("V")

PROGRAM = "connector-gateway"

SELDOM_SECONDS = "300"
"""How often everything is polled: since deliveries come at once, rarely; the environment may say otherwise."""


async def serve_dev(place: DevInstallation, sandbox: subprocess.Popen[bytes], *, fresh: bool, quiet: bool) -> None:
    """Serve until told to stop, in front of *sandbox*, with everything ready to call.

    Earlier state is removed if the start is to be *fresh*, now that the sandbox has its ports.
    """
    lines = await _lines_of(sandbox)
    line = await lines.readline()
    if not line:
        raise click.ClickException("The sandbox did not start; the reason is above.")
    playing = from_json(line)
    _check_ports(place, playing)
    try:
        if fresh:
            clear(place.data)
        # Tools must not be led to a gateway that is not ready yet.
        (place.data / DESCRIPTION).unlink(missing_ok=True)
        await _serve(place, playing, lines, quiet=quiet)
    except (GatewayError, UnusableDatabase) as fault:
        raise click.ClickException(f"The gateway could not be set up: {fault}") from fault
    except PermissionError as fault:
        raise click.ClickException(
            f"{fault.filename} cannot be used by this user. Name another folder with --data."
        ) from fault


async def _lines_of(sandbox: subprocess.Popen[bytes]) -> asyncio.StreamReader:
    """Return what the sandbox prints."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sandbox.stdout)
    return lines


async def _serve(
    place: DevInstallation, playing: Mapping[str, Any], lines: asyncio.StreamReader, *, quiet: bool
) -> None:
    state = _state(place.data)
    own = dev_settings(place.data, state, {**playing, "base_url": place.base_url})
    settings = settings_of(_defaults(quiet=quiet) | environment() | own)
    goes_on = state.get("sandbox") == playing["state"]
    if not goes_on:
        await reset_upstream_state(Database(settings.database_url), SystemClock())
    hosts = [url for described in playing["upstreams"].values() for url in _addresses(described).values()]
    app = App(
        settings, files=PublicFileFetcher(settings.upstream_timeout_seconds, settings.max_file_bytes, trusted=hosts)
    )
    # Their requests would delay those of the tour.
    app.defer_polls()
    examples: dict[str, Mapping[str, Any]] = {}
    running = server(
        app.http(examples), HOST, place.port, settings.stop_seconds, log_level=settings.log_level, is_read=True
    )
    async with _heeding(lines, app), _serving(running):
        with acting(app.audit, Actor("cli", surface="cli")):
            state, links = await _set_up(app, state, playing, goes_on=goes_on)
            sign_in = "" if quiet else await app.sign_in_link(place.base_url)
        keep(place.data, state)
        described = _description(place, playing, state, links)
        examples |= {
            name: {"connection_id": connection_id, **described["examples"][name]}
            for name, connection_id in described["connections"].items()
        }
        write(place.data / DESCRIPTION, described)
        if not quiet:
            await _show(described, place.data, sign_in)
        app.start_polls()


@contextlib.asynccontextmanager
async def _heeding(lines: asyncio.StreamReader, app: App) -> AsyncIterator[None]:
    """Let the gateway send again whenever the sandbox prints that its applications have room."""

    async def heed_loop() -> None:
        while await lines.readline():
            with contextlib.suppress(GatewayError):
                await app.retry_upstream()

    heeding = asyncio.create_task(heed_loop())
    try:
        yield
    finally:
        await cancel_and_wait(heeding)


def _check_ports(place: DevInstallation, playing: Mapping[str, Any]) -> None:
    """Make sure that the sandbox has not taken the gateway's port."""
    addresses = [value for described in playing["upstreams"].values() for value in _addresses(described).values()]
    if place.port in {urlsplit(address).port for address in (playing["sandbox_url"], *addresses)}:
        raise click.ClickException(
            f"Port {place.port} of the gateway is one of the sandbox's, which begin with {place.sandbox_port}. "
            "Choose another --port or --sandbox-port."
        )


def _addresses(described: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in described.items() if name.endswith("_url")}


@contextlib.asynccontextmanager
async def _serving(running: GatewayServer) -> AsyncIterator[None]:
    """Serve while the block runs, and then until told to stop.

    An exception in the block ends the server first and is then raised, unless being told to stop has caused it.
    """
    serving = asyncio.create_task(running.serve())
    try:
        await _started(running, serving)
        yield
    except BaseException:
        told_to_stop, running.should_exit = running.should_exit, True
        await asyncio.wait({serving})
        if not told_to_stop:
            raise
    await serving


async def _started(running: GatewayServer, serving: asyncio.Task[None]) -> None:
    while not running.started:
        if serving.done():
            raise click.ClickException(f"The gateway did not start: {serving.exception()}")
        await asyncio.sleep(0.01)


def _state(data: Path) -> State:
    """Return the state that is kept in *data*, with new secrets if there is none."""
    state = state_of(data)
    if state is None:
        state = {"secret_key": secrets.token_urlsafe(32), "operator_token": f"op_{secrets.token_urlsafe(32)}"}
        keep(data, state)
    return state


def _defaults(*, quiet: bool) -> dict[str, str]:
    watched = [name for name, connector in CONNECTORS.items() if connector.observing is not None]
    seldom = {f"GATEWAY_{name.upper()}_WATCH_SECONDS": SELDOM_SECONDS for name in watched}
    return seldom | ({"GATEWAY_LOG_LEVEL": "error"} if quiet else {})


async def _set_up(
    app: App, state: State, sandbox: Mapping[str, Any], *, goes_on: bool
) -> tuple[State, Mapping[str, str]]:
    """Set up workspace, keys and connections, or those of the last run if they are still valid.

    Returns the new state, and the connect links.
    """
    if not await _is_valid(app, state):
        state = dict(state) | await _new_workspace(app)
    connections = await _connections(app, state, sandbox["upstreams"], goes_on=goes_on)
    invited = await _invitations(app, state)
    links = {name: made["connect_url"] for name, made in invited.items()}
    identifiers = {name: made["connection_id"] for name, made in invited.items()}
    changes = {"connections": connections, "invited": identifiers, "sandbox": sandbox["state"]}
    return dict(state) | changes, links


def _description(
    place: DevInstallation, sandbox: Mapping[str, Any], state: State, links: Mapping[str, str]
) -> dict[str, Any]:
    """Describe the installation for tools."""
    return {
        "base_url": place.base_url,
        "sandbox_url": sandbox["sandbox_url"],
        "operator_token": state["operator_token"],
        "workspace_id": state["workspace_id"],
        "keys": state["keys"],
        "connections": state["connections"],
        "connect_urls": links,
        "upstreams": sandbox["upstreams"],
        "clients": sandbox["clients"],
        "examples": {name: CONNECTORS[name].examples(given) for name, given in sandbox["examples"].items()},
    }


async def _new_workspace(app: App) -> dict[str, Any]:
    """A workspace with a key of each scope, and no connections yet."""
    workspace_id = (await app.workspaces.create("dev", "paid"))["workspace_id"]
    keys = {
        "read": (await app.keys.create(workspace_id, "read", name="dev read"))["key"],
        "write": (await app.keys.create(workspace_id, "read_write", name="dev write"))["key"],
    }
    return {"workspace_id": workspace_id, "keys": keys, "connections": {}}


async def _connections(
    app: App, state: State, upstreams: Mapping[str, Mapping[str, str]], *, goes_on: bool
) -> dict[str, str]:
    """A connection to each emulator, by connector."""
    workspace_id, before = state["workspace_id"], state["connections"]
    return await _together(
        {
            name: _connection(app, workspace_id, name, described, before.get(name), goes_on=goes_on)
            for name, described in upstreams.items()
            if name in CONNECTORS
        }
    )


async def _invitations(app: App, state: State) -> dict[str, dict[str, Any]]:
    """A link for each connector whose accounts are connected in a browser."""
    workspace_id, before = state["workspace_id"], state.get("invited", {})
    return await _together(
        {
            name: _invitation(app, workspace_id, name, before.get(name))
            for name, connector in CONNECTORS.items()
            if connector.oauth is not None
        }
    )


async def _together(made: Mapping[str, Awaitable[V]]) -> dict[str, V]:
    """The results by their names; what is made at the same time shares a commit."""
    return dict(zip(made, await asyncio.gather(*made.values()), strict=True))


async def _is_valid(app: App, state: State) -> bool:
    """Return True if the keys of the last run are still valid in this database."""
    try:
        for key in state["keys"].values():
            await app.keys.authenticate(f"Bearer {key}")
    except (KeyError, GatewayError):
        return False
    return True


async def _connection(
    app: App, workspace_id: Any, connector: str, described: Mapping[str, str], kept: str | None, *, goes_on: bool
) -> str:
    """A connection to an emulator: the one of the last run, with the credentials of this one, or a new one.

    An emulator that *goes_on* takes the credentials of the last run, so that the connection stays as it is.
    """
    if kept is not None and goes_on and await app.connections.find(kept) is not None:
        return kept
    credentials = {name: value for name, value in described.items() if not name.endswith("_url")}
    if kept is not None:
        with contextlib.suppress(GatewayError):
            await app.connections.change(kept, credentials=credentials)
            return kept
    created = await app.connections.create(workspace_id, connector, credentials, name=f"{connector} sandbox")
    return str(created["connection_id"])


async def _invitation(app: App, workspace_id: Any, connector: str, kept: str | None) -> dict[str, Any]:
    """A link by which an account of the emulator is connected in a browser, to the same connection each time."""
    if kept is not None:
        with contextlib.suppress(GatewayError):
            return await app.connecting.reconnect(kept, allow_other_account=True)
    return await app.connecting.create(workspace_id, connector, None, name=f"{connector} in the browser")


def _command() -> str:
    """How this program is called from here: by its name alone where the shell would find just this one."""
    script = Path(sys.executable).with_name(PROGRAM)
    found = shutil.which(PROGRAM)
    if not script.exists() or (found is not None and script.samefile(found)):
        return PROGRAM
    return shlex.quote(os.path.relpath(script))


async def _answer(session: aiohttp.ClientSession, described: Mapping[str, Any], stop: SampleRequest) -> str:
    """The envelope of one call of the tour, as JSON."""
    url = described["base_url"] + stop.path
    headers = {"Authorization": f"Bearer {described['keys']['write']}", **stop.headers}
    async with session.request(stop.method, url, params=stop.query, json=stop.body, headers=headers) as response:
        return json.dumps(await response.json(), ensure_ascii=False)


async def _show(described: Mapping[str, Any], data: Path, sign_in: str) -> None:
    """Make one call through each connector, and print its envelope, how to call it again, and where all there is."""
    async with aiohttp.ClientSession() as session:
        tour = sample_requests(described, CONNECTORS)
        # All at the same time, since some wait for their application's pace.
        calls = [asyncio.create_task(_answer(session, described, stop)) for stop in tour.values()]
        for (connector, stop), call in zip(tour.items(), calls, strict=True):
            console.rule(Text(f"{connector}: {stop.title}"), align="left")
            console.print(JSON(printable_json(await call)), soft_wrap=True)
            console.print(f"\n{curl(described, stop)}\n", soft_wrap=True, style="cyan")
    console.rule("connect an account in the browser", align="left")
    for connector, url in described["connect_urls"].items():
        console.print(f"{connector:9} {url}", soft_wrap=True)
    console.rule("ready", align="left")
    command, folder = _command(), shlex.quote(str(data))
    console.print(
        f"gateway   {described['base_url']}  (reference: {described['base_url']}/docs)\n"
        f"console   {sign_in}  (signs in once, within ten minutes; {command} console prints another)\n"
        f"sandbox   {described['sandbox_url']}\n"
        f'shell     eval "$({command} env --data {folder})"\n'
        f"history   {command} runs list --data {folder}\n"
        "stop      Ctrl-C",
        soft_wrap=True,
    )
