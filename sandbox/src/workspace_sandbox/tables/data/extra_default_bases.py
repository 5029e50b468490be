"""The default bases besides the sales base: one that the token's user can edit, and a hidden one."""

from collections.abc import Iterable, Mapping
from typing import Any

from workspace_sandbox.tables.data.default_data_builder import CHECK, ISO_DATE, Identifiers, choices, fields
from workspace_sandbox.tables.data.state import Base, Record, Table, User, View

ITEMS = ("Laptop", "Beamer", "Stehtisch", "Kaffeemaschine ☕", "Router", "ホワイトボード", "Headset")
MEETING_ROOMS = ("Nord", "Süd", "Ost", "West")
HOUR = 3600.0
INVENTORY = 130
BOOKINGS = 24
IMPORTED = 15
SALARIES = 8


def build_other_bases(new_id: Identifiers, people: tuple[User, ...], start: float) -> list[Base]:
    """Return the office and payroll bases."""
    office = [_inventory(new_id), _bookings(new_id), _imported(new_id)]
    hidden = [_salaries(new_id)]
    for table in (*office, *hidden):
        _date(table, people[1], start)
    return [
        Base(new_id("app"), "Büro & Office", "edit", office, people, {people[1].id: "create"}),
        Base(new_id("app"), "Payroll", "none", hidden, people[1:], {people[1].id: "owner"}),
    ]


def _inventory(new_id: Identifiers) -> Table:
    columns = {
        "Item": "singleLineText",
        "Kind": ("singleSelect", choices(new_id, ("Hardware", "Furniture"))),
        "Price": ("currency", {"precision": 2, "symbol": "€"}),
        "In use": ("checkbox", CHECK),
        "Photos": ("multipleAttachments", {"isReversed": False}),
    }
    rows = [
        (
            f"{ITEMS[number % len(ITEMS)]} {number + 1}",
            ("Hardware", "Furniture")[number % 2],
            19.5 + number,
            number % 3 == 0,
        )
        for number in range(INVENTORY)
    ]
    return _table(new_id, "Inventory", columns, rows)


def _bookings(new_id: Identifiers) -> Table:
    columns = {
        "Room": "singleLineText",
        "Day": ("date", {"dateFormat": ISO_DATE}),
        "Guests": ("number", {"precision": 0}),
    }
    rows = [
        (MEETING_ROOMS[number % len(MEETING_ROOMS)], f"2026-11-{number + 1:02d}", number) for number in range(BOOKINGS)
    ]
    return _table(new_id, 'Bookings? "2026"', columns, rows)


def _imported(new_id: Identifiers) -> Table:
    columns = {"Name": "singleLineText", "Origin": ("externalSyncSource", choices(new_id, ("Directory",)))}
    table = _table(new_id, "Imported people", columns, [(f"Person {n + 1}", "Directory") for n in range(IMPORTED)])
    table.synced = True
    return table


def _salaries(new_id: Identifiers) -> Table:
    columns = {"Person": "singleLineText", "Salary": ("currency", {"precision": 2, "symbol": "€"})}
    return _table(new_id, "Salaries", columns, [(f"Person {n + 1}", 41_000 + 250 * n) for n in range(SALARIES)])


def _table(new_id: Identifiers, name: str, columns: Mapping[str, Any], rows: Iterable[tuple[Any, ...]]) -> Table:
    table = Table(new_id("tbl"), name, fields(new_id, columns), [View(new_id("viw"), "Grid view")])
    no_author = User("", "", "")
    for row in rows:
        record = Record(new_id("rec"), 0, 0.0, no_author, 0.0, no_author)
        pairs = zip(table.fields, row, strict=False)
        record.cells = {field.id: value for field, value in pairs if value not in (None, False)}
        table.add(record)
    return table


def _date(table: Table, author: User, beginning: float) -> None:
    """Set the author and creation time of all records of *table*, an hour apart."""
    for record in table.records.values():
        record.created_at = record.modified_at = beginning + record.number * HOUR
        record.created_by = record.modified_by = author
