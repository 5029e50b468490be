"""The connection of a call: an identifier, a name, or the only connection of the connector."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from connector_gateway.cli.gateway_client import send
from connector_gateway.cli.gateway_url_and_key import GatewayTarget
from connector_gateway.cli.output import exit_with_error
from connector_gateway.kit.errors.suggestions import closest_match

PREFIX = "conn_"
MAX_LISTED = 10
NAMES = ("name", "account_name")
"""Fields that contain the name of a connection for people."""


async def choose_connection(target: GatewayTarget, connector: str, requested: str | None) -> str:
    """Return the ID of the *requested* connection, or of the only one. Raises ``ClickException`` if ambiguous."""
    if requested is None and connector in target.connections:
        return target.connections[connector]
    if requested is not None and requested.startswith(PREFIX):
        return requested
    usable = await list_usable(target, connector)
    matches = usable if requested is None else _find_by_name(usable, requested)
    if len(matches) == 1:
        return str(matches[0]["connection_id"])
    raise click.ClickException(_ambiguity_message(connector, requested, usable, matches))


async def list_usable(target: GatewayTarget, connector: str) -> Sequence[Mapping[str, Any]]:
    """Return the connections that the key can use, without those that have no account yet."""
    values: dict[str, Any] = {"connector": connector, "limit": 200}
    connections: list[Mapping[str, Any]] = []
    while True:
        body = (await send(target, "GET", "/v1/connections", values)).body
        if "error" in body:
            exit_with_error(body, json=False)
        connections += [one for one in body["data"] if one["status"] != "pending"]
        if body["next_cursor"] is None:
            return connections
        values["cursor"] = body["next_cursor"]


def _find_by_name(connections: Sequence[Mapping[str, Any]], name: str) -> Sequence[Mapping[str, Any]]:
    """Return the connections with *name*, or else those whose vendor account has it."""
    return next((matches for field in NAMES if (matches := [one for one in connections if one[field] == name])), [])


def _ambiguity_message(
    connector: str,
    requested: str | None,
    usable: Sequence[Mapping[str, Any]],
    matches: Sequence[Mapping[str, Any]],
) -> str:
    if not usable:
        return f"There is no connection of {connector} yet. Create one with 'connector-gateway connections connect'."
    if requested is None or matches:
        called = f" named {requested!r}" if requested else ""
        choices = _format_list(matches)
        return f"There are several connections of {connector}{called}. Select one with --connection:\n{choices}"
    suggestion = closest_match(requested, [one[field] for one in usable for field in NAMES if one[field]])
    hint = f" Did you mean {suggestion!r}?" if suggestion else ""
    return f"There is no connection of {connector} named {requested!r}.{hint} Available:\n{_format_list(usable)}"


def _format_list(connections: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"  {one['connection_id']}  {one['name'] or one['account_name'] or ''}" for one in connections[:MAX_LISTED]
    ]
    more = len(connections) - MAX_LISTED
    return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])
