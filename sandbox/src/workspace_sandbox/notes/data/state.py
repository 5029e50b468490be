"""The objects of a workspace, their visibility, and the record of changes."""

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

from workspace_sandbox.kit.webhook_sender import ignore_event
from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.error_responses import archived, invalid, not_shared, several_sources

COLORS = ("default", "gray", "brown", "orange", "yellow", "green", "blue", "purple", "pink", "red")
PROPERTY_ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:;<=>?@[]^_`{|}~"
"""The characters of property ids. Some have to be URL-encoded."""

SECRET_CHARACTERS = string.ascii_letters + string.digits

Title = list[tuple[float, str]]
"""All titles of an object with their times, oldest first, for the lagging search index."""


@cache
def _encoded(uid: str) -> str:
    return quote(uid, safe="!'()*-._~")


@dataclass(frozen=True)
class Parent:
    """The parent of an object: ``workspace``, or the kind and id of another object."""

    kind: Literal["workspace", "page_id", "block_id", "database_id", "data_source_id"]
    id: str = ""


@dataclass(slots=True)
class User:
    """A person, or the bot of a connection."""

    id: str
    name: str
    kind: Literal["person", "bot"] = "person"
    email: str = ""
    owner_id: str | None = None
    """The person who authorised a public bot."""
    integration_id: str = ""
    """The integration of a bot's connection."""
    shared: set[str] = field(default_factory=set)
    """The databases and pages shared with a bot, including everything in them."""


@dataclass(slots=True)
class Option:
    """An option of a select, multi_select or status property."""

    id: str
    name: str
    color: str


@dataclass(slots=True)
class Property:
    """A property of a data source. ``id`` is not URL-encoded."""

    id: str
    name: str
    type: str
    config: dict[str, Any] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    groups: list[tuple[Option, list[str]]] = field(default_factory=list)
    """The groups of a status, each with the ids of its options."""
    compute: "Callable[[Workspace, Page], Any] | None" = None
    """The function that computes a formula: a string, number, boolean, date object or None."""

    @property
    def wire_id(self) -> str:
        """The URL-encoded id."""
        return _encoded(self.id)

    def option(self, name: str) -> Option | None:
        """Return the option with exactly that name."""
        return next((option for option in self.options if option.name == name), None)


@dataclass(slots=True)
class Entity:
    """The fields that all objects share."""

    id: str
    parent: Parent
    created_at: float
    edited_at: float
    created_by: str
    edited_by: str
    in_trash: bool = False
    icon: dict[str, Any] | None = None
    cover: dict[str, Any] | None = None


@dataclass(slots=True)
class Container(Entity):
    """An object that contains blocks and pages, in order."""

    children: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Database(Entity):
    """A container of data sources, which has no properties itself."""

    title: str = ""
    description: str = ""
    source_ids: list[str] = field(default_factory=list)
    is_inline: bool = False


@dataclass(slots=True)
class DataSource(Entity):
    """A table with properties, whose rows are pages. Its parent is a database."""

    titles: Title = field(default_factory=list)
    properties: dict[str, Property] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    last_number: int = 0
    """The number of the latest row."""

    @property
    def title(self) -> str:
        """The current title."""
        return self.titles[-1][1]

    def find(self, key: str) -> Property | None:
        """Return the property with that name or URL-encoded id."""
        match = next((prop for prop in self.properties.values() if prop.name == key), None)
        return match or next((prop for prop in self.properties.values() if prop.wire_id == key), None)

    def find_in_url(self, key: str) -> Property | None:
        """Return the property with that name or id in a path or query, in which libraries encode ids once or twice."""
        return self.find(key) or self.properties.get(key)

    def properties_of_type(self, kind: str) -> list[Property]:
        """Return the properties of one type."""
        return [prop for prop in self.properties.values() if prop.type == kind]


@dataclass(slots=True)
class Page(Container):
    """A page. ``values`` has property values by id, and an absent one is empty."""

    values: dict[str, Any] = field(default_factory=dict)
    titles: Title = field(default_factory=list)
    is_locked: bool = False

    @property
    def title(self) -> str:
        """The title without styles."""
        return rich_text.plain_text(self.values.get("title", []))


@dataclass(slots=True)
class Block(Container):
    """A block of a page's body."""

    type: str = "paragraph"
    content: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Comment(Entity):
    """A comment. All comments of a discussion have the same page or block as parent."""

    discussion_id: str = ""
    text: rich_text.Items = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an object, with the vendor's event type."""

    at: float
    type: str
    entity: Entity
    author_ids: tuple[str, ...]
    updated: Mapping[str, Any]
    """The changed parts by id, in the vendor's format: properties, columns or blocks."""


Shared = TypeVar("Shared", bound=Entity)


@dataclass(frozen=True, slots=True)
class ShareOption:
    """A checkbox of the consent page: databases and pages that are shared with everything in them."""

    label: str
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class WorkspaceInstallation:
    """A workspace in which a person can authorise an OAuth app, with its bot and the shareable objects."""

    workspace: "Workspace"
    bot: User
    share_options: tuple[ShareOption, ...]


class Workspace:
    """All data of one Notion workspace."""

    def __init__(self, name: str, now: Callable[[], float], random: Random) -> None:
        self.name = name
        self.now = now
        self.random = random
        self.id = self.new_id()
        self.users: dict[str, User] = {}
        self.databases: dict[str, Database] = {}
        self.sources: dict[str, DataSource] = {}
        self.pages: dict[str, Page] = {}
        self.blocks: dict[str, Block] = {}
        self.comments: dict[str, Comment] = {}
        self.emit: Callable[[Change], None] = ignore_event
        """The callback for every change."""

    def new_id(self) -> str:
        """Return a new identifier."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def new_property_id(self) -> str:
        """Return a new property id."""
        return "".join(self.random.choices(PROPERTY_ID_CHARACTERS, k=4))

    def new_secret(self, prefix: str, length: int) -> str:
        """Return a new token: *prefix* and *length* random characters."""
        return prefix + "".join(self.random.choices(SECRET_CHARACTERS, k=length))

    def find(self, uid: str) -> Database | DataSource | Page | Block | None:
        """Return the object with that id, of any kind."""
        return self.databases.get(uid) or self.sources.get(uid) or self.pages.get(uid) or self.blocks.get(uid)

    def lineage(self, entity: Entity) -> Iterator[Entity]:
        """Iterate over *entity*, its parent, and so on up to the top."""
        upper: Entity | None = entity
        while upper is not None:
            yield upper
            upper = self.find(upper.parent.id)

    def can_access(self, bot: User, entity: Entity) -> bool:
        """Return True if *entity* is shared with *bot*, directly or through an ancestor."""
        return any(upper.id in bot.shared for upper in self.lineage(entity))

    def database(self, bot: User, uid: str) -> Database:
        """Return the database with that id. Raises an error if it is absent or not shared."""
        return self._shared("database", self.databases.get(uid), bot, uid)

    def source(self, bot: User, uid: str) -> DataSource:
        """Return the data source with that id. Raises an error if it is absent or not shared."""
        return self._shared("data_source", self.sources.get(uid), bot, uid)

    def page(self, bot: User, uid: str) -> Page:
        """Return the page with that id. Raises an error if it is absent or not shared."""
        return self._shared("page", self.pages.get(uid), bot, uid)

    def block(self, bot: User, uid: str) -> Block | Page | Database:
        """Return the block, page or database with that id. Raises an error if it is absent or not shared."""
        entity = self.find(uid)
        if isinstance(entity, Block | Page | Database) and self.can_access(bot, entity):
            return entity
        raise not_shared("block", uid, bot.integration_id, bot.name)

    def only_source(self, database: Database) -> DataSource:
        """Return the only data source of *database*. Raises an error if it has several."""
        if len(database.source_ids) != 1:
            raise several_sources(database.id, list(database.source_ids))
        return self.sources[database.source_ids[0]]

    def get_source(self, page: Page) -> DataSource | None:
        """Return the data source of the row *page*."""
        return self.sources.get(page.parent.id)

    def active_rows(self, source: DataSource) -> list[Page]:
        """Return the rows of *source*, without the trash."""
        return [page for page in map(self.pages.__getitem__, source.rows) if not page.in_trash]

    def check_editable(self, entity: Entity) -> None:
        """Raise an error if *entity* or one of its ancestors is in the trash."""
        if entity.in_trash:
            raise archived()
        if any(upper.in_trash for upper in self.lineage(entity)):
            raise invalid(
                "Can't edit page on block with an archived ancestor. "
                "You must unarchive the ancestor before editing page."
            )

    def record_change(
        self, entity: Entity, author_id: str, what: str, updated: Mapping[str, Any] | None = None
    ) -> None:
        """Record that *author_id* has just changed *entity*: the event type *what* and the *updated* parts."""
        entity.edited_at, entity.edited_by = self.now(), author_id
        self.emit(Change(entity.edited_at, what, entity, (author_id,), updated or {}))

    def _shared(self, kind: str, entity: Shared | None, bot: User, uid: str) -> Shared:
        if entity is None or not self.can_access(bot, entity):
            raise not_shared(kind, uid, bot.integration_id, bot.name)
        return entity
