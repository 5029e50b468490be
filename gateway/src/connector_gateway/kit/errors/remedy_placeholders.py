"""Remedies: one text per error, in the terms of the surface that displays it.

A text contains references in braces: a management action (``{list_keys}``), an operation of the connector
(``{describe_board}``), a setting of the connector (``{CLIENT_ID}``), or else a parameter (``{create_missing}``).
A reference such as ``{list_databases|list_properties}`` is replaced by the names that the connector has.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from connector_gateway.kit.errors import GatewayError

if TYPE_CHECKING:
    from connector_gateway.kit.operation import AnyConnector, AnyOperation

SURFACES = ("http", "cli", "console", "mcp")
"""Surfaces with their own terms."""

REFERENCE = re.compile(r"{([a-zA-Z_|]+)}")

ADMINISTRATION = "the gateway's administration"
KEY_HEADER = "the header 'Authorization: Bearer <API key>'"

OPEN_HOOK, FORGET_HOOK = "'connector-gateway hooks open'", "'connector-gateway hooks forget'"

PHRASES: Mapping[str, tuple[str, str, str, str]] = {
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
"""Phrases for actions and things with a different name on each surface, in the order of ``SURFACES``."""


def resolve_remedy(
    error: GatewayError | type[GatewayError], surface: str = "http", connectors: "Sequence[AnyConnector]" = ()
) -> str:
    """Return the remedy of *error* in the terms of *surface*, or of HTTP if *surface* has none.

    *connectors* contains the connector of the call if there is one. A general explanation passes all connectors.
    """
    words = _SurfaceTerms(surface if surface in SURFACES else "http", connectors, getattr(error, "retry_after", None))
    text = REFERENCE.sub(lambda reference: words.resolve(reference[1].split("|")), error.remedy)
    if words.surface == "http" and words.single_connector and words.single_connector.name in error.prescribed:
        return f"{error.prescribed[words.single_connector.name]} {text}"
    return text


def general_remedy(error: type[GatewayError], connectors: "Iterable[AnyConnector]") -> str:
    """Return the remedy of *error* over HTTP for those of *connectors* with operations that can raise it."""
    all_connectors = list(connectors)
    concerned = [connector for connector in all_connectors if any(error in one.errors for one in connector.operations)]
    return resolve_remedy(error, "http", concerned or all_connectors)


class _SurfaceTerms:
    """The terms of one surface for the references of a remedy."""

    def __init__(self, surface: str, connectors: "Sequence[AnyConnector]", retry_after: int | None) -> None:
        self.surface = surface
        self.single_connector = connectors[0] if len(connectors) == 1 else None
        self._connectors = connectors
        self._retry_after = retry_after

    def resolve(self, names: Sequence[str]) -> str:
        """Return the text for a reference with alternative *names*."""
        if len(names) == 1 and (words := self._general_term(names[0])):
            return words
        operations = [words for name in names for words in self._operations(name)]
        return " or ".join(operations) or " or ".join(map(self._parameter, self._existing_parameters(names)))

    def _general_term(self, name: str) -> str | None:
        """Return the text for an action, setting or general term. None for operations and parameters."""
        if name in PHRASES:
            return PHRASES[name][SURFACES.index(self.surface)]
        if name.isupper():
            return f"GATEWAY_{self.single_connector.name.upper() if self.single_connector else '<CONNECTOR>'}_{name}"
        if name == "vendor":
            return self.single_connector.vendor if self.single_connector else "the vendor"
        return self._waiting_time() if name == "wait" else None

    def _waiting_time(self) -> str:
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

    def _existing_parameters(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of *names* that are parameters of the connector, or all of them if none is."""
        operations = [operation for connector in self._connectors for operation in connector.operations]
        return [name for name in names if any(name in each.parameters for each in operations)] or names

    def _parameter(self, name: str) -> str:
        return f"--{name.replace('_', '-')}" if self.surface == "cli" else name
