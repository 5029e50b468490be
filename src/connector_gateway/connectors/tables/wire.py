"""What the vendor answers, version 0: the fields that are read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, field

from connector_gateway.kit.wire import WireModel, convert

Cells = Mapping[str, Any]
"""The values of a record by field; their shapes are as many as the vendor has types, so they stay JSON."""


class User(WireModel):
    """A person in a cell."""

    id: str


class Me(WireModel):
    """The user of the token; what it allows is told of tokens by OAuth only."""

    id: str
    email: str | None = None
    scopes: list[str] | None = None


class Base(WireModel, rename="camel"):
    """A base."""

    id: str
    permission_level: str = ""


class Bases(WireModel):
    """A page of bases."""

    bases: Sequence[Base]
    offset: str | None = None


class Choice(WireModel):
    """An option of a select."""

    name: str


class Options(WireModel, rename="camel"):
    """How a field is set up; every type has some of these, or none."""

    choices: Sequence[Choice] = ()
    precision: int | None = None
    duration_format: str | None = None
    max: int | None = None
    linked_table_id: str = ""


NO_OPTIONS = Options()

SET_UP = frozenset(
    ("singleSelect", "multipleSelects", "number", "currency", "percent", "duration", "rating", "multipleRecordLinks")
)
"""The types whose options are read; those of others, which may be new, can look like anything."""


class Field(WireModel):
    """A field of a table."""

    id: str
    name: str
    type: str
    told: Any = field(default=None, name="options")

    def __post_init__(self) -> None:
        """Refuse options that cannot be read while the answer is decoded, before anybody remembers them."""
        self.options()

    def options(self) -> Options:
        """How the field is set up."""
        return NO_OPTIONS if self.told is None or self.type not in SET_UP else convert(self.told, Options)


class View(WireModel):
    """A view of a table."""

    id: str
    name: str


class Table(WireModel, rename="camel"):
    """A table with its fields and views."""

    id: str
    name: str
    primary_field_id: str
    fields: Sequence[Field]
    views: Sequence[View] = ()


class Schema(WireModel):
    """The tables of a base."""

    tables: Sequence[Table]


class Row(WireModel):
    """A record of which it is not read when it was made."""

    id: str
    fields: Cells = field(default_factory=dict)


class Rows(WireModel):
    """The records that one request has made, in its order."""

    records: Sequence[Row]


class Record(WireModel, rename="camel"):
    """A record."""

    id: str
    created_time: Annotated[datetime, Meta(tz=True)]
    fields: Cells


class Records(WireModel):
    """A page of records."""

    records: Sequence[Record]
    offset: str | None = None


class Attachment(WireModel):
    """A file in a cell; the vendor tells the size of a link's file once it has fetched it."""

    id: str
    filename: str = ""
    size: int | None = None


class Reason(WireModel):
    """Why a request was refused."""

    type: str = ""
    message: str = ""


class Refusal(WireModel):
    """A refusal as most are written; some have no more than a word."""

    error: Reason | str


class Fault(WireModel):
    """One of several reasons."""

    error: str = ""
    message: str = ""


class Refusals(WireModel):
    """A refusal as limits are told."""

    errors: Sequence[Fault]
