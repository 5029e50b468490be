"""The fields read from the vendor's responses, version 0."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, field

from connector_gateway.kit.vendor_model import VendorModel, convert

Cells = Mapping[str, Any]
"""The values of a record by field. Their shapes depend on the vendor's many types, so they stay JSON."""


class User(VendorModel):
    """A person in a cell."""

    id: str


class Me(VendorModel):
    """The user of the token. Only OAuth tokens have scopes here."""

    id: str
    email: str | None = None
    scopes: list[str] | None = None


class Base(VendorModel, rename="camel"):
    """A base."""

    id: str
    permission_level: str = ""


class Bases(VendorModel):
    """A page of bases."""

    bases: Sequence[Base]
    offset: str | None = None


class Choice(VendorModel):
    """An option of a select."""

    name: str


class Options(VendorModel, rename="camel"):
    """The configuration of a field. Each type has some of these fields, or none."""

    choices: Sequence[Choice] = ()
    precision: int | None = None
    duration_format: str | None = None
    max: int | None = None
    linked_table_id: str = ""


NO_OPTIONS = Options()

TYPES_WITH_OPTIONS = frozenset(
    ("singleSelect", "multipleSelects", "number", "currency", "percent", "duration", "rating", "multipleRecordLinks")
)
"""The types whose options are decoded. Those of other types may have any form."""


class Field(VendorModel):
    """A field of a table."""

    id: str
    name: str
    type: str
    raw_options: Any = field(default=None, name="options")

    def __post_init__(self) -> None:
        """Reject undecodable options while the response is decoded, before it is cached."""
        self.options()

    def options(self) -> Options:
        """Return the configuration of the field."""
        return (
            NO_OPTIONS
            if self.raw_options is None or self.type not in TYPES_WITH_OPTIONS
            else convert(self.raw_options, Options)
        )


class View(VendorModel):
    """A view of a table."""

    id: str
    name: str


class Table(VendorModel, rename="camel"):
    """A table with its fields and views."""

    id: str
    name: str
    primary_field_id: str
    fields: Sequence[Field]
    views: Sequence[View] = ()


class Schema(VendorModel):
    """The tables of a base."""

    tables: Sequence[Table]


class RecordFields(VendorModel):
    """A record without its creation time."""

    id: str
    fields: Cells = field(default_factory=dict)


class CreatedRows(VendorModel):
    """The records that one request created, in its order."""

    records: Sequence[RecordFields]


class Record(VendorModel, rename="camel"):
    """A record."""

    id: str
    created_time: Annotated[datetime, Meta(tz=True)]
    fields: Cells


class Records(VendorModel):
    """A page of records."""

    records: Sequence[Record]
    offset: str | None = None


class Attachment(VendorModel):
    """A file in a cell. The size of a linked file is unknown until the vendor has fetched it."""

    id: str
    filename: str = ""
    size: int | None = None


class Reason(VendorModel):
    """The reason of an error."""

    type: str = ""
    message: str = ""


class VendorError(VendorModel):
    """An error in the common envelope. Some contain only a word."""

    error: Reason | str


class RateLimitReason(VendorModel):
    """One of several reasons."""

    error: str = ""
    message: str = ""


class RateLimitError(VendorModel):
    """An error in the envelope of rate limits."""

    errors: Sequence[RateLimitReason]
