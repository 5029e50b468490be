"""Lists of declared records as tables, with the names of the objects that they refer to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.http.console.request import ConsoleRequest, identifier_field
from connector_gateway.http.pages.template_filters import console_path
from connector_gateway.management.field_descriptions import Field, describe_fields
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT

LISTS: Mapping[str, ManagementRoute] = {route.resource.name: route for route in MANAGEMENT if route.pages}
"""The route that lists each resource."""

TITLES = ("name", "url")
"""Fields that contain the name of an object for people."""


@dataclass(frozen=True, slots=True)
class Table:
    """A list of objects of a resource."""

    resource: str
    identifier: str
    """The field that identifies an object, such as ``key_id``. Empty for objects without a page."""

    columns: Sequence[Field]
    rows: Sequence[Any]
    names: Mapping[str, str]
    """Names of the objects that the rows refer to, by identifier."""

    def title(self, row: Any) -> str:
        """Return the display name of an object. Empty if it has none."""
        return display_title(row)

    def without(self, *names: str) -> "Table":
        """Return this list without the columns *names*."""
        columns = [column for column in self.columns if column.name not in names]
        return Table(self.resource, self.identifier, columns, self.rows, self.names)


def display_title(record: Any) -> str:
    """Return the display name of an object. Empty if it has none."""
    return next((str(value) for name in TITLES if (value := getattr(record, name, ""))), "")


async def build_table(
    request: ConsoleRequest, resource: str, rows: Sequence[Any], columns: Sequence[str] = ()
) -> Table:
    """Return the list of *rows* of a resource. Its *columns* are by default those of the command line."""
    shape = {field.name: field for field in describe_fields(LISTS[resource].item)}
    displayed = [shape[name] for name in columns or LISTS[resource].resource.columns if name in shape]
    identifier = identifier_field(LISTS[resource])
    visible = [
        column for column in displayed if column.name != identifier and not (identifier and column.name in TITLES)
    ]
    return Table(resource, identifier, visible, rows, await load_names(request, list(shape.values()), rows))


async def load_names(request: ConsoleRequest, fields: Sequence[Field], rows: Sequence[Any]) -> Mapping[str, str]:
    """Return the names of the objects that *rows* refer to, by identifier."""
    values = [value for field in fields for row in rows if (value := getattr(row, field.name, None))]
    identifiers = {one for value in values for one in _to_list(value) if isinstance(one, str)}
    names: dict[str, str] = {}
    for resource in ("connections", "workspaces"):
        own = {one for one in identifiers if console_path(one).startswith(f"/console/{resource}/")}
        names |= await getattr(request.management, resource).names(own)
    return names


def _to_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
