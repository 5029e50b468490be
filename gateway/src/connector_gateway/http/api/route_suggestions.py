"""Errors for unknown paths, with the available routes and the most similar one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from connector_gateway.core.error_serialization import truncate
from connector_gateway.http.api.routes import ROOT
from connector_gateway.kit.errors import RouteNotFound
from connector_gateway.kit.errors.suggestions import MIN_SIMILARITY, SUGGESTION_KEY
from connector_gateway.kit.operation import AnyConnector

MAX_COMPARED = 120
"""The maximum length of a path that is compared with the existing ones, in characters."""

Route = tuple[str, str]
"""A method and a path with parameters in braces."""


class RouteSuggestions:
    """All routes, as suggestions for unknown paths."""

    def __init__(self, connectors: Iterable[AnyConnector], others: Iterable[Route]) -> None:
        self._by_connector = {connector.name: list_routes(connector) for connector in connectors}
        self._others = list(others)

    def not_found_error(self, path: str) -> RouteNotFound:
        """Return the error for the unknown *path*."""
        if len(path) > MAX_COMPARED:
            return RouteNotFound("This route does not exist.")
        if "://" in path.removeprefix(ROOT):
            return RouteNotFound("This route does not exist. A URL within a path must be percent-encoded.")
        if not f"{path}/".startswith(ROOT):
            return self._outside_connectors(path)
        connector, _, rest = path[len(ROOT) :].partition("/")
        routes = self._by_connector.get(connector)
        if routes is None:
            return self._connector_not_found(connector)
        return _operation_not_found(connector, path, routes) if rest else _operation_missing(connector, routes)

    def _connector_not_found(self, connector: str) -> RouteNotFound:
        if not connector:
            return RouteNotFound(
                "The path ends before the connector.",
                {"parameter": "connector", "allowed": list(self._by_connector)},
            )
        return RouteNotFound(
            f'There is no connector "{truncate(connector)}".',
            {"parameter": "connector", "value": connector, "allowed": list(self._by_connector)},
        )

    def _outside_connectors(self, path: str) -> RouteNotFound:
        routes = [*self._others, *(route for routes in self._by_connector.values() for route in routes)]
        return RouteNotFound("This route does not exist.", *_details(path, routes, include_all=False))


def list_routes(connector: AnyConnector) -> Sequence[Route]:
    """Return the routes of a connector's operations."""
    return [(operation.method, f"{ROOT}{connector.name}{operation.path}") for operation in connector.operations]


def _operation_not_found(connector: str, path: str, routes: Sequence[Route]) -> RouteNotFound:
    return RouteNotFound(f"The connector {connector} does not have this route.", *_details(path, routes))


def _operation_missing(connector: str, routes: Sequence[Route]) -> RouteNotFound:
    allowed = [f"{method} {template}" for method, template in routes]
    return RouteNotFound(f"The path ends after the connector {connector}.", {"allowed": allowed})


def _details(path: str, routes: Sequence[Route], *, include_all: bool = True) -> Iterable[Mapping[str, Any]]:
    """Return the error details for *path*: the most similar of *routes*, and if *include_all*, all of them."""
    methods = defaultdict(list)
    for method, template in routes:
        methods[template].append(method)
    descriptions = {template: f"{' or '.join(sorted(methods[template]))} {template}" for template in methods}
    nearest = max(descriptions, key=lambda template: _similarity(template, path))
    details: dict[str, Any] = (
        {SUGGESTION_KEY: descriptions[nearest]} if _similarity(nearest, path) >= MIN_SIMILARITY else {}
    )
    if include_all:
        details["allowed"] = list(descriptions.values())
    return [details] if details else []


def _similarity(template: str, path: str) -> float:
    """Return the similarity of *template* and *path*, from 0 to 1, ignoring parameters."""
    parts, segments = template.split("/"), path.rstrip("/").split("/")
    if len(parts) == len(segments):
        parameters = [index for index, part in enumerate(parts) if part.startswith("{")]
        for index in reversed(parameters):
            del parts[index], segments[index]
    matcher = SequenceMatcher(a="/".join(parts), b="/".join(segments), autojunk=False)
    return 0.0 if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < MIN_SIMILARITY else matcher.ratio()
