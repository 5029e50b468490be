"""Records created together, and their results."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic_core import to_json

from connector_gateway.connectors.tables import value_casts, vendor_models
from connector_gateway.connectors.tables.mapping.records import (
    CASTING,
    REJECTIONS,
    StoredData,
    Values,
    cast_report,
    convert_fields,
    find_rejected_field,
)
from connector_gateway.connectors.tables.models import CreatedRecords, CreateRecords, FailedRecord
from connector_gateway.kit import errors
from connector_gateway.kit.casts import to_sent_json
from connector_gateway.kit.errors.suggestions import get_suggestion
from connector_gateway.kit.write_steps import Cast

LINKS = "multipleRecordLinks"

MAX_VALUE_CHARACTERS = 60
"""Maximum number of characters of a value in a message."""


@dataclass(frozen=True)
class Draft:
    """A valid record to create: its index in the request, its values by field id, and whether it adds options."""

    index: int
    values: Values
    new_options: bool


@dataclass
class Batch:
    """The records of one call: the valid ones, and the result of each."""

    params: CreateRecords
    table_id: str = ""
    names: dict[str, str] = field(default_factory=dict)
    """The names of the written fields, by identifier."""

    filled_in: StoredData = field(default_factory=dict)
    """Default values observed in unwritten fields, by identifier."""

    drafts: dict[int, Draft] = field(default_factory=dict)
    created: dict[int, str] = field(default_factory=dict)
    failed: dict[int, list[FailedRecord]] = field(default_factory=dict)

    @property
    def pending(self) -> list[Draft]:
        """Return the drafts that were neither created nor rejected yet."""
        return [draft for index, draft in sorted(self.drafts.items()) if index not in {*self.created, *self.failed}]

    def adopt_plan(self, plan: StoredData) -> None:
        """Adopt a plan, either of all records or a later one of some."""
        self.table_id = plan["table_id"]
        self.names |= plan["names"]
        self.filled_in = plan["filled_in"]
        self.drafts |= {draft["index"]: Draft(**draft) for draft in plan["drafts"]}
        failed = defaultdict(list)
        for item in plan["failed"]:
            failed[item["index"]].append(FailedRecord.model_validate(item))
        self.failed |= failed

    def creation(self, group: Sequence[Draft]) -> StoredData:
        """Return a request for records, all of them with new options or none."""
        return {
            "base_id": self.params.base_id,
            "table_id": self.table_id,
            "rows": [draft.values for draft in group],
            "typecast": group[0].new_options,
            "filled_in": self.filled_in,
        }

    def record_rejection(self, draft: Draft, error: errors.GatewayError) -> None:
        """Report a record as not created because the vendor rejected it."""
        self.failed[draft.index] = [rejected_record(self.names, draft, self.params.records[draft.index], error)]

    def result(self) -> CreatedRecords:
        """Return the result for the caller, in the order of the request."""
        return CreatedRecords(
            created=[self.created[index] for index in sorted(self.created)],
            failed=[item for index in sorted(self.failed) for item in self.failed[index]],
        )


def drafts(
    table: vendor_models.Table, records: Sequence[Mapping[str, Any]], *, new_options: bool
) -> tuple[list[Draft], list[FailedRecord]]:
    """Return drafts of the valid *records*, and all errors of the others."""
    fit: list[Draft] = []
    failed: list[FailedRecord] = []
    for index, fields in enumerate(records):
        values, violations = convert_fields(table, fields, new_options=new_options, creates=True)
        failed += [failed_record(index, violation) for violation in violations]
        if not violations:
            brings_options = any(
                value_casts.select_options.missing_options(field, values.get(field.id)) for field in table.fields
            )
            fit.append(Draft(index, values, brings_options))
    return fit, failed


def failed_record(index: int, error: errors.GatewayError) -> FailedRecord:
    """Return the entry for one error of a record."""
    (detail,) = error.details
    return FailedRecord(
        index=index, error=error.code, field=detail["field"], value=detail["value"], did_you_mean=get_suggestion(detail)
    )


def rejected_record(
    names: Mapping[str, str], draft: Draft, fields: Mapping[str, Any], error: errors.GatewayError
) -> FailedRecord:
    """Return the entry of a rejected record, with its field if known. *names* has fields by identifier."""
    name = find_rejected_field(names, draft.values, fields, error.private) if isinstance(error, REJECTIONS) else None
    return FailedRecord(
        index=draft.index,
        error=error.code if isinstance(error, CASTING) and name else "upstream_refused",
        field=name,
        value=to_sent_json(fields[name]) if name else None,
        vendor_code=_vendor_detail(error, "vendor_code"),
        vendor_message=_vendor_detail(error, "vendor_message"),
    )


ERRORS: Mapping[str, tuple[type[errors.GatewayError], str, str | None]] = {
    "select_option_missing": (
        errors.SelectOptionMissing,
        '{value} is not an option of "{field}".',
        "Add the option in {vendor}, or set {allow_new_options} to true.",
    ),
    "lossy_cast": (
        errors.LossyCast,
        '"{field}" cannot hold {value} without loss.',
        "Send a value of the field's type, which {list_tables} returns.",
    ),
    "read_only_field": (errors.ReadOnlyField, '"{field}" is computed.', "Leave the field out."),
    "field_not_found": (errors.FieldNotFound, 'The table has no field "{field}".', None),
    "upstream_refused": (errors.UpstreamRefused, "The vendor rejected it. {vendor_message}", "Correct the values."),
}
"""Errors of records that were not created, with their messages, and remedies that differ from those of a call."""


def error_of(item: FailedRecord) -> errors.GatewayError:
    """Return the error of a record that was not created, with a message and a remedy for the caller."""
    error, message, remedy = ERRORS[item.error]
    value = to_json(item.value).decode()
    short_value = value if len(value) <= MAX_VALUE_CHARACTERS else value[: MAX_VALUE_CHARACTERS - 1] + "…"
    words = message.format(field=item.field, value=short_value, vendor_message=item.vendor_message or "").strip()
    hint = f' Did you mean "{item.did_you_mean}"?' if item.did_you_mean else ""
    return error(f"Record {item.index} was not created: {words}{hint}", remedy=remedy)


def _vendor_detail(error: errors.GatewayError, key: str) -> str | None:
    """Return the reason that the vendor gave, if any."""
    return next((detail[key] for detail in error.details if key in detail), None)


def links(table: vendor_models.Table, draft: Draft) -> dict[str, tuple[str, list[str]]]:
    """Return the links of a draft: by field name, the identifiers of the linked table and of the records."""
    return {
        field.name: (_linked_table(field), draft.values[field.id])
        for field in table.fields
        if field.type == LINKS and draft.values.get(field.id)
    }


def _linked_table(field: vendor_models.Field) -> str:
    linked = field.options().linked_table_id
    if not linked:
        raise errors.UpstreamUnexpected(
            "The vendor's description of a field lacks the linked table.", {"place": field.id}
        )
    return linked


def dangling_links(draft: Draft, field: str, linked: Sequence[str], existing: Collection[str]) -> list[FailedRecord]:
    """Return the entries of a field's links to records that are not in *existing*."""
    return [
        FailedRecord(index=draft.index, error="upstream_refused", field=field, value=record_id)
        for record_id in linked
        if record_id not in existing
    ]


def batch(
    table: vendor_models.Table, drafts: Sequence[Draft], failed: Sequence[FailedRecord], filled_in: StoredData
) -> StoredData:
    """Plan the records of a call, except those *failed*. *filled_in* has the table's default values."""
    unfit = {item.index for item in failed}
    fit = [draft for draft in drafts if draft.index not in unfit]
    written = {field_id for draft in fit for field_id in draft.values}
    # Computed values differ between records, so they are not evidence.
    writable = {field.id for field in table.fields if field.type in value_casts.to_vendor.CASTS}
    return {
        "table_id": table.id,
        "names": {field.id: field.name for field in table.fields if field.id in written},
        "drafts": [asdict(draft) for draft in fit],
        "failed": [item.model_dump(mode="json") for item in failed],
        "filled_in": {field_id: value for field_id, value in filled_in.items() if field_id in writable},
    }


def cast_reports(
    table: vendor_models.Table, drafts: Sequence[Draft], records: Sequence[Mapping[str, Any]]
) -> list[Cast]:
    """Report how the values of records were cast."""
    return [
        cast
        for draft in drafts
        for cast in cast_report(table, f"records.{draft.index}", records[draft.index], draft.values)
    ]


def dry_run_records(intent: StoredData) -> Values:
    """Return the assumed result of creating records, for dry runs."""
    return {"created": [f"new-record-{number}" for number, _ in enumerate(intent["rows"], 1)]}


def unwritten_values(row: vendor_models.RecordFields, written: StoredData) -> Values:
    """Return the unwritten values of a new record: computed ones, and defaults, which the schema does not contain."""
    return {field_id: value for field_id, value in row.fields.items() if field_id not in written}
