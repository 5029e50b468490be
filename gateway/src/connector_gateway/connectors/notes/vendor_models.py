"""The fields read from the vendor's responses, version 2026-03-11."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from connector_gateway.kit.vendor_model import VendorModel

T = TypeVar("T")

Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its offset."""

Raw = msgspec.Raw
"""A part that is decoded later, or not at all."""


class Reference(VendorModel):
    """An object of which only the identifier is read: a user, a related page, a data source, a new block."""

    id: str


class Present(VendorModel):
    """An object of which only the presence matters."""


class RichText(VendorModel):
    """A piece of text."""

    plain_text: str


# Values of properties


class Option(VendorModel):
    """An option of a select, multi-select or status."""

    id: str
    name: str


class Period(VendorModel):
    """A date or time, or a range of them. Their form differs, so they are parsed when compared."""

    start: str
    end: str | None = None
    time_zone: str | None = None


class Person(VendorModel):
    """The fields of a human user."""

    email: str | None = None


class User(VendorModel):
    """A user, with name and email address if the connection may read them."""

    id: str
    name: str | None = None
    person: Person | None = None


class Bot(VendorModel):
    """The fields of a bot user."""

    workspace_name: str | None = None


class Me(VendorModel):
    """The integration's own user."""

    id: str
    name: str | None = None
    bot: Bot | None = None


class Link(VendorModel):
    """The location of a file."""

    url: str


class File(VendorModel):
    """A file. Uploaded and linked files have their URL in different fields."""

    name: str | None = None
    external: Link | None = None
    file: Link | None = None


class UniqueId(VendorModel):
    """A number that the vendor increments."""

    number: int | None = None
    prefix: str | None = None


class Place(VendorModel):
    """A place on earth."""

    lat: float | int
    lon: float | int
    name: str | None = None
    address: str | None = None


class Verification(VendorModel):
    """The verification state of a page."""

    state: str


class Computed(VendorModel):
    """The result of a formula or rollup, in the field of its type."""

    type: str
    string: str | None = None
    number: float | int | None = None
    boolean: bool | None = None
    date: Period | None = None
    array: "Sequence[Value]" = ()


class Value(VendorModel):
    """A property value, in the field of its type. For unknown types, only the name of the type is read."""

    type: str
    id: str = ""
    has_more: bool = False
    title: Sequence[RichText] | None = None
    rich_text: Sequence[RichText] | None = None
    number: float | int | None = None
    checkbox: bool | None = None
    select: Option | None = None
    status: Option | None = None
    multi_select: Sequence[Option] | None = None
    date: Period | None = None
    url: str | None = None
    email: str | None = None
    phone_number: str | None = None
    people: Sequence[User] | None = None
    relation: Sequence[Reference] | None = None
    files: Sequence[File] | None = None
    place: Place | None = None
    created_by: User | None = None
    last_edited_by: User | None = None
    created_time: str | None = None
    last_edited_time: str | None = None
    unique_id: UniqueId | None = None
    formula: Computed | None = None
    rollup: Computed | None = None
    verification: Verification | None = None


class Item(VendorModel):
    """One item of a long property value, in the field of its type."""

    title: RichText | None = None
    rich_text: RichText | None = None
    people: User | None = None
    relation: Reference | None = None


class Items(Item):
    """A page of such items, or a single item, which comes without a list around it."""

    results: Sequence[Item] | None = None
    next_cursor: str | None = None


# Pages


class Parent(VendorModel):
    """The parent of a page or a data source."""

    data_source_id: str | None = None
    database_id: str | None = None


class NewPage(VendorModel):
    """A created page."""

    id: str
    url: str
    created_time: Timestamp


class PageState(VendorModel):
    """The page's own state."""

    id: str
    in_trash: bool
    last_edited_time: Timestamp


class Page(PageState, tag_field="object", tag="page"):
    """A page with its values."""

    url: str
    created_time: Timestamp
    created_by: Reference
    last_edited_by: Reference
    parent: Parent
    properties: dict[str, Value]
    icon: Present | None = None
    cover: Present | None = None


class Listed(VendorModel):
    """An item of a list that mixes pages and data sources."""

    object: str


class Listing(VendorModel, Generic[T]):
    """A page of a list, of items of one kind or of undecoded items."""

    results: Sequence[T]
    next_cursor: str | None = None
    request_status: "QueryProgress | None" = None


class QueryProgress(VendorModel):
    """The completeness of a query."""

    type: str


# Databases


class Database(VendorModel):
    """A database, which consists of data sources."""

    title: Sequence[RichText]
    data_sources: Sequence[Reference]


class Choices(VendorModel):
    """The options of a property."""

    options: Sequence[Option]


class Property(VendorModel):
    """A property as described by its data source, with its options if it has any."""

    id: str
    name: str
    type: str
    select: Choices | None = None
    status: Choices | None = None
    multi_select: Choices | None = None


class DataSource(VendorModel, tag_field="object", tag="data_source"):
    """A data source with its schema."""

    id: str
    title: Sequence[RichText]
    parent: Parent
    properties: dict[str, Property]
    in_trash: bool
    created_time: Timestamp
    last_edited_time: Timestamp


# Blocks


class Text(VendorModel):
    """The text of a block."""

    rich_text: Sequence[RichText] = ()


class Block(VendorModel):
    """A block of a body. For kinds that are never written, only the name of the kind is read."""

    type: str
    created_by: Reference
    has_children: bool = False
    paragraph: Text | None = None
    bulleted_list_item: Text | None = None
    callout: Text | None = None


class Blocks(VendorModel):
    """A page of blocks."""

    results: Sequence[Block]
    next_cursor: str | None = None


class Appended(VendorModel):
    """The added blocks, as listed by the response."""

    results: Sequence[Reference]


# Errors


class VendorError(VendorModel):
    """The error of a rejected request. Only its status is reliable."""

    code: Any = None
    message: Any = None
    object: Any = None
    status: Any = None


class Throttle(VendorModel):
    """The limit reached, in an error."""

    rate_limit_reason: str = ""


class Throttled(VendorModel):
    """An error that may name the limit reached."""

    additional_data: Throttle | None = None


class SavedPage(VendorModel):
    """The page saved despite a failure."""

    committed_resource_id: str


class SavedBlocks(VendorModel):
    """The blocks saved despite a failure."""

    committed_child_ids: Sequence[str]


class FailureWithPage(VendorModel):
    """A failure that names the saved page."""

    additional_data: SavedPage


class FailureWithBlocks(VendorModel):
    """A failure that names the saved blocks."""

    additional_data: SavedBlocks


# Deliveries


class Handshake(VendorModel, forbid_unknown_fields=True):
    """The first delivery, which contains only the key of all later signatures."""

    verification_token: str


class Entity(VendorModel):
    """The subject of a delivery."""

    id: str = ""
    type: str = ""


class DeliveryData(VendorModel):
    """The location of the subject."""

    parent: Parent | None = None


class DeliverySubject(VendorModel):
    """A delivery, reduced to the location of the change."""

    entity: Entity | None = None
    data: DeliveryData | None = None


class DeliveryAudience(VendorModel):
    """A delivery, reduced to its audience. Only public connections have one."""

    accessible_by: "Sequence[Viewer] | None" = None


class Viewer(VendorModel):
    """A user or bot that can see the subject."""

    id: str
    type: str = ""
