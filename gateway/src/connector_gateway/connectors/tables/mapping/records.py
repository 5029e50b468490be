"""Records: their public form, and callers' values in the vendor's form."""

from collections.abc import Mapping
from typing import Any, TypeVar

from connector_gateway.connectors.tables import value_casts, vendor_models
from connector_gateway.connectors.tables.models import Record, UpdateRecord
from connector_gateway.kit import errors
from connector_gateway.kit.casts import to_sent_json
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.errors.suggestions import SUGGESTION_KEY, closest_match, nearest_first
from connector_gateway.kit.models import Page
from connector_gateway.kit.vendor_model import UnexpectedShape, convert
from connector_gateway.kit.write_steps import Cast

W = TypeVar("W")

Values = dict[str, Any]
"""Cells in the vendor's form, by field identifier."""

StoredData = Mapping[str, Any]
"""A plan or the result of a step, as JSON in our own format. It is stored until the call has ended."""

CASTING = (errors.FieldNotFound, errors.ReadOnlyField, errors.LossyCast, errors.SelectOptionMissing)
"""Errors of values that cannot be written to their fields."""

REJECTIONS = (errors.UpstreamRefused, *CASTING)
"""Errors with which the vendor rejects values. Nothing of the request was done then."""


def page(records: vendor_models.Records) -> Page[Record]:
    """Return a page of records."""
    position = {"offset": records.offset} if records.offset else None
    return Page[Record](items=[record(item) for item in records.records], position=position)


def record(record: vendor_models.Record) -> Record:
    """Return a record."""
    return Record(record_id=record.id, fields=dict(record.fields), created_at=record.created_time)


def to_vendor_fields(table: vendor_models.Table, fields: Mapping[str, Any]) -> Values:
    """Return the vendor's form of *fields*. One error reports all invalid values."""
    values, violations = convert_fields(table, fields, new_options=False, creates=False)
    if violations:
        raise combine_errors(violations)
    return values


def convert_fields(
    table: vendor_models.Table, fields: Mapping[str, Any], *, new_options: bool, creates: bool
) -> tuple[Values, list[errors.GatewayError]]:
    """Return the vendor's form of the valid *fields*, and the errors of others. *new_options* may be named."""
    fields_by_name = {field.name: field for field in table.fields}
    values: Values = {}
    violations: list[errors.GatewayError] = []
    for name, value in fields.items():
        try:
            field = _writable_field(table, fields_by_name, name, value)
            values[field.id] = value_casts.to_vendor.cast(field, value, creates=creates)
        except CASTING as violation:
            violations.append(violation)
        else:
            violations += value_casts.select_options.option_errors(field, values[field.id], new_options=new_options)
    return values, violations


COLLABORATORS = frozenset({"singleCollaborator", "multipleCollaborators"})
"""Field types whose values are people."""


def cast_report(table: vendor_models.Table, location: str, raw: Mapping[str, Any], written: Values) -> list[Cast]:
    """Report how the cells of the record at *location* of the call were cast."""
    fields_by_name = {field.name: field for field in table.fields}
    return [
        Cast(
            f"{location}.{name}",
            field.type,
            to_sent_json(value),
            written[field.id],
            names_people=field.type in COLLABORATORS,
        )
        for name, value in raw.items()
        for field in [fields_by_name[name]]
    ]


def _writable_field(
    table: vendor_models.Table, fields_by_name: Mapping[str, vendor_models.Field], name: str, value: Any
) -> vendor_models.Field:
    """Return the field of that name. Raises ``FieldNotFound`` or ``ReadOnlyField`` if it cannot be written."""
    field, display = fields_by_name.get(name), to_sent_json(value)
    if field is None:
        # Suggested here, because in an error with a value, suggestions would be compared with the value.
        about = {
            "field": name,
            "value": display,
            "allowed": nearest_first(name, fields_by_name),
            SUGGESTION_KEY: closest_match(name, fields_by_name),
        }
        raise errors.FieldNotFound(f'Table "{table.name}" has no field "{name}".', about)
    if field.type not in value_casts.to_vendor.CASTS:
        raise errors.ReadOnlyField(
            f'"{name}" cannot be written.', {"field": name, "type": field.type, "value": display}
        )
    return field


def change(table: vendor_models.Table, params: UpdateRecord) -> StoredData:
    """Plan the change of a record."""
    location = {"base_id": params.base_id, "table_id": table.id, "record_id": params.record_id}
    return {**location, "values": to_vendor_fields(table, params.fields)}


def find_rejected_field(
    table_names: Mapping[str, str], values: StoredData, fields: Mapping[str, Any], text: str
) -> str | None:
    """Return the field that an error is about: the only one, the one it names, or the one whose value it names.

    *table_names* has field names by identifier, *values* the written values, *fields* those of the caller.
    """
    # Three guesses, the surest first, each only if unambiguous, because a wrong field is worse than none.
    written = {table_names[field_id]: value for field_id, value in values.items()}
    mentioned = [name for name in written if f'"{name}"' in text]
    valued = [name for name, value in written.items() if any(_mentions(text, word) for word in _words(value))]
    return next((candidates[0] for candidates in (list(fields), mentioned, valued) if len(candidates) == 1), None)


def _mentions(text: str, word: str) -> bool:
    return f'"{word}"' in text or (value_casts.to_vendor.RECORD_ID.fullmatch(word) is not None and word in text)


def _words(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    texts = [text for part in parts for text in (part.values() if isinstance(part, Mapping) else [part])]
    return [text for text in texts if isinstance(text, str) and text]


def with_field(
    error: errors.GatewayError, table: vendor_models.Table, change: StoredData, fields: Mapping[str, Any]
) -> errors.GatewayError:
    """Return *error* with its field and value, if known."""
    names = {field.id: field.name for field in table.fields}
    name = find_rejected_field(names, change["values"], fields, error.private)
    if name is None:
        return error
    reason = next((detail for detail in error.details if "vendor_message" in detail), {})
    detail = {
        "code": error.code,
        "parameter": f"fields.{name}",
        "field": name,
        "value": to_sent_json(fields[name]),
        **reason,
    }
    message = f'The vendor rejected the value of "{name}".'
    return type(error)(message, detail, private=error.private, doubt=error.doubt)


def read_cell(value: Any, shape: type[W], field_id: str) -> W:
    """Return the value of a cell as *shape*. Raises ``UpstreamUnexpected`` if it has another shape."""
    try:
        return convert(value, shape)
    except UnexpectedShape as error:
        where = f"fields.{field_id}{error.json_path}"
        raise errors.UpstreamUnexpected(
            "The vendor's response has an unexpected shape.", {"place": where}, private=f"{error}, in {where}"
        ) from error
