"""Makes the seeded tables: fields, options and views with identifiers that are the same every time."""

import string
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from workspace_sandbox.tables.draft import COLOURS
from workspace_sandbox.tables.state import Field

ALPHABET = string.ascii_letters + string.digits
CHECK = {"icon": "check", "color": "greenBright"}
STARS = {"icon": "star", "color": "yellowBright", "max": 5}
ISO_DATE = {"name": "iso", "format": "YYYY-MM-DD"}
CLOCK = {"name": "24hour", "format": "HH:mm"}
TEXT = {"type": "singleLineText"}


class Identifiers:
    """Identifiers in the vendor's form, repeatable and independent of what is made later."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, prefix: str) -> str:
        """The next one."""
        return prefix + "".join(self.random.choices(ALPHABET, k=14))


def fields(new_id: Identifiers, columns: Mapping[str, Any]) -> list[Field]:
    """Fields of ``{name: type}`` or ``{name: (type, options)}``."""
    made = []
    for name, about in columns.items():
        kind, options = (about, None) if isinstance(about, str) else about
        made.append(Field(new_id("fld"), name, kind, options))
    return made


def choices(new_id: Callable[[str], str], names: Sequence[str]) -> dict[str, Any]:
    """The options of a select."""
    colours = (COLOURS[index % len(COLOURS)] for index in range(len(names)))
    pairs = zip(names, colours, strict=True)
    return {"choices": [{"id": new_id("sel"), "name": name, "color": colour} for name, colour in pairs]}


def date_time(zone: str) -> dict[str, Any]:
    """The options of a field for instants."""
    return {"timeZone": zone, "dateFormat": ISO_DATE, "timeFormat": CLOCK}


def link(table: str, inverse: str | None = None, *, single: bool = False) -> dict[str, Any]:
    """The options of a field that links to records of the table of that id."""
    made = {"linkedTableId": table, "isReversed": False, "prefersSingleRecordLink": single}
    return made if inverse is None else made | {"inverseLinkFieldId": inverse}


def through(linking: str, column: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a field that looks up *column* through the field *linking*."""
    return {
        "isValid": True,
        "recordLinkFieldId": linking,
        "fieldIdInLinkedTable": column,
        "result": dict(result),
    }
