"""Stored and computed cell values, in the vendor's format."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.state import Attachment, Base, Field, Record, Table, User, find, plain

NOT_A_NUMBER = {"specialValue": "NaN"}
ERROR = {"error": "#ERROR!"}
QUOTIENT = re.compile(r"\{(?P<over>[^}]+)\}/\{(?P<under>[^}]+)\}")
"""The only kind of formula that the emulator computes: a quotient of two fields."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Renders the records of a base at one moment, with the current URLs of attachments."""

    base: Base
    now: float
    attachment_url: Callable[[Attachment], str]

    def record(
        self,
        table: Table,
        record: Record,
        *,
        by_id: bool = False,
        only: Iterable[Field] | None = None,
        text: bool = False,
    ) -> dict[str, Any]:
        """Return *record* without empty cells."""
        rendered = {
            field.id if by_id else field.name: self.cell(table, field, record) for field in only or table.fields
        }
        cells = {name: value for name, value in rendered.items() if value is not None}
        return {
            "id": record.id,
            "createdTime": dates.format_time(record.created_at),
            "fields": {name: value_to_text(value) for name, value in cells.items()} if text else cells,
        }

    def cell(self, table: Table, field: Field, record: Record) -> Any:
        """Return the value of a cell, or None if it is empty."""
        value = stored_value(self.base, table, field, record)
        if value is None:
            return None
        show = RENDERERS.get(field.type)
        return value if show is None else show(self, field, value)

    def attachment(self, attachment: Attachment) -> dict[str, Any]:
        """Return a file. Until it is fetched, only the client's own fields are included."""
        fields: dict[str, Any] = {"id": attachment.id, "url": attachment.source, "filename": attachment.filename}
        if not has_passed(attachment.fetch_seconds, attachment.requested_at, self.now):
            return fields
        url = self.attachment_url(attachment)
        fields |= {"url": url, "size": attachment.size, "type": attachment.type}
        return fields | self._pixels(attachment, url)

    @staticmethod
    def _pixels(attachment: Attachment, url: str) -> dict[str, Any]:
        if attachment.pixels is None:
            return {}
        width, height = attachment.pixels
        sizes = {"small": 36, "large": 512, "full": 3000}
        thumbnails = {
            name: {"url": url, "width": min(width, limit), "height": min(height, limit)}
            for name, limit in sizes.items()
        }
        return {"width": width, "height": height, "thumbnails": thumbnails}


def stored_value(base: Base, table: Table, field: Field, record: Record) -> Any:
    """Return the stored or computed value of a cell."""
    compute = COMPUTED.get(field.type)
    return compute(base, table, field, record) if compute else record.cells.get(field.id)


def value_to_text(value: Any) -> str:
    """Return a rendered *value* as text, for formulas and the ``string`` format."""
    # The fast path: most values are text, and a filter reads them in every record.
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "checked" if value else ""
    if isinstance(value, list):
        return ", ".join(value_to_text(part) for part in value)
    if isinstance(value, Mapping):
        return next(
            (value_to_text(value[name]) for name in ("name", "text", "filename", "label", "value") if name in value), ""
        )
    return "" if value is None else str(plain(value) if isinstance(value, float) else value)


Show = Callable[[Reader, Field, Any], Any]


def _instant(_: Reader, __: Field, value: float) -> str:
    return dates.format_time(value)


def _user(_: Reader, __: Field, value: User) -> dict[str, Any]:
    return value.to_json()


RENDERERS: dict[str, Show] = {
    **dict.fromkeys(("dateTime", "createdTime", "lastModifiedTime"), _instant),
    **dict.fromkeys(("singleCollaborator", "createdBy", "lastModifiedBy"), _user),
    "multipleCollaborators": lambda _, __, value: [user.to_json() for user in value],
    "multipleAttachments": lambda reader, _, value: [reader.attachment(attachment) for attachment in value],
}
"""The types whose cells are rendered in another form than stored."""


Compute = Callable[[Base, Table, Field, Record], Any]


def _linked_values(base: Base, table: Table, field: Field, record: Record) -> list[Any]:
    """Return the values of the lookup field in the records that *record* links to."""
    link = find(table.fields, field.option("recordLinkFieldId"))
    linked = find(base.tables, link.option("linkedTableId")) if link else None
    column = find(linked.fields, field.option("fieldIdInLinkedTable")) if linked else None
    if link is None or linked is None or column is None:
        return []
    rows = (linked.records[identifier] for identifier in record.cells.get(link.id, ()))
    return [value for row in rows if (value := stored_value(base, linked, column, row)) is not None]


def _lookup(base: Base, table: Table, field: Field, record: Record) -> Any:
    return _linked_values(base, table, field, record) or None


def _rollup(base: Base, table: Table, field: Field, record: Record) -> Any:
    return AGGREGATES[field.aggregate](_linked_values(base, table, field, record))


def _average(values: list[Any]) -> Any:
    return plain(sum(values) / len(values)) if values else NOT_A_NUMBER


AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "AVERAGE": _average,
    "SUM": lambda values: plain(sum(values)),
    "MAX": lambda values: max(values, default=0),
}


def _count(_: Base, __: Table, field: Field, record: Record) -> int:
    return len(record.cells.get(field.option("recordLinkFieldId"), ()))


def _formula(base: Base, table: Table, field: Field, record: Record) -> Any:
    match = QUOTIENT.fullmatch(field.option("formula"))
    if match is None:
        return ERROR
    over, under = (find(table.fields, match[name]) for name in ("over", "under"))
    if over is None or under is None:
        return ERROR
    divisor = stored_value(base, table, under, record)
    return plain(round((stored_value(base, table, over, record) or 0) / divisor, 6)) if divisor else ERROR


def _button(_: Base, __: Table, field: Field, record: Record) -> dict[str, Any]:
    return {"label": field.name, "url": f"https://example.com/call?record={record.id}"}


COMPUTED: dict[str, Compute] = {
    "autoNumber": lambda _, __, ___, record: record.number,
    "button": _button,
    "count": _count,
    "createdBy": lambda _, __, ___, record: record.created_by,
    "createdTime": lambda _, __, ___, record: record.created_at,
    "formula": _formula,
    "lastModifiedBy": lambda _, __, ___, record: record.modified_by,
    "lastModifiedTime": lambda _, __, ___, record: record.modified_at,
    "multipleLookupValues": _lookup,
    "rollup": _rollup,
}
"""The types whose values are computed."""
