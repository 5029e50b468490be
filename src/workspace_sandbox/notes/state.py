"""The objects of one workspace, who may see them, and what happens to them."""

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

from workspace_sandbox.kit.hooks import unheard
from workspace_sandbox.notes import richtext
from workspace_sandbox.notes.wire import archived, invalid, not_shared, several_sources

COLORS = ("default", "gray", "brown", "orange", "yellow", "green", "blue", "purple", "pink", "red")
PROPERTY_ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:;<=>?@[]^_`{|}~"
"""Property ids have characters that must be encoded to travel."""

SECRET_CHARACTERS = string.ascii_letters + string.digits

Title = list[tuple[float, str]]
"""Each title an object has had with the instant it was given, oldest first, as the late search index sees them."""


@cache
def _encoded(uid: str) -> str:
    return quote(uid, safe="!'()*-._~")


@dataclass(frozen=True)
class Parent:
    """Where an object lies: ``workspace``, or the kind and id of another object."""

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
    """Of a bot: the person who let it in, if it is public."""
    integration_id: str = ""
    """Of a bot: whose connection it stands for."""
    shared: set[str] = field(default_factory=set)
    """Of a bot: the databases and pages shared with it; what lies in them is shared too."""


@dataclass(slots=True)
class Option:
    """An option of a select, multi_select or status property."""

    id: str
    name: str
    color: str


@dataclass(slots=True)
class Property:
    """A property of a data source; ``id`` as it is, not as it travels."""

    id: str
    name: str
    type: str
    config: dict[str, Any] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    groups: list[tuple[Option, list[str]]] = field(default_factory=list)
    """Of a status: the groups, each with the ids of its options."""
    compute: "Callable[[Workspace, Page], Any] | None" = None
    """Of a formula: its value, a string, number, boolean, date object or None."""

    @property
    def wire_id(self) -> str:
        """The id as it travels: URL-encoded."""
        return _encoded(self.id)

    def option(self, name: str) -> Option | None:
        """The option of exactly that name."""
        return next((option for option in self.options if option.name == name), None)


@dataclass(slots=True)
class Entity:
    """What all objects have."""

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
    """What may hold blocks and pages, in order."""

    children: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Database(Entity):
    """A container of data sources; it has no properties of its own."""

    title: str = ""
    description: str = ""
    source_ids: list[str] = field(default_factory=list)
    is_inline: bool = False


@dataclass(slots=True)
class DataSource(Entity):
    """A table: properties, and the pages that are its rows. Its parent is a database."""

    titles: Title = field(default_factory=list)
    properties: dict[str, Property] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    numbered: int = 0
    """The last number given to a row."""

    @property
    def title(self) -> str:
        """The title it has now."""
        return self.titles[-1][1]

    def find(self, key: str) -> Property | None:
        """The property of that name, or of that id in the form in which it is answered."""
        named = next((prop for prop in self.properties.values() if prop.name == key), None)
        return named or next((prop for prop in self.properties.values() if prop.wire_id == key), None)

    def find_in_address(self, key: str) -> Property | None:
        """The property of that name or id in a path or a query, where libraries send ids encoded once or twice."""
        return self.find(key) or self.properties.get(key)

    def of_type(self, kind: str) -> list[Property]:
        """The properties of one type."""
        return [prop for prop in self.properties.values() if prop.type == kind]


@dataclass(slots=True)
class Page(Container):
    """A page; ``values`` by property id, where an absent one is empty."""

    values: dict[str, Any] = field(default_factory=dict)
    titles: Title = field(default_factory=list)
    is_locked: bool = False

    @property
    def title(self) -> str:
        """The title without style."""
        return richtext.plain(self.values.get("title", []))


@dataclass(slots=True)
class Block(Container):
    """A block of a page's body."""

    type: str = "paragraph"
    content: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Comment(Entity):
    """One comment; those of a discussion are about the same page or block, which is their parent."""

    discussion_id: str = ""
    text: richtext.Items = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to an object, by the vendor's name for it."""

    at: float
    type: str
    entity: Entity
    author_ids: tuple[str, ...]
    updated: Mapping[str, Any]
    """What of the object is not as it was, as the vendor tells it, by id: properties, columns or blocks."""


Shared = TypeVar("Shared", bound=Entity)


@dataclass(frozen=True, slots=True)
class ShareOption:
    """What a person may share with an application by one box: databases and pages, with all that lies in them."""

    label: str
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Home:
    """A workspace that a person may let an application into, its bot there, and what there is to share with it."""

    workspace: "Workspace"
    bot: User
    offers: tuple[ShareOption, ...]


class Workspace:
    """Everything in one workspace of the vendor's."""

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
        self.emit: Callable[[Change], None] = unheard
        """Is told of every change."""

    def new_id(self) -> str:
        """A new identifier."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def new_property_id(self) -> str:
        """A new identifier of a property."""
        return "".join(self.random.choices(PROPERTY_ID_CHARACTERS, k=4))

    def new_secret(self, prefix: str, length: int) -> str:
        """A new token: *prefix* and so many characters."""
        return prefix + "".join(self.random.choices(SECRET_CHARACTERS, k=length))

    def find(self, uid: str) -> Database | DataSource | Page | Block | None:
        """The object of that id, whatever it is."""
        return self.databases.get(uid) or self.sources.get(uid) or self.pages.get(uid) or self.blocks.get(uid)

    def lineage(self, entity: Entity) -> Iterator[Entity]:
        """*entity*, its parent, and so on up to the top."""
        upper: Entity | None = entity
        while upper is not None:
            yield upper
            upper = self.find(upper.parent.id)

    def may_see(self, bot: User, entity: Entity) -> bool:
        """Whether *entity* is shared with *bot*, directly or by what it lies in."""
        return any(upper.id in bot.shared for upper in self.lineage(entity))

    def database(self, bot: User, uid: str) -> Database:
        """The database of that id; refused when absent or not shared."""
        return self._shared("database", self.databases.get(uid), bot, uid)

    def source(self, bot: User, uid: str) -> DataSource:
        """The data source of that id; refused when absent or not shared."""
        return self._shared("data_source", self.sources.get(uid), bot, uid)

    def page(self, bot: User, uid: str) -> Page:
        """The page of that id; refused when absent or not shared."""
        return self._shared("page", self.pages.get(uid), bot, uid)

    def block(self, bot: User, uid: str) -> Block | Page | Database:
        """The block of that id, where pages and databases count as blocks; refused when absent or not shared."""
        found = self.find(uid)
        if isinstance(found, Block | Page | Database) and self.may_see(bot, found):
            return found
        raise not_shared("block", uid, bot.integration_id, bot.name)

    def sole_source(self, database: Database) -> DataSource:
        """The only data source of *database*; refused when there are several."""
        if len(database.source_ids) != 1:
            raise several_sources(database.id, list(database.source_ids))
        return self.sources[database.source_ids[0]]

    def source_of(self, page: Page) -> DataSource | None:
        """The data source *page* is a row of."""
        return self.sources.get(page.parent.id)

    def live_rows(self, source: DataSource) -> list[Page]:
        """The rows of *source* outside the trash."""
        return [page for page in map(self.pages.__getitem__, source.rows) if not page.in_trash]

    def require_editable(self, entity: Entity) -> None:
        """Refuse an edit of what lies in the trash, itself or with something above it."""
        if entity.in_trash:
            raise archived()
        if any(upper.in_trash for upper in self.lineage(entity)):
            raise invalid(
                "Can't edit page on block with an archived ancestor. "
                "You must unarchive the ancestor before editing page."
            )

    def touch(self, entity: Entity, author_id: str, what: str, updated: Mapping[str, Any] | None = None) -> None:
        """Note that *author_id* has just done *what* to *entity*, and which parts of it are *updated*."""
        entity.edited_at, entity.edited_by = self.now(), author_id
        self.emit(Change(entity.edited_at, what, entity, (author_id,), updated or {}))

    def _shared(self, kind: str, found: Shared | None, bot: User, uid: str) -> Shared:
        if found is None or not self.may_see(bot, found):
            raise not_shared(kind, uid, bot.integration_id, bot.name)
        return found
