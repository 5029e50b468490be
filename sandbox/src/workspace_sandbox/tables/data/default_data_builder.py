"""Builders of default tables: fields, options and views with reproducible identifiers."""

import string
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from workspace_sandbox.tables.data.atomic_cell_changes import COLOURS
from workspace_sandbox.tables.data.state import Field

ALPHABET = string.ascii_letters + string.digits
CHECK = {"icon": "check", "color": "greenBright"}
STARS = {"icon": "star", "color": "yellowBright", "max": 5}
ISO_DATE = {"name": "iso", "format": "YYYY-MM-DD"}
CLOCK = {"name": "24hour", "format": "HH:mm"}
TEXT = {"type": "singleLineText"}


class Identifiers:
    """Reproducible identifiers in the vendor's format, independent of later ones."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, prefix: str) -> str:
        """Return the next identifier."""
        return prefix + "".join(self.random.choices(ALPHABET, k=14))


def fields(new_id: Identifiers, columns: Mapping[str, Any]) -> list[Field]:
    """Return fields from ``{name: type}`` or ``{name: (type, options)}``."""
    new_fields = []
    for name, definition in columns.items():
        kind, options = (definition, None) if isinstance(definition, str) else definition
        new_fields.append(Field(new_id("fld"), name, kind, options))
    return new_fields


def choices(new_id: Callable[[str], str], names: Sequence[str]) -> dict[str, Any]:
    """Return the options of a select."""
    colours = (COLOURS[index % len(COLOURS)] for index in range(len(names)))
    pairs = zip(names, colours, strict=True)
    return {"choices": [{"id": new_id("sel"), "name": name, "color": colour} for name, colour in pairs]}


def date_time(zone: str) -> dict[str, Any]:
    """Return the options of a date and time field."""
    return {"timeZone": zone, "dateFormat": ISO_DATE, "timeFormat": CLOCK}


def link_options(table: str, inverse: str | None = None, *, single: bool = False) -> dict[str, Any]:
    """Return the options of a field that links to records of *table*."""
    options = {"linkedTableId": table, "isReversed": False, "prefersSingleRecordLink": single}
    return options if inverse is None else options | {"inverseLinkFieldId": inverse}


def lookup_options(linking: str, column: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a field that looks up *column* through the field *linking*."""
    return {
        "isValid": True,
        "recordLinkFieldId": linking,
        "fieldIdInLinkedTable": column,
        "result": dict(result),
    }
