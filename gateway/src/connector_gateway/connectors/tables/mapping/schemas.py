"""Tables with their fields and views."""

from collections.abc import Iterable, Sequence

from connector_gateway.connectors.tables import vendor_models
from connector_gateway.connectors.tables.models import Table, TableField
from connector_gateway.kit.errors import TableNotFound, UpstreamUnexpected, ViewNotFound
from connector_gateway.kit.errors.suggestions import nearest_first


def tables(sources: Iterable[vendor_models.Table], *, include_views: bool) -> list[Table]:
    """Return the descriptions of tables."""
    return [table(one, include_views=include_views) for one in sources]


def table(table: vendor_models.Table, *, include_views: bool) -> Table:
    """Return the description of a table."""
    return Table(
        table=table.name,
        table_id=table.id,
        primary_field=_primary_field(table),
        fields=[TableField(name=field.name, type=field.type) for field in table.fields],
        views=[view.name for view in table.views] if include_views else None,
    )


def _primary_field(table: vendor_models.Table) -> str:
    name = next((field.name for field in table.fields if field.id == table.primary_field_id), None)
    if name is None:
        raise UpstreamUnexpected(
            "The vendor's description of a table names a primary field that the table lacks.", {"place": table.id}
        )
    return name


def find_table(tables: Sequence[vendor_models.Table], text: str) -> vendor_models.Table:
    """Return the table with that identifier, or else with exactly that name."""
    by_id = (table for table in tables if table.id == text)
    by_name = (table for table in tables if table.name == text)
    match = next(by_id, None) or next(by_name, None)
    if match is None:
        raise TableNotFound(
            f'The base has no table "{text}".',
            {"parameter": "table", "value": text, "allowed": nearest_first(text, [table.name for table in tables])},
        )
    return match


def view_id(table: vendor_models.Table, text: str | None) -> str | None:
    """Return the identifier of the view with that identifier or name, or None for no view."""
    if text is None:
        return None
    by_id = (view for view in table.views if view.id == text)
    by_name = (view for view in table.views if view.name == text)
    match = next(by_id, None) or next(by_name, None)
    if match is None:
        raise ViewNotFound(
            f'Table "{table.name}" has no view "{text}".',
            {
                "parameter": "view",
                "value": text,
                "allowed": nearest_first(text, [view.name for view in table.views]),
            },
        )
    return match.id


def open_bases(bases: Iterable[vendor_models.Base]) -> list[str]:
    """Return the identifiers of the bases whose records the account can see."""
    return [base.id for base in bases if base.permission_level != "none"]
