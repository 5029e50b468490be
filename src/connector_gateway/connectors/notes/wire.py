"""What the vendor answers, version 2026-03-11: the fields that are read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from connector_gateway.kit.wire import WireModel

T = TypeVar("T")

At = Annotated[datetime, msgspec.Meta(tz=True)]
"""An instant, told with its offset."""

Raw = msgspec.Raw
"""A part that is read later, or not at all."""


class Reference(WireModel):
    """A thing of which no more is read than its identifier: a user, a related page, a data source, a new block."""

    id: str


class Present(WireModel):
    """A thing of which no more is read than that it is there."""


class RichText(WireModel):
    """A piece of a text."""

    plain_text: str


# Values of properties


class Option(WireModel):
    """An option of a select, multi-select or status."""

    id: str
    name: str


class Period(WireModel):
    """A day or an instant, or two of them; their form differs, so that they are read where they are compared."""

    start: str
    end: str | None = None
    time_zone: str | None = None


class Person(WireModel):
    """What is told of a user who is no bot."""

    email: str | None = None


class User(WireModel):
    """A user, with name and address where the connection may read them."""

    id: str
    name: str | None = None
    person: Person | None = None


class Bot(WireModel):
    """What is told of a user who is no person."""

    workspace_name: str | None = None


class Me(WireModel):
    """The integration's own user."""

    id: str
    name: str | None = None
    bot: Bot | None = None


class Link(WireModel):
    """Where a file is."""

    url: str


class File(WireModel):
    """A file; one that was uploaded and one that is linked have their address under different names."""

    name: str | None = None
    external: Link | None = None
    file: Link | None = None


class UniqueId(WireModel):
    """A number that the vendor counts up."""

    number: int | None = None
    prefix: str | None = None


class Place(WireModel):
    """A place on earth."""

    lat: float | int
    lon: float | int
    name: str | None = None
    address: str | None = None


class Verification(WireModel):
    """Whether somebody vouches for a page."""

    state: str


class Computed(WireModel):
    """What a formula or a rollup results in, under the name of its type."""

    type: str
    string: str | None = None
    number: float | int | None = None
    boolean: bool | None = None
    date: Period | None = None
    array: "Sequence[Value]" = ()


class Value(WireModel):
    """A property value, under the name of its type; of a type that is not known here, no more than that name."""

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


class Item(WireModel):
    """One item of a long property value, under the name of its type."""

    title: RichText | None = None
    rich_text: RichText | None = None
    people: User | None = None
    relation: Reference | None = None


class Items(Item):
    """A page of such items, or the only one, which comes without a list around it."""

    results: Sequence[Item] | None = None
    next_cursor: str | None = None


# Pages


class Parent(WireModel):
    """Where a page or a data source lies."""

    data_source_id: str | None = None
    database_id: str | None = None


class NewPage(WireModel):
    """A page that was just made."""

    id: str
    url: str
    created_time: At


class PageState(WireModel):
    """A page, as far as it can be changed as a whole."""

    id: str
    in_trash: bool
    last_edited_time: At


class Page(PageState, tag_field="object", tag="page"):
    """A page with its values."""

    url: str
    created_time: At
    created_by: Reference
    last_edited_by: Reference
    parent: Parent
    properties: dict[str, Value]
    icon: Present | None = None
    cover: Present | None = None


class Listed(WireModel):
    """An item of a list that mixes pages and data sources."""

    object: str


class Listing(WireModel, Generic[T]):
    """A page of a list: of items of one kind, or of parts whose kind has to be seen first."""

    results: Sequence[T]
    next_cursor: str | None = None
    request_status: "Progress | None" = None


class Progress(WireModel):
    """Whether a query listed all that there is."""

    type: str


# Databases


class Database(WireModel):
    """A database, which consists of data sources."""

    title: Sequence[RichText]
    data_sources: Sequence[Reference]


class Choices(WireModel):
    """What can be chosen."""

    options: Sequence[Option]


class Property(WireModel):
    """A property as its data source describes it, with its options if it has any."""

    id: str
    name: str
    type: str
    select: Choices | None = None
    status: Choices | None = None
    multi_select: Choices | None = None


class DataSource(WireModel, tag_field="object", tag="data_source"):
    """A data source with its schema."""

    id: str
    title: Sequence[RichText]
    parent: Parent
    properties: dict[str, Property]
    in_trash: bool
    created_time: At
    last_edited_time: At


# Blocks


class Text(WireModel):
    """What a block says."""

    rich_text: Sequence[RichText] = ()


class Block(WireModel):
    """A block of a body; of kinds that are never written here, no more is read than the name of the kind."""

    type: str
    created_by: Reference
    has_children: bool = False
    paragraph: Text | None = None
    bulleted_list_item: Text | None = None
    callout: Text | None = None


class Blocks(WireModel):
    """A page of blocks."""

    results: Sequence[Block]
    next_cursor: str | None = None


class Appended(WireModel):
    """The blocks that were added, as they are listed by the answer."""

    results: Sequence[Reference]


# Refusals


class Refusal(WireModel):
    """Why a request was refused; for its status it is believed, whatever else it holds."""

    code: Any = None
    message: Any = None
    object: Any = None
    status: Any = None


class Throttle(WireModel):
    """Which limit was reached, in a refusal."""

    rate_limit_reason: str = ""


class Throttled(WireModel):
    """A refusal that may say which limit was reached."""

    additional_data: Throttle | None = None


class SavedPage(WireModel):
    """The page that was saved, in a failure."""

    committed_resource_id: str


class SavedBlocks(WireModel):
    """The blocks that were saved, in a failure."""

    committed_child_ids: Sequence[str]


class FailureWithPage(WireModel):
    """A failure that says which page was saved all the same."""

    additional_data: SavedPage


class FailureWithBlocks(WireModel):
    """A failure that says which blocks were saved all the same."""

    additional_data: SavedBlocks


# Deliveries


class Handshake(WireModel, forbid_unknown_fields=True):
    """What is delivered first: the key of all signatures to come, and nothing else."""

    verification_token: str


class Entity(WireModel):
    """What a delivery is about."""

    id: str = ""
    type: str = ""


class Surroundings(WireModel):
    """Where that lies."""

    parent: Parent | None = None


class Subject(WireModel):
    """A delivery, as far as it says where something changed."""

    entity: Entity | None = None
    data: Surroundings | None = None


class Audience(WireModel):
    """A delivery, as far as it says who can see that; only those of public connections do."""

    accessible_by: "Sequence[Viewer] | None" = None


class Viewer(WireModel):
    """Somebody who can see it."""

    id: str
    type: str = ""
