"""Conversion of loose values for ``typecast``, before strict validation: best effort, or None."""

import re
from typing import Any

from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.atomic_cell_changes import Cell, Write
from workspace_sandbox.tables.data.state import plain

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MAX_STARS_INPUT = 1e9
CHECKED = frozenset({"true", "checked", "yes", "1"})


def _text(_: Cell, raw: Any) -> Any:
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, int | float):
        return str(plain(raw))
    return ", ".join(str(part) for part in raw) if isinstance(raw, list) else raw


def _number(_: Cell, raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    divisor = 100 if raw.strip().endswith("%") else 1
    match = NUMBER.search(raw.replace(",", ""))
    return float(match.group()) / divisor if match else None


def _rating(cell: Cell, raw: Any) -> Any:
    stars = _number(cell, raw)
    if isinstance(stars, int | float) and -MAX_STARS_INPUT < stars < MAX_STARS_INPUT:
        return max(0, min(int(stars), cell.field.option("max"))) or None
    return stars


def _checkbox(_: Cell, raw: Any) -> Any:
    if isinstance(raw, str):
        return raw.strip().casefold() in CHECKED
    return bool(raw) if isinstance(raw, int) else raw


def _select(cell: Cell, raw: Any) -> Any:
    text = _text(cell, raw)
    return text.strip() if isinstance(text, str) else text


def _selects(cell: Cell, raw: Any) -> Any:
    parts = raw if isinstance(raw, list) else _parts(_text(cell, raw))
    return [name for part in parts if (name := _select(cell, part))] if isinstance(parts, list) else parts


def _collaborator(cell: Cell, raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    name = raw.strip()
    matches = (user for user in cell.draft.base.users if name in {user.id, user.email, user.name})
    return next(({"id": user.id} for user in matches), None)


def _collaborators(cell: Cell, raw: Any) -> Any:
    parts = _parts(raw)
    if not isinstance(parts, list):
        return parts
    return [user for part in parts if (user := _collaborator(cell, part)) is not None]


def _date(_: Cell, raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    timestamp = dates.parse_time(raw, "utc")
    return None if timestamp is None else dates.format_time(timestamp)[:10]


def _date_time(cell: Cell, raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    return raw if dates.parse_time(raw, cell.field.option("timeZone")) is not None else None


def _links(cell: Cell, raw: Any) -> Any:
    linked = cell.linked()
    parts = _parts(raw)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return parts
    return [part if cell.draft.is_linkable(linked, part) else cell.draft.resolve_link(linked, part) for part in parts]


def _attachments(_: Cell, raw: Any) -> Any:
    parts = _parts(raw)
    return [{"url": part} if isinstance(part, str) else part for part in parts] if isinstance(parts, list) else parts


def _barcode(cell: Cell, raw: Any) -> Any:
    text = _text(cell, raw)
    return {"text": text} if isinstance(text, str) else raw


def _parts(raw: Any) -> Any:
    """Split a text with commas into items."""
    return [part.strip() for part in raw.split(",") if part.strip()] if isinstance(raw, str) else raw


LOOSE: dict[str, Write] = {
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
"""The converter of each writable type. It returns None if a value cannot be converted."""
