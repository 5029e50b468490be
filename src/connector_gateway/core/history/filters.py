"""Names that requests are filtered by: unknown ones are errors, since they would match nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from connector_gateway.core.calls.error_details import truncate
from connector_gateway.kit.errors import Detail, InvalidParameters, WorkspaceNotFound, all_errors

if TYPE_CHECKING:
    from connector_gateway.kit.operation import AnyConnector

DOWNLOAD = "download"
"""What the opening of a download link is called in the history."""

OBSERVE = "observe_events"
"""What polls are called in the history."""

DELIVER = "deliver_events"
"""What deliveries to webhooks are called in the history."""

READ_EVENTS = "read_events"
"""The operation by which connectors tell events."""

OF_ITSELF = (DOWNLOAD, OBSERVE, DELIVER)
"""What has runs and is no operation, as nobody calls it with a key."""


def operation_names(connectors: "Mapping[str, AnyConnector]", connector: str | None = None) -> Collection[str]:
    """What runs may be runs of; of one *connector* where that is given."""
    rooms = [room for name, room in connectors.items() if connector in {None, name}]
    return [*dict.fromkeys(operation.name for room in rooms for operation in room.operations), *OF_ITSELF]


def event_types(connectors: "Mapping[str, AnyConnector]") -> Sequence[str]:
    """The types of events that the connectors observe, by which their operations for events may be asked."""
    operations = [operation for room in connectors.values() for operation in room.operations]
    filters = [one.parameters["type"].annotation for one in operations if one.name == READ_EVENTS]
    named = [name for hint in filters for choice in get_args(hint) for name in get_args(choice) or [choice]]
    return [name for name in named if isinstance(name, str)]


def require_known(
    connectors: "Mapping[str, AnyConnector]",
    *,
    connector: str | None,
    operation: str | None = None,
    code: str | None = None,
) -> None:
    """Raise ``InvalidParameters`` for an unknown *connector*, *operation* or *code* of an error."""
    faults = list(_unknown(connectors, connector, operation, code))
    if faults:
        names = " and ".join(f"no {fault['parameter']} {fault['value']}" for fault in faults)
        raise InvalidParameters(f"There is {names}.", *faults)


def _unknown(
    connectors: "Mapping[str, AnyConnector]", connector: str | None, operation: str | None, code: str | None
) -> Iterator[Detail]:
    known = connector if connector in connectors else None
    if connector is not None and known is None:
        yield _fault("connector", connector, connectors)
    if operation is not None and operation not in (names := operation_names(connectors, known)):
        yield _fault("operation", operation, names)
    if code is not None and code not in (codes := sorted(error.code for error in all_errors())):
        yield _fault("code", code, codes)


def _fault(parameter: str, value: str, allowed: Iterable[str]) -> Detail:
    return {"parameter": parameter, "message": f"There is no such {parameter}", "value": value, "allowed": [*allowed]}


def workspace_not_found(workspace_id: str) -> WorkspaceNotFound:
    """Return the error for a workspace that does not exist, or is not the caller's."""
    return WorkspaceNotFound(
        f"There is no workspace {truncate(workspace_id)}.", {"parameter": "workspace_id", "value": workspace_id}
    )
