"""What the vendor answers, version 2026-09: the fields that are read."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Generic, TypeVar

from msgspec import Meta

from connector_gateway.kit.wire import WireModel

T = TypeVar("T")

Moment = Annotated[datetime, Meta(tz=True)]
"""An instant as records tell it: ISO 8601 with its offset."""


# Lists


class Next(WireModel):
    """Where the next page begins."""

    after: str


class Paging(WireModel):
    """What a page tells of those around it."""

    next: Next | None = None


class Page(WireModel, Generic[T]):
    """A page of a list; lists that are always whole have the same form."""

    results: Sequence[T]
    paging: Paging | None = None

    @property
    def after(self) -> str | None:
        """Where the next page begins; None after the last."""
        return self.paging.next.after if self.paging and self.paging.next else None


# Records


class Record(WireModel, rename="camel"):
    """A contact, company, deal or note: every value is text, and an empty one is null or absent."""

    id: str
    properties: Mapping[str, str | None]
    created_at: Moment
    updated_at: Moment


class Upserted(Record, rename="camel"):
    """A record that was written, and whether it is a new one."""

    new: bool


class Deal(Record, rename="camel"):
    """A deal that was made, whose amount is a number."""

    def __post_init__(self) -> None:
        amount = self.properties.get("amount")
        if amount and not math.isfinite(float(amount)):
            raise ValueError("Expected a finite number as amount")


class Associated(WireModel):
    """An association that was made, of which nothing is read."""


class Batch(WireModel, Generic[T]):
    """What became of a batch: what was done, and of what was not, why; the latter in the form of refusals."""

    results: Sequence[T]
    errors: object = None


class Linked(WireModel, rename="camel"):
    """The far end of an association; its identifier is a number here, unlike everywhere else."""

    to_object_id: int | str


class Links(WireModel):
    """The associations of one record, which are paged for each record by itself."""

    to: Sequence[Linked]
    paging: Paging | None = None

    @property
    def after(self) -> str | None:
        """Where the next page begins; None after the last."""
        return self.paging.next.after if self.paging and self.paging.next else None


# What a portal is made of


class Option(WireModel):
    """One choice of an enumeration."""

    value: str
    label: str = ""


class Modification(WireModel, rename="camel"):
    """What may be changed of a property."""

    read_only_value: bool = False


class Definition(WireModel, rename="camel"):
    """A property; types other than those that are known here are told as they are."""

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


class StageMetadata(WireModel, rename="camel"):
    """What a stage means; the vendor writes its values as texts."""

    is_closed: str = ""


class Stage(WireModel):
    """A stage of a pipeline."""

    id: str
    label: str
    archived: bool = False
    metadata: StageMetadata = StageMetadata()


class Pipeline(WireModel):
    """A pipeline of deals with its stages."""

    id: str
    label: str
    stages: Sequence[Stage]
    archived: bool = False


class Owner(WireModel):
    """An owner of records; a queue has no address, and an archived owner is a deactivated user."""

    id: str
    archived: bool
    type: str = ""
    email: str | None = None


class Account(WireModel, rename="camel"):
    """The portal itself."""

    portal_id: int


class Issued(WireModel):
    """The tokens that were issued; unlike others, this vendor lists scopes."""

    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None
    scopes: list[str] | None = None


# Refusals, in which nothing is certain


class Refusal(WireModel, rename="camel"):
    """A refusal, whatever its fields are: each is looked at by itself."""

    category: object = None
    message: object = None
    status: object = None
    policy_name: object = None
    errors: object = None


class Context(WireModel, rename="camel"):
    """What a fault is about."""

    property_name: Sequence[str] = ()
    properties: Sequence[str] = ()
    required_granular_scopes: Sequence[str] = ()


class Fault(WireModel):
    """One fault of a refusal."""

    code: str | None = None
    message: str | None = None
    context: Context | None = None


class EmbeddedFault(WireModel):
    """One fault of those that stand as JSON within the message of a refusal."""

    error: str
    name: str
    message: str | None = None
