"""The vendor's objects: bases, tables, fields, views, records and cell values."""

import mimetypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

PERMISSIONS = ("none", "read", "comment", "edit", "create", "owner")
"""The roles in a base, lowest first."""

Cells = dict[str, Any]
"""The stored values of a record by field id. Empty cells are absent."""


@dataclass(frozen=True, slots=True)
class User:
    """A user of the bases."""

    id: str
    email: str
    name: str

    def to_json(self) -> dict[str, Any]:
        """Return the user in the format of cells."""
        return {"id": self.id, "email": self.email, "name": self.name}


@dataclass(slots=True)
class Attachment:
    """A file in a cell: uploaded with its bytes, or fetched from ``source`` within a number of seconds."""

    id: str
    filename: str
    type: str
    source: str
    size: int
    requested_at: float = 0.0
    fetch_seconds: float = 0.0
    content: bytes | None = None
    pixels: tuple[int, int] | None = None

    def bytes(self) -> bytes:
        """Return the file content. The content of a file that was not uploaded is generated."""
        if self.content is not None:
            return self.content
        line = f"{self.filename} from {self.source}\n".encode(errors="replace")
        return (line * (self.size // len(line) + 1))[: self.size]


@dataclass(slots=True)
class Field:
    """A column. The schema omits the function of a rollup and the default value."""

    id: str
    name: str
    type: str
    options: dict[str, Any] | None = None
    description: str | None = None
    aggregate: str = ""
    default: Any = None

    def to_json(self) -> dict[str, Any]:
        """Return the field in the format of the schema. Absent descriptions and options are omitted."""
        optional = {"description": self.description, "options": self.options}
        present = {name: value for name, value in optional.items() if value is not None}
        return {"id": self.id, "name": self.name, "type": self.type, **present}

    def option(self, name: str) -> Any:
        """Return the option *name*, or None."""
        return (self.options or {}).get(name)

    def choices(self) -> list[str]:
        """Return the names of a select's options, in order."""
        return [choice["name"] for choice in self.option("choices") or ()]


def match_all(_: Mapping[str, Any]) -> bool:
    """Return True. This is the filter of a view without one."""
    return True


@dataclass(slots=True)
class View:
    """A view of a table: its filter, its order and its hidden fields."""

    id: str
    name: str
    type: str = "grid"
    matches: Callable[[Mapping[str, Any]], bool] = match_all
    sorts: tuple[tuple[str, bool], ...] = ()
    """Field ids, each with whether it is descending."""

    hidden: frozenset[str] = frozenset()

    def to_json(self, visible: Iterable[str] | None) -> dict[str, Any]:
        """Return the view in the format of the schema. Only grids include their *visible* fields."""
        fields: dict[str, Any] = {"id": self.id, "name": self.name, "type": self.type}
        if visible is None or self.type != "grid":
            return fields
        return fields | {"visibleFieldIds": [identifier for identifier in visible if identifier not in self.hidden]}


@dataclass(slots=True)
class Comment:
    """A comment on a record."""

    id: str
    author: User
    text: str
    created_at: float
    updated_at: float | None = None
    parent: str | None = None
    """The parent comment of a reply."""


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
    """The comments, oldest first."""


@dataclass(slots=True)
class Table:
    """Rows with the same fields. A ``synced`` table is filled by another source and read-only."""

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

    def to_json(self, *, visible: bool) -> dict[str, Any]:
        """Return the table in the format of the schema."""
        ids = [field.id for field in self.fields] if visible else None
        return {
            "id": self.id,
            "name": self.name,
            **({} if self.description is None else {"description": self.description}),
            "primaryFieldId": self.primary.id,
            "fields": [field.to_json() for field in self.fields],
            "views": [view.to_json(ids) for view in self.views],
        }

    def add(self, record: Record) -> None:
        """Store a new *record* and number it."""
        self.last_number += 1
        record.number = self.last_number
        self.records[record.id] = record


@dataclass(slots=True)
class Base:
    """A base: its tables, its people, and the role of the token's user."""

    id: str
    name: str
    permission: str
    tables: list[Table]
    users: tuple[User, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    """The roles of other users, by id."""

    transactions: int = 0
    """The number of changes."""

    def role(self, user: User) -> str:
        """Return the role of *user*."""
        return self.roles.get(user.id, self.permission)

    def find_record(self, record_id: str) -> tuple[Table, Record] | None:
        """Return the record with that id and its table, anywhere in the base."""
        return next(((table, table.records[record_id]) for table in self.tables if record_id in table.records), None)


class Named(Protocol):
    """An object with an id and a name."""

    id: str
    name: str


N = TypeVar("N", bound=Named)


def find(items: Iterable[N], key: str) -> N | None:
    """Return the item with that id, or otherwise with exactly that name."""
    candidates = list(items)
    by_id = next((item for item in candidates if item.id == key), None)
    return by_id or next((item for item in candidates if item.name == key), None)


def media_type(filename: str) -> str:
    """Return the media type for a file extension."""
    return mimetypes.guess_type(filename)[0] or "application/octet-stream"


def plain(number: Any) -> Any:
    """Return *number* as an integer if it is whole."""
    return int(number) if isinstance(number, float) and number.is_integer() else number
