"""Between the vendor's JSON and our shapes: pure functions."""

from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from connector_gateway.connectors.tables import casts
from connector_gateway.connectors.tables.models import (
    AttachedFile,
    FailedRecord,
    Record,
    Table,
    TableField,
)
from connector_gateway.kit.call import RemoteFile
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
AUTHOR = "createdBy"


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


def refused_record(
    names: Mapping[str, str], draft: Draft, fields: Mapping[str, Any], refusal: GatewayError
) -> FailedRecord:
    """The entry of a record that the application refused, with the field that it speaks of, if that can be told.

    *names* are those of the fields, by identifier.
    """
    name = _blamed(names, draft, fields, refusal.private) if isinstance(refusal, REFUSED) else None
    return FailedRecord(
        index=draft.index,
        error=refusal.code if isinstance(refusal, CASTING) and name else "upstream_refused",
        field=name,
        value=casts.plain(fields[name]) if name else None,
    )


def _blamed(names: Mapping[str, str], draft: Draft, fields: Mapping[str, Any], text: str) -> str | None:
    """The field that a refusal is about: the only one there is, the one it names, or the one whose value it names."""
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


def batch(table: Raw, drafts: Sequence[Draft], failed: Sequence[FailedRecord], filled_in: Raw) -> Values:
    """What is planned for the records of a call, in a table of which is known what it *filled_in* by itself."""
    written = {field_id for draft in drafts for field_id in draft.values}
    writable = {field["id"] for field in table["fields"] if field["type"] in casts.CASTS}
    return {
        "table_id": table["id"],
        "names": {field["id"]: field["name"] for field in table["fields"] if field["id"] in written},
        "drafts": [asdict(draft) for draft in drafts],
        "failed": [item.model_dump(mode="json") for item in failed],
        "filled_in": {field_id: value for field_id, value in filled_in.items() if field_id in writable},
    }


def filled_in(raw: Raw, written: Raw) -> Values:
    """What a new record holds that was not written: what is computed, and default values, which no schema tells."""
    return {field_id: value for field_id, value in raw.get("fields", {}).items() if field_id not in written}


def creation(base_id: str, table_id: str, group: Sequence[Draft], filled: Raw) -> Values:
    """A request for records, all of them with new options or none."""
    return {
        "base_id": base_id,
        "table_id": table_id,
        "rows": [draft.values for draft in group],
        "typecast": group[0].new_options,
        "filled_in": filled,
    }


# Recognising what a write has made


def contents(intent: Raw) -> list[Any]:
    """What each record of a request is to hold; equal where the records cannot be told apart."""
    return [[intent["table_id"], _told_apart(row)] for row in intent["rows"]]


def _told_apart(row: Raw) -> Values:
    return {field_id: casts.told_apart(value) for field_id, value in row.items() if not casts.is_empty(value)}


def tells_authors(table: Raw) -> bool:
    """Whether the records of a table say who made them."""
    return any(field["type"] == AUTHOR for field in table["fields"])


def may_be_by(table: Raw, raw: Raw, user_id: str) -> bool:
    """Whether nothing in a record says that somebody else made it."""
    authors = [raw["fields"].get(field["id"]) for field in table["fields"] if field["type"] == AUTHOR]
    return all(author is None or author["id"] == user_id for author in authors)


def is_record(table: Raw, raw: Raw, values: Raw, filled: Raw) -> bool:
    """Whether a record is just what was made of *values*.

    What was not written is empty or was filled in by the table itself, as it did before; what is computed says nothing.
    """
    kinds = {field["id"]: field["type"] for field in table["fields"] if field["type"] in casts.CASTS}
    held = {field_id: value for field_id, value in raw["fields"].items() if field_id in kinds}
    more = {field_id: value for field_id, value in held.items() if field_id not in values and not casts.is_empty(value)}
    return bears(table, raw, values) and values.keys() <= kinds.keys() and more.items() <= filled.items()


def made_of(table: Raw, intent: Raw, raws: Iterable[Raw]) -> list[tuple[int, Raw]]:
    """The records that are just what a request asked for, oldest first, each with every place in it that it may have.

    None at all where they are too few: the vendor makes all records of a request, or none.
    """
    aged = sorted(raws, key=lambda raw: instant(raw["createdTime"]))
    found = [
        (slot, raw)
        for slot, row in enumerate(intent["rows"])
        for raw in aged
        if is_record(table, raw, row, intent["filled_in"])
    ]
    wanted, there = contents(intent), Counter(slot for slot, _ in found)
    is_whole = all(there[slot] >= wanted.count(content) for slot, content in enumerate(wanted))
    return found if is_whole else []


def bears(table: Raw, raw: Raw, values: Raw) -> bool:
    """Whether a record holds *values*, both by field id."""
    kinds = {field["id"]: field["type"] for field in table["fields"]}
    return values.keys() <= kinds.keys() and all(
        casts.same(kinds[field_id], value, raw["fields"].get(field_id)) for field_id, value in values.items()
    )


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


def planned_file(place: Raw, url: str, filename: str, file: RemoteFile) -> Values:
    """A file that is to be attached at a *place*; large ones have no digest, since the vendor fetches them itself."""
    digest = None if file.content is None else digest_of(file.content)
    about = {"filename": filename, "mime_type": file.mime_type, "size_bytes": file.size_bytes, "digest": digest}
    return {**place, "url": url, **about}


def digest_of(content: bytes) -> str:
    """What tells a file from another one."""
    return sha256(content).hexdigest()


def attachment_content(intent: Raw) -> Values:
    """What an attachment can be known by: of a file that the vendor fetches, its size is the vendor's to tell."""
    known = ("base_id", "record_id", "field", "filename") + (() if intent["digest"] is None else ("size_bytes",))
    return {name: intent[name] for name in known}


def is_attachment(item: Raw, intent: Raw) -> bool:
    """Whether an attachment looks like the one that was to be made."""
    is_size = intent["digest"] is None or item.get("size") == intent["size_bytes"]
    return bool(item.get("filename") == intent["filename"] and is_size)


def kept_attachment(item: Raw, intent: Raw) -> Values:
    """What is kept of an attachment that was made; the vendor knows its size only once it has fetched it."""
    size_bytes = item.get("size") or intent["size_bytes"]
    return {"id": item["id"], "filename": item["filename"], "size_bytes": size_bytes}


def told_attachment(kept: Raw) -> Values:
    """What callers are told of an attachment when something else fails."""
    return {"attachment_id": kept["id"]}


def attached_file(kept: Raw, record_id: str, field: str) -> AttachedFile:
    """The result of an attachment."""
    return AttachedFile(
        record_id=record_id,
        field=field,
        attachment_id=kept["id"],
        filename=kept["filename"],
        size_bytes=kept["size_bytes"],
    )
