"""Filters of the run history: their allowed names. Unknown names are errors, since they would match nothing.

``RunStore.page`` applies the filters.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from connector_gateway.kit.errors import Detail, InvalidParameters, all_errors
from connector_gateway.kit.events import READ_EVENTS

if TYPE_CHECKING:
    from connector_gateway.kit.operation import AnyConnector

DOWNLOAD = "download"
"""The operation of downloads in the run history."""

OBSERVE = "observe_events"
"""The operation of polls in the run history."""

DELIVER = "deliver_events"
"""The operation of webhook deliveries in the run history."""

REQUEST = "request"
"""The operation of requests that callers write themselves, in the run history."""

WITHOUT_KEY = (DOWNLOAD, OBSERVE, DELIVER)
"""Operations in the run history that cannot be called with a key."""


def operation_names(connectors: "Mapping[str, AnyConnector]", connector: str | None = None) -> Collection[str]:
    """Return the operations that runs can have, or only those of *connector* if it is given."""
    selected = [each for name, each in connectors.items() if connector in {None, name}]
    return [*dict.fromkeys(operation.name for each in selected for operation in each.operations), REQUEST, *WITHOUT_KEY]


def event_types(connectors: "Mapping[str, AnyConnector]") -> Sequence[str]:
    """Return the event types that the connectors observe, which are the filters of their event operations."""
    operations = [operation for connector in connectors.values() for operation in connector.operations]
    filters = [each.parameters["type"].annotation for each in operations if each.name == READ_EVENTS]
    names = [name for annotation in filters for choice in get_args(annotation) for name in get_args(choice) or [choice]]
    return [name for name in names if isinstance(name, str)]


def check_filters(
    connectors: "Mapping[str, AnyConnector]",
    *,
    connector: str | None,
    operation: str | None = None,
    code: str | None = None,
) -> None:
    """Raise ``InvalidParameters`` for an unknown *connector*, *operation* or *code* of an error."""
    details = list(_find_unknown(connectors, connector, operation, code))
    if details:
        names = " and ".join(f"no {detail['parameter']} {detail['value']}" for detail in details)
        raise InvalidParameters(f"There is {names}.", *details)


def _find_unknown(
    connectors: "Mapping[str, AnyConnector]", connector: str | None, operation: str | None, code: str | None
) -> Iterator[Detail]:
    existing = connector if connector in connectors else None
    if connector is not None and existing is None:
        yield _detail("connector", connector, connectors)
    if operation is not None and operation not in (names := operation_names(connectors, existing)):
        yield _detail("operation", operation, names)
    if code is not None and code not in (codes := sorted(error.code for error in all_errors())):
        yield _detail("code", code, codes)


def _detail(parameter: str, value: str, allowed: Iterable[str]) -> Detail:
    return {"parameter": parameter, "message": f"There is no such {parameter}", "value": value, "allowed": [*allowed]}
