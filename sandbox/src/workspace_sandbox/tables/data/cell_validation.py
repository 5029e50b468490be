"""Strict validation of cell values, by field type."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.atomic_cell_changes import Cell, PendingWrite, Write
from workspace_sandbox.tables.data.state import Attachment, Field, Record, User, plain
from workspace_sandbox.tables.data.typecast import LOOSE
from workspace_sandbox.tables.error_responses import computed_field, invalid_attachment, invalid_record_id, no_such_row

MAX_NUMBER = 1e300
"""The largest absolute value of a number."""


def validate_cell(draft: PendingWrite, field: Field, record: Record | None, raw: Any) -> Any:
    """Return the stored value of *raw*, or None if the cell becomes empty."""
    if field.type not in STRICT:
        raise computed_field(field.name)
    cell = Cell(draft, field, record)
    value = LOOSE[field.type](cell, raw) if draft.typecast and raw is not None else raw
    return None if value is None else STRICT[field.type](cell, value)


def _text(cell: Cell, raw: Any) -> str:
    if not isinstance(raw, str):
        raise cell.wrong_type()
    return raw


def _number(cell: Cell, raw: Any) -> int | float:
    # Python counts True as a number, Airtable does not.
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not -MAX_NUMBER <= raw <= MAX_NUMBER:
        raise cell.wrong_type()
    number: int | float = plain(raw)
    return number


def _rating(cell: Cell, raw: Any) -> int:
    stars = _number(cell, raw)
    if not isinstance(stars, int) or not 1 <= stars <= cell.field.option("max"):
        raise cell.wrong_type()
    return stars


def _checkbox(cell: Cell, raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise cell.wrong_type()
    return raw


def _select(cell: Cell, raw: Any) -> str:
    name = _text(cell, raw)
    return cell.draft.option(cell.field, name) if name else name


def _selects(cell: Cell, raw: Any) -> list[str]:
    names = dict.fromkeys(_text(cell, name) for name in _list(cell, raw))
    return [cell.draft.option(cell.field, name) for name in names]


def _collaborator(cell: Cell, raw: Any) -> User:
    return require(_people(cell, raw) if isinstance(raw, Mapping) else None, cell.wrong_type())


def _people(cell: Cell, raw: Mapping[str, Any]) -> User | None:
    criteria = {name: raw[name] for name in ("id", "email") if name in raw}
    for user in cell.draft.base.users if criteria else ():
        if all(getattr(user, name) == value for name, value in criteria.items()):
            return user
    return None


def _collaborators(cell: Cell, raw: Any) -> list[User]:
    return list(dict.fromkeys(_collaborator(cell, user) for user in _list(cell, raw)))


def _date(cell: Cell, raw: Any) -> str:
    text = _text(cell, raw)
    return require(dates.parse_date(text) if text else "", cell.wrong_type())


def _date_time(cell: Cell, raw: Any) -> float | None:
    text = _text(cell, raw)
    timestamp = dates.parse_time(text, cell.field.option("timeZone")) if text else None
    if text and timestamp is None:
        raise cell.wrong_type()
    return timestamp


def _links(cell: Cell, raw: Any) -> list[str]:
    linked = cell.linked()
    identifiers = list(dict.fromkeys(_text(cell, identifier) for identifier in _list(cell, raw)))
    for identifier in identifiers:
        # Recorded traffic has two errors: one for an invalid id, and one for an unknown record.
        if not identifier.startswith("rec"):
            raise invalid_record_id(identifier)
        if not cell.draft.is_linkable(linked, identifier):
            raise no_such_row(identifier)
    return identifiers


def _attachments(cell: Cell, raw: Any) -> list[Attachment]:
    return [_attachment(cell, item) for item in _list(cell, raw)]


def _attachment(cell: Cell, raw: Any) -> Attachment:
    if not isinstance(raw, Mapping):
        raise invalid_attachment(cell.field.name)
    if "id" in raw:
        return _existing_attachment(cell, raw)
    url, filename = raw.get("url"), raw.get("filename")
    if not isinstance(url, str) or not isinstance(filename, str | None) or not _is_fetchable(url):
        raise invalid_attachment(cell.field.name)
    return cell.draft.new_attachment(url, filename or None)


def _existing_attachment(cell: Cell, raw: Mapping[str, Any]) -> Attachment:
    """Return the attachment with that id in the cell."""
    attachments: list[Attachment] = cell.record.cells.get(cell.field.id, []) if cell.record else []
    match = next((attachment for attachment in attachments if attachment.id == raw["id"]), None)
    if match is None:
        raise invalid_attachment(cell.field.name)
    return match


def _is_fetchable(url: str) -> bool:
    try:
        return urlsplit(url).scheme in {"http", "https"} and bool(url_host(url)) and bool(url.encode())
    except ValueError:
        return False


def url_host(url: str) -> str:
    """Return the host of a URL."""
    return urlsplit(url).hostname or ""


def url_filename(url: str) -> str:
    """Return the file name in a URL."""
    return unquote(urlsplit(url).path.rsplit("/", 1)[-1]) or "file"


def _barcode(cell: Cell, raw: Any) -> dict[str, str] | None:
    if not isinstance(raw, Mapping) or not set(raw) <= {"text", "type"}:
        raise cell.wrong_type()
    kind = {} if raw.get("type") is None else {"type": _text(cell, raw["type"])}
    text = _text(cell, raw.get("text"))
    return {"text": text, **kind} if text else None


def _list(cell: Cell, raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise cell.wrong_type()
    return raw


STRICT: dict[str, Write] = {
    **dict.fromkeys(("singleLineText", "multilineText", "richText", "email", "url", "phoneNumber"), _text),
    **dict.fromkeys(("number", "currency", "percent", "duration"), _number),
    "rating": _rating,
    "checkbox": _checkbox,
    "singleSelect": _select,
    "multipleSelects": _selects,
    "singleCollaborator": _collaborator,
    "multipleCollaborators": _collaborators,
    "date": _date,
    "dateTime": _date_time,
    "multipleRecordLinks": _links,
    "multipleAttachments": _attachments,
    "barcode": _barcode,
}
"""The validators of writable types. Other types are computed or unknown, and cannot be written."""
