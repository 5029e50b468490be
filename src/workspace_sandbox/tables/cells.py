"""Writing cells: what each type of field takes, strictly."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import times
from workspace_sandbox.tables.casts import LOOSE
from workspace_sandbox.tables.draft import Cell, PendingWrite, Write
from workspace_sandbox.tables.state import Attachment, Field, Record, User, plain
from workspace_sandbox.tables.wire import computed_field, invalid_attachment, invalid_record_id, no_such_row

LARGEST = 1e300
"""Beyond this, and not being a number at all, is refused."""


def write(draft: PendingWrite, field: Field, record: Record | None, raw: Any) -> Any:
    """The value that is kept for *raw*; None where the cell becomes empty."""
    if field.type not in STRICT:
        raise computed_field(field.name)
    cell = Cell(draft, field, record)
    given = LOOSE[field.type](cell, raw) if draft.typecast and raw is not None else raw
    return None if given is None else STRICT[field.type](cell, given)


def _text(cell: Cell, raw: Any) -> str:
    if not isinstance(raw, str):
        raise cell.refused()
    return raw


def _number(cell: Cell, raw: Any) -> int | float:
    # True is a number to Python, and none to Airtable.
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not -LARGEST <= raw <= LARGEST:
        raise cell.refused()
    number: int | float = plain(raw)
    return number


def _rating(cell: Cell, raw: Any) -> int:
    stars = _number(cell, raw)
    if not isinstance(stars, int) or not 1 <= stars <= cell.field.option("max"):
        raise cell.refused()
    return stars


def _checkbox(cell: Cell, raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise cell.refused()
    return raw


def _select(cell: Cell, raw: Any) -> str:
    name = _text(cell, raw)
    return cell.draft.option(cell.field, name) if name else name


def _selects(cell: Cell, raw: Any) -> list[str]:
    names = dict.fromkeys(_text(cell, name) for name in _list(cell, raw))
    return [cell.draft.option(cell.field, name) for name in names]


def _collaborator(cell: Cell, raw: Any) -> User:
    return require(_people(cell, raw) if isinstance(raw, Mapping) else None, cell.refused())


def _people(cell: Cell, raw: Mapping[str, Any]) -> User | None:
    wanted = {name: raw[name] for name in ("id", "email") if name in raw}
    for user in cell.draft.base.users if wanted else ():
        if all(getattr(user, name) == value for name, value in wanted.items()):
            return user
    return None


def _collaborators(cell: Cell, raw: Any) -> list[User]:
    return list(dict.fromkeys(_collaborator(cell, user) for user in _list(cell, raw)))


def _date(cell: Cell, raw: Any) -> str:
    text = _text(cell, raw)
    return require(times.read_date(text) if text else "", cell.refused())


def _date_time(cell: Cell, raw: Any) -> float | None:
    text = _text(cell, raw)
    at = times.read_instant(text, cell.field.option("timeZone")) if text else None
    if text and at is None:
        raise cell.refused()
    return at


def _links(cell: Cell, raw: Any) -> list[str]:
    linked = cell.linked()
    identifiers = list(dict.fromkeys(_text(cell, identifier) for identifier in _list(cell, raw)))
    for identifier in identifiers:
        # Two refusals: recorded traffic has one for what is no identifier, and another for what names no record.
        if not identifier.startswith("rec"):
            raise invalid_record_id(identifier)
        if not cell.draft.has(linked, identifier):
            raise no_such_row(identifier)
    return identifiers


def _attachments(cell: Cell, raw: Any) -> list[Attachment]:
    return [_attachment(cell, item) for item in _list(cell, raw)]


def _attachment(cell: Cell, raw: Any) -> Attachment:
    if not isinstance(raw, Mapping):
        raise invalid_attachment(cell.field.name)
    if "id" in raw:
        return _kept(cell, raw)
    url, filename = raw.get("url"), raw.get("filename")
    if not isinstance(url, str) or not isinstance(filename, str | None) or not _is_fetchable(url):
        raise invalid_attachment(cell.field.name)
    return cell.draft.new_attachment(url, filename or None)


def _kept(cell: Cell, raw: Mapping[str, Any]) -> Attachment:
    """The attachment of that id that the cell already has."""
    held: list[Attachment] = cell.record.cells.get(cell.field.id, []) if cell.record else []
    known = next((attachment for attachment in held if attachment.id == raw["id"]), None)
    if known is None:
        raise invalid_attachment(cell.field.name)
    return known


def _is_fetchable(url: str) -> bool:
    try:
        return urlsplit(url).scheme in {"http", "https"} and bool(host_of(url)) and bool(url.encode())
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of an address."""
    return urlsplit(url).hostname or ""


def filename_of(url: str) -> str:
    """The name of a file that is given by its address only."""
    return unquote(urlsplit(url).path.rsplit("/", 1)[-1]) or "file"


def _barcode(cell: Cell, raw: Any) -> dict[str, str] | None:
    if not isinstance(raw, Mapping) or not set(raw) <= {"text", "type"}:
        raise cell.refused()
    kind = {} if raw.get("type") is None else {"type": _text(cell, raw["type"])}
    text = _text(cell, raw.get("text"))
    return {"text": text, **kind} if text else None


def _list(cell: Cell, raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise cell.refused()
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
"""The types that can be written, and how; whatever is not here is computed, or unknown, and is not written."""
