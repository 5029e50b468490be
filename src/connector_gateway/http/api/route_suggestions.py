"""What is said of an address at which there is nothing: what is there, and what was probably meant."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from connector_gateway.core.calls.error_details import truncate
from connector_gateway.http.api.routes import ROOT
from connector_gateway.kit.errors import RouteNotFound
from connector_gateway.kit.errors.suggestions import LIKENESS, MEANT
from connector_gateway.kit.operation import AnyConnector

MAX_COMPARED = 120
"""Characters of an address that is compared with those that exist."""

Route = tuple[str, str]
"""Method and path, whose parameters stand in braces."""


class RouteSuggestions:
    """Every address there is."""

    def __init__(self, connectors: Iterable[AnyConnector], others: Iterable[Route]) -> None:
        self._of = {connector.name: routes_of(connector) for connector in connectors}
        self._others = list(others)

    def not_found_error(self, path: str) -> RouteNotFound:
        """The refusal of a request for *path*, which does not exist."""
        if len(path) > MAX_COMPARED:
            return RouteNotFound("There is nothing at this address.")
        if "://" in path.removeprefix(ROOT):
            return RouteNotFound("There is nothing at this address: an address within another must be percent-encoded.")
        if not f"{path}/".startswith(ROOT):
            return self._elsewhere(path)
        connector, _, rest = path[len(ROOT) :].partition("/")
        routes = self._of.get(connector)
        if routes is None:
            return self._no_connector(connector)
        return _no_operation(connector, path, routes) if rest else _operation_missing(connector, routes)

    def _no_connector(self, connector: str) -> RouteNotFound:
        if not connector:
            return RouteNotFound(
                "The address ends before the connector.", {"parameter": "connector", "allowed": list(self._of)}
            )
        return RouteNotFound(
            f'There is no connector "{truncate(connector)}".',
            {"parameter": "connector", "value": connector, "allowed": list(self._of)},
        )

    def _elsewhere(self, path: str) -> RouteNotFound:
        routes = [*self._others, *(route for routes in self._of.values() for route in routes)]
        return RouteNotFound("There is nothing at this address.", *_details(path, routes, listed=False))


def routes_of(connector: AnyConnector) -> Sequence[Route]:
    """The routes of a connector's operations."""
    return [(operation.method, f"{ROOT}{connector.name}{operation.path}") for operation in connector.operations]


def _no_operation(connector: str, path: str, routes: Sequence[Route]) -> RouteNotFound:
    return RouteNotFound(f"The connector {connector} has nothing at this address.", *_details(path, routes))


def _operation_missing(connector: str, routes: Sequence[Route]) -> RouteNotFound:
    allowed = [f"{method} {template}" for method, template in routes]
    return RouteNotFound(f"The address ends after the connector {connector}.", {"allowed": allowed})


def _details(path: str, routes: Sequence[Route], *, listed: bool = True) -> Iterable[Mapping[str, Any]]:
    """What is told of *path*: which of *routes* was probably meant, and where they are few all of them."""
    methods = defaultdict(list)
    for method, template in routes:
        methods[template].append(method)
    told = {template: f"{' or '.join(sorted(methods[template]))} {template}" for template in methods}
    found = max(told, key=lambda template: _likeness(template, path))
    details: dict[str, Any] = {MEANT: told[found]} if _likeness(found, path) >= LIKENESS else {}
    if listed:
        details["allowed"] = list(told.values())
    return [details] if details else []


def _likeness(template: str, path: str) -> float:
    """How much of *template* and *path* is the same; what stands in the place of a parameter says nothing."""
    parts, given = template.split("/"), path.rstrip("/").split("/")
    if len(parts) == len(given):
        open_places = [place for place, part in enumerate(parts) if part.startswith("{")]
        for place in reversed(open_places):
            del parts[place], given[place]
    matcher = SequenceMatcher(a="/".join(parts), b="/".join(given), autojunk=False)
    return 0.0 if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < LIKENESS else matcher.ratio()
