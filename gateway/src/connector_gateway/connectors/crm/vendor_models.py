"""The fields read from the vendor's responses, version 2026-09."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Generic, TypeVar

from msgspec import Meta

from connector_gateway.kit.vendor_model import VendorModel

T = TypeVar("T")

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A time in a record: ISO 8601 with its offset."""


# Lists


class NextPage(VendorModel):
    """The position of the next page."""

    after: str


class Paging(VendorModel):
    """The positions of neighbouring pages."""

    next: NextPage | None = None


class Page(VendorModel, Generic[T]):
    """A page of a list. Lists that are always complete have the same form."""

    results: Sequence[T]
    paging: Paging | None = None

    @property
    def after(self) -> str | None:
        """Return the position of the next page, or None after the last."""
        return self.paging.next.after if self.paging and self.paging.next else None


# Records


class Record(VendorModel, rename="camel"):
    """A contact, company, deal or note. Every value is text, and an empty one is null or absent."""

    id: str
    properties: Mapping[str, str | None]
    created_at: Timestamp
    updated_at: Timestamp


class Upserted(Record, rename="camel"):
    """A written record, and whether it is new."""

    new: bool


class Deal(Record, rename="camel"):
    """A created deal, whose amount is a number."""

    def __post_init__(self) -> None:
        amount = self.properties.get("amount")
        if amount and not math.isfinite(float(amount)):
            raise ValueError("Expected a finite number as amount")


class Associated(VendorModel):
    """A created association, of which nothing is read."""


class Batch(VendorModel, Generic[T]):
    """The result of a batch: the completed records, and errors for the others."""

    results: Sequence[T]
    errors: object = None


class Linked(VendorModel, rename="camel"):
    """The far end of an association. Its identifier is a number here, unlike everywhere else."""

    to_object_id: int | str


class Links(VendorModel):
    """The associations of one record, which are paged per record."""

    to: Sequence[Linked]
    paging: Paging | None = None

    @property
    def after(self) -> str | None:
        """Return the position of the next page, or None after the last."""
        return self.paging.next.after if self.paging and self.paging.next else None


# Portal definitions


class Option(VendorModel):
    """One choice of an enumeration."""

    value: str
    label: str = ""


class Modification(VendorModel, rename="camel"):
    """The permitted changes of a property."""

    read_only_value: bool = False


class Definition(VendorModel, rename="camel"):
    """A property. Unknown types are passed on unchanged."""

    name: str
    label: str
    type: str
    field_type: str = ""
    options: Sequence[Option] = ()
    hubspot_defined: bool = False
    hidden: bool = False
    calculated: bool = False
    external_options: bool = False
    referenced_object_type: str | None = None
    has_unique_value: bool = False
    modification_metadata: Modification = Modification()


class StageMetadata(VendorModel, rename="camel"):
    """The meaning of a stage. The vendor writes its values as texts."""

    is_closed: str = ""


class Stage(VendorModel):
    """A stage of a pipeline."""

    id: str
    label: str
    archived: bool = False
    metadata: StageMetadata = StageMetadata()


class Pipeline(VendorModel):
    """A pipeline of deals with its stages."""

    id: str
    label: str
    stages: Sequence[Stage]
    archived: bool = False


class Owner(VendorModel):
    """An owner of records. A queue has no email address, and an archived owner is a deactivated user."""

    id: str
    archived: bool
    type: str = ""
    email: str | None = None


class Account(VendorModel, rename="camel"):
    """The portal itself."""

    portal_id: int


class Issued(VendorModel):
    """The issued tokens. Unlike others, this vendor lists scopes."""

    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None
    scopes: list[str] | None = None


# Errors, in which any field may be missing


class VendorError(VendorModel, rename="camel"):
    """An error with arbitrary fields, which are decoded separately."""

    category: object = None
    message: object = None
    status: object = None
    policy_name: object = None
    errors: object = None


class ErrorContext(VendorModel, rename="camel"):
    """The subject of an error detail."""

    property_name: Sequence[str] = ()
    properties: Sequence[str] = ()
    required_granular_scopes: Sequence[str] = ()


class ErrorDetail(VendorModel):
    """One detail of an error."""

    code: str | None = None
    message: str | None = None
    context: ErrorContext | None = None


class EmbeddedErrorDetail(VendorModel):
    """One of the details that an error's message contains as JSON."""

    error: str
    name: str
    message: str | None = None
