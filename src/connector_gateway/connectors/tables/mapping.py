"""Between the vendor's JSON and our shapes: pure functions."""

from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from connector_gateway.connectors.tables import casts
from connector_gateway.connectors.tables.models import (
    AttachedFile,
    FailedRecord,
    Record,
    Table,
    TableField,
    UpdatedRecord,
)
from connector_gateway.kit.errors import (
    FieldNotFound,
    GatewayError,
    LossyCast,
    ReadOnlyField,
    SelectOptionMissing,
    TableNotFound,
    UpstreamRefused,
    ViewNotFound,
)
from connector_gateway.kit.shapes import Page

Raw = Mapping[str, Any]
Values = dict[str, Any]

CASTING = (FieldNotFound, ReadOnlyField, LossyCast, SelectOptionMissing)
"""Why fields cannot be written as they were given."""

REFUSED = (UpstreamRefused, *CASTING)
"""What the application refuses values with; nothing of the request was done then."""

ATTACHMENTS = "multipleAttachments"
LINKS = "multipleRecordLinks"


# Tables


def tables(raws: Iterable[Raw], *, include_views: bool) -> list[Table]:
    """The descriptions of *raws*."""
    return [table(raw, include_views=include_views) for raw in raws]


def table(raw: Raw, *, include_views: bool) -> Table:
    """The description of a table."""
    names = {field["id"]: field["name"] for field in raw["fields"]}
    return Table(
        table=raw["name"],
        table_id=raw["id"],
        primary_field=names[raw["primaryFieldId"]],
        fields=[TableField(name=field["name"], type=field["type"]) for field in raw["fields"]],
        views=[view["name"] for view in raw.get("views", [])] if include_views else None,
    )


def find_table(raws: Sequence[Raw], wanted: str) -> Raw:
    """The table of that identifier, else of exactly that name."""
    found = _find(raws, wanted)
    if found is None:
        raise TableNotFound(
            f"The base has no table {wanted!r}.",
            {"parameter": "table", "value": wanted, "allowed": [raw["name"] for raw in raws]},
        )
    return found


def view_id(table: Raw, wanted: str | None) -> str | None:
    """The identifier of the view so identified or named; None for no view."""
    if wanted is None:
        return None
    views = table.get("views", [])
    found = _find(views, wanted)
    if found is None:
        raise ViewNotFound(
            f"Table {table['name']!r} has no view {wanted!r}.",
            {"parameter": "view", "value": wanted, "allowed": [view["name"] for view in views]},
        )
    return str(found["id"])


def _find(raws: Sequence[Raw], wanted: str) -> Raw | None:
    by_id = (raw for raw in raws if raw["id"] == wanted)
    by_name = (raw for raw in raws if raw["name"] == wanted)
    return next(by_id, None) or next(by_name, None)


# Reading records


def page(raw: Raw) -> Page[Record]:
    """A page of records."""
    offset = raw.get("offset")
    return Page[Record](
        items=[record(item) for item in raw["records"]], position={"offset": offset} if offset else None
    )


def record(raw: Raw) -> Record:
    """A record."""
    return Record(record_id=raw["id"], fields=raw["fields"], created_at=instant(raw["createdTime"]))


def instant(text: str) -> datetime:
    """The instant of a vendor's timestamp."""
    return datetime.fromisoformat(text)


# Writing records


def writable(table: Raw, fields: Mapping[str, Any], *, new_options: bool = False) -> Values:
    """The vendor's form of *fields* by field id; selects may name options they lack if *new_options*.

    ``FieldNotFound``, ``ReadOnlyField``, ``LossyCast`` or ``SelectOptionMissing`` name what cannot be written.
    """
    known = {field["name"]: field for field in table["fields"]}
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise FieldNotFound(
            f"Table {table['name']!r} has no field {', '.join(map(repr, unknown))}.",
            *({"field": name, "value": casts.plain(fields[name]), "allowed": list(known)} for name in unknown),
        )
    computed = [name for name in fields if known[name]["type"] not in casts.CASTS]
    if computed:
        raise ReadOnlyField(
            f"{', '.join(map(repr, computed))} cannot be written.",
            *({"field": name, "type": known[name]["type"], "value": casts.plain(fields[name])} for name in computed),
        )
    written = {name: casts.cast(known[name], value) for name, value in fields.items()}
    for name, value in written.items():
        _require_options(known[name], value, new_options=new_options)
    return {known[name]["id"]: value for name, value in written.items()}


def _require_options(field: Raw, written: Any, *, new_options: bool) -> None:
    for missing in casts.missing_options(field, written):
        if not new_options:
            raise SelectOptionMissing(
                f"{missing!r} is not an option of {field['name']!r}.",
                {"field": field["name"], "value": missing, "allowed": casts.options(field)},
            )
        if missing != missing.strip() or not missing:
            raise LossyCast(
                f"{missing!r} cannot become an option of {field['name']!r}: blanks around it would be lost.",
                {"field": field["name"], "type": field["type"], "value": missing},
            )


@dataclass(frozen=True)
class Draft:
    """A record that can be made: its place in the request, its values by field id, and whether it brings options."""

    index: int
    values: Values
    new_options: bool


def drafts(
    table: Raw, records: Sequence[Mapping[str, Any]], *, new_options: bool
) -> tuple[list[Draft], list[FailedRecord]]:
    """Those of *records* that fit the table, and why the others do not."""
    fit: list[Draft] = []
    failed: list[FailedRecord] = []
    for index, fields in enumerate(records):
        try:
            values = writable(table, fields, new_options=new_options)
        except CASTING as refusal:
            failed.append(failed_record(index, refusal))
        else:
            fit.append(Draft(index, values, _brings_options(table, values)))
    return fit, failed


def _brings_options(table: Raw, values: Values) -> bool:
    return any(casts.missing_options(field, values.get(field["id"])) for field in table["fields"])


def failed_record(index: int, refusal: GatewayError) -> FailedRecord:
    """The entry of a record that does not fit."""
    fault = refusal.details[0]
    return FailedRecord(index=index, error=refusal.code, field=fault["field"], value=fault["value"])


def refused_record(table: Raw, draft: Draft, fields: Mapping[str, Any], refusal: GatewayError) -> FailedRecord:
    """The entry of a record that the application refused, with the field that it speaks of, if that can be told."""
    name = _blamed(table, draft, fields, refusal.private) if isinstance(refusal, REFUSED) else None
    return FailedRecord(
        index=draft.index,
        error=refusal.code if isinstance(refusal, CASTING) and name else "upstream_refused",
        field=name,
        value=casts.plain(fields[name]) if name else None,
    )


def _blamed(table: Raw, draft: Draft, fields: Mapping[str, Any], text: str) -> str | None:
    """The field that a refusal is about: the only one there is, the one it names, or the one whose value it names."""
    names = {field["id"]: field["name"] for field in table["fields"]}
    written = {names[field_id]: value for field_id, value in draft.values.items()}
    named = [name for name in written if f'"{name}"' in text]
    valued = [name for name, value in written.items() if any(_speaks_of(text, word) for word in _words(value))]
    return next((found[0] for found in (list(fields), named, valued) if len(found) == 1), None)


def _speaks_of(text: str, word: str) -> bool:
    return f'"{word}"' in text or (casts.RECORD_ID.fullmatch(word) is not None and word in text)


def _words(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, str) and part]


def links(table: Raw, draft: Draft) -> dict[str, tuple[str, list[str]]]:
    """What a draft links to: by field name, the linked table's identifier and the records'."""
    return {
        field["name"]: (field["options"]["linkedTableId"], draft.values[field["id"]])
        for field in table["fields"]
        if field["type"] == LINKS and draft.values.get(field["id"])
    }


def matches(table: Raw, drafts: Iterable[Draft], raws: Iterable[Raw]) -> list[tuple[Draft, Raw]]:
    """Which of the records *raws* were made of which of *drafts*; those that say most choose first."""
    free = list(raws)
    found: list[tuple[Draft, Raw]] = []
    for draft in sorted(drafts, key=lambda draft: len(draft.values), reverse=True):
        raw = next((raw for raw in free if bears(table, raw, draft.values)), None)
        if raw is not None:
            free.remove(raw)
            found.append((draft, raw))
    return found


def updated_record(raw: Raw, names: Iterable[str], updated_at: datetime) -> UpdatedRecord:
    """The result of an update."""
    return UpdatedRecord(record_id=raw["id"], updated_fields=list(names), updated_at=updated_at)


def bears(table: Raw, raw: Raw, values: Values) -> bool:
    """Whether a record holds *values*, both by field id."""
    kinds = {field["id"]: field["type"] for field in table["fields"]}
    return all(casts.same(kinds[field_id], value, raw["fields"].get(field_id)) for field_id, value in values.items())


# Attachments


def attachment_field(table: Raw, name: str) -> Raw:
    """The attachment field of that name."""
    field: Raw | None = next((field for field in table["fields"] if field["name"] == name), None)
    if field is None:
        allowed = [field["name"] for field in table["fields"] if field["type"] == ATTACHMENTS]
        raise FieldNotFound(
            f"Table {table['name']!r} has no field {name!r}.",
            {"parameter": "field", "field": name, "allowed": allowed},
        )
    fault = {"parameter": "field", "field": name, "type": field["type"]}
    if field["type"] not in casts.CASTS:
        raise ReadOnlyField(f"{name!r} cannot be written.", fault)
    if field["type"] != ATTACHMENTS:
        raise LossyCast(f"{name!r} is of type {field['type']}, which holds no files.", fault)
    return field


def upload(filename: str, mime_type: str, content: bytes) -> Values:
    """The vendor's form of a file that is sent along."""
    return {"contentType": mime_type, "filename": filename, "file": b64encode(content).decode()}


def with_link(attachment_ids: Iterable[str], url: str, filename: str) -> list[Values]:
    """The vendor's form of a cell that keeps its attachments and gains one that the vendor is to fetch."""
    return [*({"id": attachment_id} for attachment_id in attachment_ids), {"url": url, "filename": filename}]


def tables_with(raws: Iterable[Raw], field: str) -> list[str]:
    """The identifiers of the tables that have a field of that name."""
    return [raw["id"] for raw in raws if any(described["name"] == field for described in raw["fields"])]


def open_bases(raws: Iterable[Raw]) -> list[str]:
    """The identifiers of the bases whose records the account may see."""
    return [raw["id"] for raw in raws if raw.get("permissionLevel") != "none"]


def attachments(raw: Raw, field: Raw) -> list[Raw]:
    """The attachments in a cell, whichever way its field is named."""
    found: list[Raw] = raw["fields"].get(field["id"]) or raw["fields"].get(field["name"]) or []
    return found


def added(raw: Raw, field: Raw, before: Collection[str]) -> list[Raw]:
    """The attachments in a cell that were not there *before*."""
    return [item for item in attachments(raw, field) if item["id"] not in before]


def alike(items: Iterable[Raw], filename: str, size_bytes: int) -> Raw | None:
    """The last of *items* that has that name, or that size."""
    found: list[Raw] = [item for item in items if item.get("filename") == filename or item.get("size") == size_bytes]
    return found[-1] if found else None


def attached_file(item: Raw, record_id: str, field: str, size_bytes: int) -> AttachedFile:
    """The result of an attachment; the vendor knows its size only once it has fetched it."""
    return AttachedFile(
        record_id=record_id,
        field=field,
        attachment_id=item["id"],
        filename=item["filename"],
        size_bytes=item.get("size") or size_bytes,
    )
