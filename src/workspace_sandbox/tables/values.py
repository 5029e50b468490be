"""Reading cells: what is kept and what is computed, as the vendor shows it."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.tables import times
from workspace_sandbox.tables.state import Attachment, Base, Field, Record, Table, User, find, plain

NOT_A_NUMBER = {"specialValue": "NaN"}
ERROR = {"error": "#ERROR!"}
QUOTIENT = re.compile(r"\{(?P<over>[^}]+)\}/\{(?P<under>[^}]+)\}")
"""The one kind of formula that the stand-in computes: a field over another."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Shows the records of a base at one moment; ``address`` is where an attachment can be had."""

    base: Base
    now: float
    address: Callable[[Attachment], str]

    def record(
        self,
        table: Table,
        record: Record,
        *,
        by_id: bool = False,
        only: Iterable[Field] | None = None,
        text: bool = False,
    ) -> dict[str, Any]:
        """*record*, with the cells that are not empty."""
        shown = {field.id if by_id else field.name: self.cell(table, field, record) for field in only or table.fields}
        cells = {name: value for name, value in shown.items() if value is not None}
        return {
            "id": record.id,
            "createdTime": times.written(record.created_at),
            "fields": {name: text_of(value) for name, value in cells.items()} if text else cells,
        }

    def cell(self, table: Table, field: Field, record: Record) -> Any:
        """The value of one cell; None if it is empty."""
        value = kept(self.base, table, field, record)
        if value is None:
            return None
        show = SHOWN.get(field.type)
        return value if show is None else show(self, field, value)

    def attachment(self, attachment: Attachment) -> dict[str, Any]:
        """A file; until it is fetched, only what the client said of it."""
        about: dict[str, Any] = {"id": attachment.id, "url": attachment.source, "filename": attachment.filename}
        if not has_passed(attachment.fetch_seconds, attachment.asked_at, self.now):
            return about
        url = self.address(attachment)
        about |= {"url": url, "size": attachment.size, "type": attachment.type}
        return about | self._pixels(attachment, url)

    @staticmethod
    def _pixels(attachment: Attachment, url: str) -> dict[str, Any]:
        if attachment.pixels is None:
            return {}
        width, height = attachment.pixels
        sizes = {"small": 36, "large": 512, "full": 3000}
        thumbnails = {
            name: {"url": url, "width": min(width, at), "height": min(height, at)} for name, at in sizes.items()
        }
        return {"width": width, "height": height, "thumbnails": thumbnails}


def kept(base: Base, table: Table, field: Field, record: Record) -> Any:
    """What a cell holds, computed if it is of such a type."""
    compute = COMPUTED.get(field.type)
    return compute(base, table, field, record) if compute else record.cells.get(field.id)


def text_of(value: Any) -> str:
    """A shown *value* as text, as formulas and the ``string`` format have it."""
    # Nearly all are text, and a filter reads them in every record.
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "checked" if value else ""
    if isinstance(value, list):
        return ", ".join(text_of(part) for part in value)
    if isinstance(value, Mapping):
        return next(
            (text_of(value[name]) for name in ("name", "text", "filename", "label", "value") if name in value), ""
        )
    return "" if value is None else str(plain(value) if isinstance(value, float) else value)


Show = Callable[[Reader, Field, Any], Any]


def _instant(_: Reader, __: Field, value: float) -> str:
    return times.written(value)


def _user(_: Reader, __: Field, value: User) -> dict[str, Any]:
    return value.shape()


SHOWN: dict[str, Show] = {
    **dict.fromkeys(("dateTime", "createdTime", "lastModifiedTime"), _instant),
    **dict.fromkeys(("singleCollaborator", "createdBy", "lastModifiedBy"), _user),
    "multipleCollaborators": lambda _, __, value: [user.shape() for user in value],
    "multipleAttachments": lambda reader, _, value: [reader.attachment(attachment) for attachment in value],
}
"""The types whose cells are not shown as they are kept."""


Compute = Callable[[Base, Table, Field, Record], Any]


def _linked_values(base: Base, table: Table, field: Field, record: Record) -> list[Any]:
    """The values of the field looked up, in the records that *record* links to."""
    link = find(table.fields, field.option("recordLinkFieldId"))
    linked = find(base.tables, link.option("linkedTableId")) if link else None
    column = find(linked.fields, field.option("fieldIdInLinkedTable")) if linked else None
    if link is None or linked is None or column is None:
        return []
    rows = (linked.records[identifier] for identifier in record.cells.get(link.id, ()))
    return [value for row in rows if (value := kept(base, linked, column, row)) is not None]


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
    found = QUOTIENT.fullmatch(field.option("formula"))
    if found is None:
        return ERROR
    over, under = (find(table.fields, found[name]) for name in ("over", "under"))
    if over is None or under is None:
        return ERROR
    divisor = kept(base, table, under, record)
    return plain(round((kept(base, table, over, record) or 0) / divisor, 6)) if divisor else ERROR


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
"""The types that hold nothing of their own."""
