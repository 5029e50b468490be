"""The vendor's objects: bases, tables, fields, views, records and what lies in their cells."""

import mimetypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

PERMISSIONS = ("none", "read", "comment", "edit", "create", "owner")
"""Roles in a base, the lowest first."""

Cells = dict[str, Any]
"""What is kept of a record, by field id; an empty cell is not there."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who works in the bases."""

    id: str
    email: str
    name: str

    def shape(self) -> dict[str, Any]:
        """As cells show them."""
        return {"id": self.id, "email": self.email, "name": self.name}


@dataclass(slots=True)
class Attachment:
    """A file in a cell: uploaded with its bytes, or fetched from ``source`` in so many seconds."""

    id: str
    filename: str
    type: str
    source: str
    size: int
    asked_at: float = 0.0
    fetch_seconds: float = 0.0
    content: bytes | None = None
    pixels: tuple[int, int] | None = None

    def bytes(self) -> bytes:
        """The file; one that was never really fetched is made up, to its length."""
        if self.content is not None:
            return self.content
        line = f"{self.filename} from {self.source}\n".encode(errors="replace")
        return (line * (self.size // len(line) + 1))[: self.size]


@dataclass(slots=True)
class Field:
    """A column; what a rollup does with the values it finds, and a default value, are not told by the schema."""

    id: str
    name: str
    type: str
    options: dict[str, Any] | None = None
    description: str | None = None
    aggregate: str = ""
    default: Any = None

    def shape(self) -> dict[str, Any]:
        """As the schema shows it; absent descriptions and options are left out."""
        optional = {"description": self.description, "options": self.options}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"id": self.id, "name": self.name, "type": self.type, **given}

    def option(self, name: str) -> Any:
        """The option *name*, None where there is none."""
        return (self.options or {}).get(name)

    def choices(self) -> list[str]:
        """The names of a select's options, in their order."""
        return [choice["name"] for choice in self.option("choices") or ()]


def everything(_: Mapping[str, Any]) -> bool:
    """The filter of a view without one."""
    return True


@dataclass(slots=True)
class View:
    """A way to look at a table: which records, in which order, and which fields are hidden."""

    id: str
    name: str
    type: str = "grid"
    keeps: Callable[[Mapping[str, Any]], bool] = everything
    sorts: tuple[tuple[str, bool], ...] = ()
    """Field ids, and whether each falls."""

    hidden: frozenset[str] = frozenset()

    def shape(self, visible: Iterable[str] | None) -> dict[str, Any]:
        """As the schema shows it; only grids tell their *visible* fields."""
        about: dict[str, Any] = {"id": self.id, "name": self.name, "type": self.type}
        if visible is None or self.type != "grid":
            return about
        return about | {"visibleFieldIds": [identifier for identifier in visible if identifier not in self.hidden]}


@dataclass(slots=True)
class Comment:
    """What somebody says about a record."""

    id: str
    author: User
    text: str
    created_at: float
    updated_at: float | None = None
    parent: str | None = None
    """The comment that it answers."""


@dataclass(slots=True)
class Record:
    """A row."""

    id: str
    number: int
    created_at: float
    created_by: User
    modified_at: float
    modified_by: User
    cells: Cells = field(default_factory=dict)
    comments: tuple[Comment, ...] = ()
    """The oldest first."""


@dataclass(slots=True)
class Table:
    """Rows of the same fields; a ``synced`` one is filled from elsewhere, and only read here."""

    id: str
    name: str
    fields: list[Field]
    views: list[View]
    records: dict[str, Record] = field(default_factory=dict)
    description: str | None = None
    synced: bool = False
    last_number: int = 0

    @property
    def primary(self) -> Field:
        """The field that names the records."""
        return self.fields[0]

    def shape(self, *, visible: bool) -> dict[str, Any]:
        """As the schema shows it."""
        ids = [field.id for field in self.fields] if visible else None
        return {
            "id": self.id,
            "name": self.name,
            **({} if self.description is None else {"description": self.description}),
            "primaryFieldId": self.primary.id,
            "fields": [field.shape() for field in self.fields],
            "views": [view.shape(ids) for view in self.views],
        }

    def add(self, record: Record) -> None:
        """Keep a new *record*, and number it."""
        self.last_number += 1
        record.number = self.last_number
        self.records[record.id] = record


@dataclass(slots=True)
class Base:
    """Tables, the people who work in them, and what the token's user may do there."""

    id: str
    name: str
    permission: str
    tables: list[Table]
    users: tuple[User, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    """What others may do there, by their ids."""

    transactions: int = 0
    """How often something was changed in it."""

    def role(self, user: User) -> str:
        """What *user* may do there."""
        return self.roles.get(user.id, self.permission)

    def home(self, record_id: str) -> tuple[Table, Record] | None:
        """The record of that id with its table, wherever in the base it is."""
        return next(((table, table.records[record_id]) for table in self.tables if record_id in table.records), None)


class Named(Protocol):
    """Whatever is found by its id or its name."""

    id: str
    name: str


N = TypeVar("N", bound=Named)


def find(items: Iterable[N], key: str) -> N | None:
    """The one of *items* with that id, else the one with exactly that name."""
    among = list(items)
    by_id = next((item for item in among if item.id == key), None)
    return by_id or next((item for item in among if item.name == key), None)


def media_type(filename: str) -> str:
    """What a file is, by the end of its name."""
    return mimetypes.guess_type(filename)[0] or "application/octet-stream"


def plain(number: Any) -> Any:
    """*number* as an integer where it is whole."""
    return int(number) if isinstance(number, float) and number.is_integer() else number
