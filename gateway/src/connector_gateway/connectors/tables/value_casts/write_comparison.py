"""Comparison of a record's values with the values of a write."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from connector_gateway.connectors.tables.value_casts.to_vendor import Person, last_segment


def equals_written(kind: str, written: Any, current: Any) -> bool:
    """Return True if a cell with *current* equals *written*. Empty cells have several forms."""
    if is_empty(written) or is_empty(current):
        return is_empty(written) and is_empty(current)
    try:
        return COMPARATORS[kind](written, current) if kind in COMPARATORS else bool(written == current)
    except (AttributeError, TypeError, ValueError):
        # The type of the field has changed since the write.
        return False


def is_empty(value: Any) -> bool:
    """Return True if a value counts as empty."""
    return value is None or value is False or value in ("", [])


def comparison_key(written: Any) -> Any:
    """Return *written* without the differences that ``equals_written`` ignores: outer blanks, or the order of a set."""
    if isinstance(written, str):
        return written.strip()
    is_set = isinstance(written, list) and all(isinstance(item, str) for item in written)
    return sorted(written) if is_set else written


def _same_text(written: str, current: str) -> bool:
    return written.strip() == current.strip()


def _same_set(written: list[str], current: list[str]) -> bool:
    return set(written) == set(current)


def _same_person(written: Person, current: Person) -> bool:
    return all(current.get(name) == part for name, part in written.items())


def _same_people(written: list[Person], current: list[Person]) -> bool:
    return len(written) == len(current) and all(any(_same_person(one, other) for other in current) for one in written)


def _same_file(written: dict[str, Any], current: dict[str, Any]) -> bool:
    """Compare ids or names, because the vendor stores a new file under another URL than it was fetched from."""
    if "id" in written:
        return bool(written["id"] == current.get("id"))
    return (written.get("filename") or last_segment(written["url"])) == current.get("filename")


COMPARATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("singleLineText", "multilineText", "richText", "email", "url", "phoneNumber"), _same_text),
    "multipleSelects": _same_set,
    "singleCollaborator": _same_person,
    "multipleCollaborators": _same_people,
    "dateTime": lambda written, current: datetime.fromisoformat(written) == datetime.fromisoformat(current),
    "multipleRecordLinks": _same_set,
    "multipleAttachments": lambda written, current: (
        len(written) == len(current) and all(map(_same_file, written, current))
    ),
    "barcode": _same_person,
}
"""The types whose cells may be read in another form than they were written."""
