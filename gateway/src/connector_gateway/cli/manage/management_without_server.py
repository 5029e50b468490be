"""Management actions on the installation's own database, for which the gateway need not run."""

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from connector_gateway.app import App
from connector_gateway.cli.dev.data_folder import DEFAULT_FOLDER, is_running, not_running_message
from connector_gateway.cli.installation_settings import database_url, load_settings, select_settings
from connector_gateway.cli.output import exit_with_error, show
from connector_gateway.core.access.operators import BUILT_IN
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.calls.response_envelope import error_payload
from connector_gateway.kit.errors import GatewayError, StorageUnavailable, UpstreamUnavailable
from connector_gateway.kit.models import Page, Params
from connector_gateway.management.request import ManagementRequest
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

T = TypeVar("T")


def run_management(data: Path | None, work: Callable[[App], Awaitable[T]], *, json: bool) -> T:
    """Return the result of *work* on the installation. An error is printed and ends the command."""
    settings = {"GATEWAY_OPERATOR_TOKEN": "not needed by commands"} | select_settings(data)
    app = App(load_settings(settings))

    async def run() -> T:
        async with app.open():
            with act_as(app.audit, Actor("cli", surface="cli", details={"user": _user()})):
                return await work(app)

    try:
        return asyncio.run(run())
    except UnusableDatabase as error:
        raise click.ClickException(str(error)) from error
    except GatewayError as error:
        folder = data or DEFAULT_FOLDER
        is_dev = settings.get("GATEWAY_DATABASE_URL") == database_url(folder)
        if isinstance(error, UpstreamUnavailable) and is_dev and not is_running(folder):
            error.remedy = not_running_message(folder)
        exit_with_error(_body(error), json=json)


def run_and_print(
    data: Path | None, work: Callable[[App], Awaitable[Any]], *, json: bool, columns: tuple[str, ...] = ()
) -> None:
    """Run *work* on the installation and print its result."""
    show(run_management(data, work, json=json), json=json, columns=columns)


def perform_route(
    data: Path | None, route: ManagementRoute, params: Params, *, limit: int, cursor: str | None, json: bool
) -> Any:
    """Return the result of *route*. Of a list, return up to *limit* items from *cursor*, and the next position."""
    return run_management(data, lambda app: run_route(app, route, params, limit=limit, cursor=cursor), json=json)


def find_connector(data: Path | None, connection_id: str, *, json: bool) -> str:
    """Return the connector of a connection."""
    connection = run_management(data, lambda app: app.connections.show(connection_id), json=json)
    return str(connection["connector"])


async def run_route(
    app: App, route: ManagementRoute, params: Params, *, limit: int = 0, cursor: str | None = None
) -> Any:
    """Return the result of *route*, as ``perform_route`` does."""
    if not route.pages:
        return await _perform(app, route, params, None)
    items: list[Any] = []
    while True:
        page = await _perform(app, route, params.model_copy(update={"limit": limit - len(items)}), cursor)
        items += page.items
        cursor = page.position["before"] if page.position else None
        if cursor is None or len(items) >= limit:
            return Page(items=items, position=page.position)


def _perform(app: App, route: ManagementRoute, params: Params, cursor: str | None) -> Awaitable[Any]:
    position = None if cursor is None else {"before": cursor}
    return route.handler(ManagementRequest(app.management, None, BUILT_IN, position, surface="cli"), params)


def _body(error: GatewayError) -> Mapping[str, Any]:
    """Return the response for an error, with the reason if the database is unavailable."""
    public = error_payload(error, "cli")
    why = f" {error.private}" if isinstance(error, StorageUnavailable) and error.private else ""
    retry = {} if error.retry_after is None else {"retry_after": error.retry_after}
    return {"run_id": None, "error": {**public, "message": f"{public['message']}{why}"}, **retry}


def _user() -> str:
    """Return the name of the operating-system user, or their ID if they have no name."""
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return str(os.getuid())
