"""Lists that are made from declared records: their columns, and what the objects in them are called."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.http.console.request import ConsoleRequest, identifier_of
from connector_gateway.kit.fields import Field, fields_of
from connector_gateway.management.declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT

LISTS: Mapping[str, ManagementRoute] = {route.resource.name: route for route in MANAGEMENT if route.pages}
"""The route that lists each resource."""

TITLES = ("name", "url")
"""Fields by which people know an object, rather than by its identifier."""

COLUMNS = {
    "audit": ("at", "actor", "act", "object_id", "outcome", "details", "address", "sequence"),
    "connections": ("connection_id", "connector", "account_name", "status", "last_used_at", "workspace_id"),
    "keys": ("key_id", "ending", "scope", "calls_per_minute", "last_used_at", "expires_at", "workspace_id"),
    "webhooks": ("webhook_id", "status", "behind", "delivered_at", "failing_since", "workspace_id"),
}
"""Columns of lists that show something else to people than in a terminal."""


@dataclass(frozen=True, slots=True)
class Table:
    """Some objects of a resource, as a list."""

    resource: str
    identifier: str
    """The field that identifies an object, such as ``key_id``; empty for objects without a page."""

    columns: Sequence[Field]
    rows: Sequence[Any]
    names: Mapping[str, str]
    """Names of the objects that the rows refer to, by identifier."""

    def title(self, row: Any) -> str:
        """Return what people call an object; empty if only its identifier is known."""
        return title_of(row)

    def without(self, *names: str) -> "Table":
        """Return the same list without some columns."""
        columns = [column for column in self.columns if column.name not in names]
        return Table(self.resource, self.identifier, columns, self.rows, self.names)


def title_of(record: Any) -> str:
    """Return what people call an object; empty if only its identifier is known."""
    return next((str(value) for name in TITLES if (value := getattr(record, name, ""))), "")


async def table_of(visit: ConsoleRequest, resource: str, rows: Sequence[Any]) -> Table:
    """Return the list of *rows* of a resource."""
    shape = {field.name: field for field in fields_of(LISTS[resource].item)}
    columns = [shape[name] for name in COLUMNS.get(resource, LISTS[resource].resource.columns) if name in shape]
    identifier = identifier_of(LISTS[resource])
    shown = [column for column in columns if column.name != identifier and not (identifier and column.name in TITLES)]
    return Table(resource, identifier, shown, rows, await names_of(visit, list(shape.values()), rows))


async def names_of(visit: ConsoleRequest, fields: Sequence[Field], rows: Sequence[Any]) -> Mapping[str, str]:
    """Return the names of the objects that *rows* refer to, by identifier."""
    names: dict[str, str] = {}
    for field in fields:
        service: Any = getattr(visit.management, field.resource or "", None)
        if hasattr(service, "names"):
            wanted = {value for row in rows if (value := getattr(row, field.name))}
            names |= await service.names({one for value in wanted for one in _each(value)})
    return names


def _each(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value
