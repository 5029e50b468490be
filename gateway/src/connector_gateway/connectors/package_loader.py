"""Loading of connectors from entry points: the gateway's own, and those of installed packages.

::

    [project.entry-points."connector_gateway.connectors"]
    links = "acme_links:LINKS"

A package that cannot be served never affects the others. The reason is one sentence, which ``serve`` logs and
``connector-gateway connectors list`` displays.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any

from connector_gateway import __version__
from connector_gateway.kit import VERSION
from connector_gateway.kit.events import READ_EVENTS
from connector_gateway.kit.operation import AnyConnector, AnyOperation, Connector

GROUP = "connector_gateway.connectors"
"""The entry points of connectors, each named after its connector."""

IMPORT_SECONDS = 10.0
"""The time limit of an import, so that a package that waits for something cannot prevent the start."""

NAME = re.compile("[a-z][a-z0-9]{1,19}")
"""A connector's name, which occurs in paths, settings, commands and names of tools."""

PATH = re.compile(r"(/([A-Za-z0-9_-][A-Za-z0-9_.-]*|{\w+}))+")
PARAMETER = re.compile(r"{\w+}")

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

RESERVED_OPERATIONS = frozenset({"request", "download", "observe_events", "deliver_events"})
"""Operations of every connector in the run history."""

OWN_SETTINGS = frozenset(
    {
        *("access", "admin", "agent", "api", "base", "connectors", "console", "database", "decrypt"),
        *("download", "env", "forwarded", "grace", "keep", "link", "log", "max", "metrics", "operator", "port"),
        *("private", "queue", "quota", "retire", "run", "secret", "service", "shared", "stop", "storage", "traces"),
        *("trusted", "upstream", "url", "watch", "workers"),
    }
)
"""The first words of the gateway's settings, and of Kubernetes' variables for a service named ``gateway``."""


class InvalidConnector(ValueError):
    """A connector cannot be served. The message is the reason, without its subject."""


@dataclass(frozen=True)
class InstalledConnector:
    """A connector that was found, whether it can be served or not."""

    name: str
    origin: str
    """The package that provides it."""

    version: str
    connector: AnyConnector | None = None
    problem: str = ""
    """The sentence that explains why it is not served. Empty if it is."""


@dataclass
class InstalledConnectors:
    """All connectors that were found, in the order in which they are served."""

    found: list[InstalledConnector] = field(default_factory=list)

    @property
    def served(self) -> Mapping[str, AnyConnector]:
        """The connectors to serve, by name."""
        return {one.name: one.connector for one in self.found if one.connector is not None}

    @property
    def rejected(self) -> Mapping[str, str]:
        """The reasons why connectors are not served, by name."""
        return {one.name: one.problem for one in self.found if one.problem and one.name not in self.served}

    @property
    def problems(self) -> Sequence[str]:
        """A sentence for each connector that is not served."""
        return [one.problem for one in self.found if one.problem]

    def add(self, entry_point: EntryPoint, *, built_in: bool = False) -> None:
        """Load the connector of *entry_point*, or record why that is impossible."""
        package = entry_point.dist
        origin, version = (package.name, package.version) if package else ("connector-gateway", __version__)
        try:
            connector = load(entry_point, self.served, built_in=built_in)
        except InvalidConnector as error:
            problem = f"The connector {entry_point.name} of the package {origin} {version} is not served: {error}."
            self.found.append(InstalledConnector(entry_point.name, origin, version, problem=problem))
        else:
            self.found.append(InstalledConnector(entry_point.name, origin, version, connector))


def load(entry_point: EntryPoint, others: Mapping[str, AnyConnector], *, built_in: bool = False) -> AnyConnector:
    """Return the connector of *entry_point*. Raises ``InvalidConnector`` if it cannot be served beside *others*."""
    if built_in:
        connector: AnyConnector = entry_point.load()
        return connector
    if entry_point.name in others:
        raise InvalidConnector("another connector has this name")
    declared = _import_within_limit(entry_point)
    if not isinstance(declared, Connector):
        raise InvalidConnector(f"{entry_point.value} is not a Connector")
    if declared.kit_version is None:
        raise InvalidConnector(f"it does not state its kit_version, which is {VERSION} in this gateway")
    if declared.kit_version != VERSION:
        raise InvalidConnector(f"it was written for kit version {declared.kit_version}, and this gateway has {VERSION}")
    problem = next(_find_problems(entry_point.name, declared, others.values()), None)
    if problem:
        raise InvalidConnector(problem)
    return declared


class _Import(threading.Thread):
    """The import of an entry point. A daemon thread does not keep the process from ending."""

    def __init__(self, entry_point: EntryPoint) -> None:
        super().__init__(name=f"import of {entry_point.value}", daemon=True)
        self._entry_point = entry_point
        self.declared: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Load the entry point."""
        with self:
            self.declared = self._entry_point.load()

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        """Keep any error for the main thread, even one that would end the process."""
        self.error = error
        return True


def _import_within_limit(entry_point: EntryPoint) -> Any:
    """Return the object of *entry_point*. Raises ``InvalidConnector`` if its import fails or takes too long."""
    thread = _Import(entry_point)
    thread.start()
    thread.join(IMPORT_SECONDS)
    if thread.is_alive():
        raise InvalidConnector(f"its import did not end within {IMPORT_SECONDS:g} seconds")
    if thread.error is not None:
        reason = " ".join(str(thread.error).split()).rstrip(".")
        kind = type(thread.error).__name__
        raise InvalidConnector(f"its import raised {kind}{f' ({reason})' if reason else ''}") from thread.error
    return thread.declared


def find_name_problem(name: str) -> str | None:
    """Return the reason why no connector can have this *name*, or None."""
    if not NAME.fullmatch(name):
        return "its name should be a lower-case letter followed by 1 to 19 lower-case letters and digits"
    if name in OWN_SETTINGS:
        return f"settings of the gateway itself begin with GATEWAY_{name.upper()}"
    return None


def _find_problems(name: str, connector: AnyConnector, others: Iterable[AnyConnector]) -> Iterator[str]:
    """Yield the reasons why *connector* cannot be served as *name*."""
    if connector.name != name:
        yield f"its entry point is named {name}, and its Connector {connector.name}"
    if problem := find_name_problem(name):
        yield problem
    if next(iter(connector.base_urls), None) != "base":
        yield "the first of its base_urls should be base"
    if not connector.budgets:
        yield "it declares no budget"
    if not connector.operations:
        yield "it declares no operation"
    if connector.sample is not None and connector.sample.operation not in connector.operations:
        yield "its sample calls an operation that it does not declare"
    yield from _find_operation_problems(connector.operations)
    yield from _find_event_problems(connector)
    yield from _find_model_problems(connector.operations, others)


def _find_operation_problems(operations: Sequence[AnyOperation]) -> Iterator[str]:
    for operation in operations:
        if operation.method not in METHODS or not PATH.fullmatch(operation.path):
            yield f"the route of {operation.name}, {operation.method} {operation.path}, is invalid"
        if operation.name in RESERVED_OPERATIONS:
            yield f"the name {operation.name} is reserved"
        if missing := operation.path_names - operation.parameters.keys():
            yield f"{operation.name} has no parameter {min(missing)}, which its path names"
    # Parameters of any name are equal: only one of two such routes could be reached.
    routes = Counter(f"{one.method} {PARAMETER.sub('{}', one.path)}" for one in operations)
    names = Counter(one.name for one in operations)
    yield from (f"{count} operations have the route {route}" for route, count in routes.items() if count > 1)
    yield from (f"{count} operations are named {name}" for name, count in names.items() if count > 1)


def _find_event_problems(connector: AnyConnector) -> Iterator[str]:
    reading = [one for one in connector.operations if one.name == READ_EVENTS]
    if connector.event_source is not None and not reading:
        yield f"it observes events, but has no operation {READ_EVENTS}"
    if reading and "type" not in reading[0].parameters:
        yield f"{READ_EVENTS} has no parameter type, a Literal of the types of events or None"


def _find_model_problems(operations: Sequence[AnyOperation], others: Iterable[AnyConnector]) -> Iterator[str]:
    """Yield models whose names other connectors use for other models. OpenAPI has one namespace."""
    used = {
        model.__name__: (model, other.name) for other in others for one in other.operations for model in _models(one)
    }
    for model in (model for one in operations for model in _models(one)):
        same_name, owner = used.get(model.__name__, (model, ""))
        if same_name is not model:
            yield f"its model {model.__name__} has the name of a model of {owner}"


def _models(operation: AnyOperation) -> Iterator[type[Any]]:
    yield operation.params
    yield operation.item
