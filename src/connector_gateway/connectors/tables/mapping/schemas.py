"""Tables with their fields and views."""

from collections.abc import Iterable, Sequence

from connector_gateway.connectors.tables import wire
from connector_gateway.connectors.tables.models import Table, TableField
from connector_gateway.kit.errors import TableNotFound, UpstreamUnexpected, ViewNotFound
from connector_gateway.kit.errors.suggestions import nearest_first


def tables(found: Iterable[wire.Table], *, include_views: bool) -> list[Table]:
    """Return the descriptions of tables."""
    return [table(one, include_views=include_views) for one in found]


def table(table: wire.Table, *, include_views: bool) -> Table:
    """Return the description of a table."""
    return Table(
        table=table.name,
        table_id=table.id,
        primary_field=_primary_field(table),
        fields=[TableField(name=field.name, type=field.type) for field in table.fields],
        views=[view.name for view in table.views] if include_views else None,
    )


def _primary_field(table: wire.Table) -> str:
    found = next((field.name for field in table.fields if field.id == table.primary_field_id), None)
    if found is None:
        raise UpstreamUnexpected("The application names a primary field that the table lacks.", {"place": table.id})
    return found


def find_table(tables: Sequence[wire.Table], wanted: str) -> wire.Table:
    """Return the table with that identifier, or else with exactly that name."""
    by_id = (table for table in tables if table.id == wanted)
    by_name = (table for table in tables if table.name == wanted)
    found = next(by_id, None) or next(by_name, None)
    if found is None:
        raise TableNotFound(
            f'The base has no table "{wanted}".',
            {"parameter": "table", "value": wanted, "allowed": nearest_first(wanted, [table.name for table in tables])},
        )
    return found


def view_id(table: wire.Table, wanted: str | None) -> str | None:
    """Return the identifier of the view with that identifier or name, or None for no view."""
    if wanted is None:
        return None
    by_id = (view for view in table.views if view.id == wanted)
    by_name = (view for view in table.views if view.name == wanted)
    found = next(by_id, None) or next(by_name, None)
    if found is None:
        raise ViewNotFound(
            f'Table "{table.name}" has no view "{wanted}".',
            {
                "parameter": "view",
                "value": wanted,
                "allowed": nearest_first(wanted, [view.name for view in table.views]),
            },
        )
    return found.id


def open_bases(bases: Iterable[wire.Base]) -> list[str]:
    """Return the identifiers of the bases whose records the account can see."""
    return [base.id for base in bases if base.permission_level != "none"]
