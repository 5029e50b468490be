"""Records: read, and what a caller gave for them in the vendor's form."""

from collections.abc import Mapping
from typing import Any, TypeVar

from connector_gateway.connectors.tables import casts, wire
from connector_gateway.connectors.tables.models import Record, UpdateRecord
from connector_gateway.kit.errors import (
    FieldNotFound,
    GatewayError,
    LossyCast,
    ReadOnlyField,
    SelectOptionMissing,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.faults import gathered
from connector_gateway.kit.nearest import MEANT, nearest
from connector_gateway.kit.shapes import Page
from connector_gateway.kit.wire import UnexpectedShape, converted
from connector_gateway.kit.writing import Cast

W = TypeVar("W")

Values = dict[str, Any]
"""Cells in the vendor's form, by field identifier."""

Kept = Mapping[str, Any]
"""What is planned or was learned: JSON of our own, kept until the call has ended."""

CASTING = (FieldNotFound, ReadOnlyField, LossyCast, SelectOptionMissing)
"""Why fields cannot be written as they were given."""

REFUSED = (UpstreamRefused, *CASTING)
"""What the application refuses values with; nothing of the request was done then."""


def page(records: wire.Records) -> Page[Record]:
    """A page of records."""
    position = {"offset": records.offset} if records.offset else None
    return Page[Record](items=[record(item) for item in records.records], position=position)


def record(record: wire.Record) -> Record:
    """A record."""
    return Record(record_id=record.id, fields=dict(record.fields), created_at=record.created_time)


def writable(table: wire.Table, fields: Mapping[str, Any]) -> Values:
    """The vendor's form of *fields*; where something does not fit, one error that tells of everything."""
    values, faults = fitted(table, fields, new_options=False)
    if faults:
        raise gathered(faults)
    return values


def fitted(table: wire.Table, fields: Mapping[str, Any], *, new_options: bool) -> tuple[Values, list[GatewayError]]:
    """The vendor's form of *fields*, as far as they fit, and what does not, in the order given.

    Selects may name options they lack if *new_options* are allowed.
    """
    known = {field.name: field for field in table.fields}
    values: Values = {}
    faults: list[GatewayError] = []
    for name, value in fields.items():
        try:
            field = _writable_field(table, known, name, value)
            values[field.id] = casts.writing.cast(field, value)
        except CASTING as fault:
            faults.append(fault)
        else:
            faults += casts.options.option_faults(field, values[field.id], new_options=new_options)
    return values, faults


def casts_of(table: wire.Table, place: str, given: Mapping[str, Any], written: Values) -> list[Cast]:
    """How the cells of a record that stands at *place* of the call were cast."""
    known = {field.name: field for field in table.fields}
    return [
        Cast(f"{place}.{name}", known[name].type, casts.writing.plain(value), written[known[name].id])
        for name, value in given.items()
    ]


def _writable_field(table: wire.Table, known: Mapping[str, wire.Field], name: str, value: Any) -> wire.Field:
    """The field of that name; ``FieldNotFound`` or ``ReadOnlyField`` for one that cannot be written."""
    field, shown = known.get(name), casts.writing.plain(value)
    if field is None:
        # Said here, since beside a value the value is what would be compared with the names.
        about = {"field": name, "value": shown, "allowed": list(known), MEANT: nearest(name, known)}
        raise FieldNotFound(f'Table "{table.name}" has no field "{name}".', about)
    if field.type not in casts.writing.CASTS:
        raise ReadOnlyField(f'"{name}" cannot be written.', {"field": name, "type": field.type, "value": shown})
    return field


def change(table: wire.Table, params: UpdateRecord) -> Kept:
    """What is planned for a change of a record."""
    place = {"base_id": params.base_id, "table_id": table.id, "record_id": params.record_id}
    return {**place, "values": writable(table, params.fields)}


def read_cell(value: Any, shape: type[W], field_id: str) -> W:
    """The value of a cell as *shape*; ``UpstreamUnexpected`` if it has another one."""
    try:
        return converted(value, shape)
    except UnexpectedShape as fault:
        where = f"fields.{field_id}{fault.place}"
        raise UpstreamUnexpected(
            "The application answered in an unknown shape.", {"place": where}, private=f"{fault}, in {where}"
        ) from fault
