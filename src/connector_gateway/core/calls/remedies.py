"""Remedies: one text per error, in the words of the surface that shows it.

A text refers to things by names in braces: a management act (``{list_keys}``), an operation of the connector
(``{describe_board}``), a setting of the connector (``{CLIENT_ID}``), or else a parameter (``{create_missing}``).
Of ``{list_databases|list_properties}``, the names that the connector has are used.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from connector_gateway.kit.errors import GatewayError

if TYPE_CHECKING:
    from connector_gateway.kit.operation import AnyConnector, AnyOperation

SURFACES = ("http", "cli", "console", "mcp")
"""Surfaces that have words of their own."""

REFERENCE = re.compile(r"{([a-zA-Z_|]+)}")

ADMINISTRATION = "the gateway's administration"
KEY_HEADER = "the header 'Authorization: Bearer <API key>'"

OPEN_HOOK, FORGET_HOOK = "'connector-gateway hooks open'", "'connector-gateway hooks forget'"

ACTS: Mapping[str, tuple[str, str, str, str]] = {
    "create_key": ("POST /v1/keys", "'connector-gateway keys create'", "the page Keys", ADMINISTRATION),
    "list_keys": ("GET /v1/keys", "'connector-gateway keys list'", "the page Keys", ADMINISTRATION),
    "list_workspaces": (
        "GET /v1/workspaces",
        "'connector-gateway workspaces list'",
        "the page Workspaces",
        ADMINISTRATION,
    ),
    "list_operators": ("GET /v1/operators", "'connector-gateway operators list'", "the page Operators", ADMINISTRATION),
    "list_webhooks": ("GET /v1/webhooks", "'connector-gateway webhooks list'", "the page Webhooks", ADMINISTRATION),
    "list_connections": (
        "GET /v1/connections",
        "'connector-gateway connections list'",
        "the page Connections",
        "gateway://connections",
    ),
    "reconnect_connection": (
        "POST /v1/connections/{connection_id}/reconnect",
        "'connector-gateway connections reconnect'",
        "the connection's button Connect again",
        ADMINISTRATION,
    ),
    "list_runs": ("GET /v1/runs", "'connector-gateway runs list'", "the page Runs", ADMINISTRATION),
    "show_run": ("GET /v1/runs/{run_id}", "'connector-gateway runs show'", "the page Runs", "gateway://runs/{run_id}"),
    "open_hook": ("POST /v1/hooks/{connector}/window", OPEN_HOOK, OPEN_HOOK, ADMINISTRATION),
    "forget_hook": ("DELETE /v1/hooks/{connector}", FORGET_HOOK, FORGET_HOOK, ADMINISTRATION),
    "authorization": (KEY_HEADER, "an API key in GATEWAY_API_KEY", "an API key", KEY_HEADER),
    "routes": ("/docs or /openapi.json", "'connector-gateway --help'", "the menu", "the tools and resources"),
    "idempotency_key": ("idempotency key", "--idempotency-key", "idempotency key", "idempotency_key"),
    "operation": ("operation", "operation", "operation", "tool"),
    "parameters": ("parameters", "options", "fields", "arguments"),
}
"""Phrases for acts and things that are called differently on each surface, in the order of ``SURFACES``."""


def remedy_of(
    error: GatewayError | type[GatewayError], surface: str = "http", connectors: "Sequence[AnyConnector]" = ()
) -> str:
    """Return the remedy of *error* in the words of *surface*, which are those of HTTP if it has none of its own.

    *connectors* has the connector of the call, if there is one; all of them for an explanation of the error in general.
    """
    words = _Words(surface if surface in SURFACES else "http", connectors, getattr(error, "retry_after", None))
    text = REFERENCE.sub(lambda reference: words.named(reference[1].split("|")), error.remedy)
    if words.surface == "http" and words.only and words.only.name in error.prescribed:
        return f"{error.prescribed[words.only.name]} {text}"
    return text


def general_remedy(error: type[GatewayError], connectors: "Iterable[AnyConnector]") -> str:
    """Return the remedy of *error* over HTTP for whichever of *connectors* has operations that end with it."""
    every = list(connectors)
    own = [connector for connector in every if any(error in one.errors for one in connector.operations)]
    return remedy_of(error, "http", own or every)


class _Words:
    """The words of one surface for the references of a remedy."""

    def __init__(self, surface: str, connectors: "Sequence[AnyConnector]", retry_after: int | None) -> None:
        self.surface = surface
        self.only = connectors[0] if len(connectors) == 1 else None
        self._connectors = connectors
        self._retry_after = retry_after

    def named(self, names: Sequence[str]) -> str:
        """Return the words for a reference, which can have alternatives."""
        if len(names) == 1 and (words := self._general(names[0])):
            return words
        operations = [words for name in names for words in self._operations(name)]
        return " or ".join(operations) or " or ".join(map(self._parameter, self._known(names)))

    def _general(self, name: str) -> str | None:
        """Return the words for what no operation has; None for operations and parameters."""
        if name in ACTS:
            return ACTS[name][SURFACES.index(self.surface)]
        if name.isupper():
            return f"GATEWAY_{self.only.name.upper() if self.only else '<CONNECTOR>'}_{name}"
        if name == "vendor":
            return self.only.vendor if self.only else "the application"
        return self._wait() if name == "wait" else None

    def _wait(self) -> str:
        if self.surface == "http":
            return "the retry_after seconds given in the response body"
        return f"{self._retry_after or 'retry_after'} seconds"

    def _operations(self, name: str) -> Iterator[str]:
        for connector in self._connectors:
            for operation in connector.operations:
                if operation.name == name:
                    yield self._operation(connector.name, operation)

    def _operation(self, connector: str, operation: "AnyOperation") -> str:
        if self.surface == "http":
            return f"{operation.method} /v1/connectors/{connector}{operation.path}"
        if self.surface == "cli":
            return f"'connector-gateway call {connector} {operation.name.replace('_', '-')}'"
        return f"{connector}_{operation.name}"

    def _known(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of *names* that are parameters of the connector; all of them if none is."""
        operations = [operation for connector in self._connectors for operation in connector.operations]
        return [name for name in names if any(name in each.parameters for each in operations)] or names

    def _parameter(self, name: str) -> str:
        return f"--{name.replace('_', '-')}" if self.surface == "cli" else name
