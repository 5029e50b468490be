"""The vendor's objects: boards, lists, cards and their contents, independent of HTTP."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workspace_sandbox.boards.data.custom_field_objects import CustomField, FieldValue

COLORS = ("green", "yellow", "orange", "red", "purple", "blue", "sky", "lime", "pink", "black")
SHADES = frozenset(f"{color}{shade}" for color in COLORS for shade in ("", "_light", "_dark"))
"""The 30 label colors."""

STEP = 16_384.0
"""The distance between neighbouring positions that are requested by word."""

Position = float | str
"""A position: a positive number, ``top`` or ``bottom``."""


def resolve_position(existing: Iterable[float], position: Position) -> float:
    """Return the number for *position* among the *existing* ones."""
    if isinstance(position, float):
        return position
    return min(existing, default=2 * STEP) / 2 if position == "top" else max(existing, default=0.0) + STEP


@dataclass(eq=False, slots=True)
class Member:
    """A user or bot with an account."""

    id: str
    username: str
    full_name: str
    email: str
    bio: str = ""
    stars: dict[str, "Star"] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Star:
    """A board that a member starred."""

    id: str
    board_id: str
    pos: float

    def raw(self) -> dict[str, Any]:
        """Return the vendor's JSON."""
        return {"id": self.id, "idBoard": self.board_id, "pos": int(self.pos)}


@dataclass(eq=False, slots=True)
class Organization:
    """An organization, which boards and their members belong to."""

    id: str
    name: str
    display_name: str
    desc: str = ""
    website: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)

    def role(self, member: Member) -> str:
        """Return the role of *member* in the organization."""
        return self.roles.get(member.id, "admin") if member.id in self.members else ""


@dataclass(frozen=True)
class Author:
    """The author of a change, with the app, or None for the user interface, and the time."""

    member: Member
    app: str | None
    at: float


@dataclass(eq=False, slots=True)
class Action:
    """An action, with the names at that time."""

    id: str
    type: str
    author: Author
    board: "Board"
    card: "Card | None"
    data: dict[str, Any]


@dataclass(eq=False, slots=True)
class Board:
    """A board, which only its members can see."""

    id: str
    short_link: str
    name: str
    desc: str = ""
    closed: bool = False
    organization: Organization | None = None
    members: dict[str, Member] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    """The roles of members who are not admins."""

    custom_fields: dict[str, "CustomField"] = field(default_factory=dict)
    lists: dict[str, "CardList"] = field(default_factory=dict)
    labels: dict[str, "Label"] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    cards_made: int = 0
    active_at: float = 0.0

    @property
    def board(self) -> "Board":
        """The board itself, so that every object on a board has this attribute."""
        return self

    def role(self, member: Member) -> str:
        """Return the role of *member* on the board."""
        return self.roles.get(member.id, "admin") if member.id in self.members else ""

    def cards(self) -> Iterator["Card"]:
        """Return all cards, including archived ones and those on archived lists."""
        for card_list in self.lists.values():
            yield from card_list.cards.values()


@dataclass(eq=False, slots=True)
class CardList:
    """A list of cards."""

    id: str
    board: Board
    name: str
    pos: float
    closed: bool = False
    subscribed: bool = False
    cards: dict[str, "Card"] = field(default_factory=dict)

    def neighbours(self) -> Iterable["CardList"]:
        """Return all lists of the board."""
        return self.board.lists.values()


@dataclass(eq=False, slots=True)
class Label:
    """A label of a board. Its name can be empty and is not unique."""

    id: str
    board: Board
    name: str
    color: str | None


@dataclass(eq=False, slots=True)
class Card:
    """A card."""

    id: str
    short_link: str
    card_list: CardList
    number: int
    name: str
    pos: float
    active_at: float
    desc: str = ""
    due: str | None = None
    start: str | None = None
    due_complete: bool = False
    closed: bool = False
    subscribed: bool = False
    labels: list[Label] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    voters: list[Member] = field(default_factory=list)
    attachments: dict[str, "Attachment"] = field(default_factory=dict)
    cover_id: str | None = None
    stickers: dict[str, "Sticker"] = field(default_factory=dict)
    custom_items: dict[str, "FieldValue"] = field(default_factory=dict)
    """Custom field values by field."""

    checklists: dict[str, "Checklist"] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)

    @property
    def board(self) -> Board:
        """The board of the card's list."""
        return self.card_list.board

    def neighbours(self) -> Iterable["Card"]:
        """Return all cards of the list."""
        return self.card_list.cards.values()

    def items(self) -> Iterator["CheckItem"]:
        """Return the items of all checklists."""
        for checklist in self.checklists.values():
            yield from checklist.items.values()


@dataclass(frozen=True, slots=True)
class Attachment:
    """A link, or a file with its content."""

    id: str
    name: str
    url: str
    mime: str
    author: Author
    pos: float
    content: bytes | None = None


@dataclass(eq=False, slots=True)
class Sticker:
    """A picture on a card. ``where`` contains its position under the vendor's names."""

    id: str
    image: str
    where: dict[str, float]

    def raw(self) -> dict[str, Any]:
        """Return the vendor's JSON."""
        return {"id": self.id, "image": self.image, "imageUrl": None, "imageScaled": [], **self.where}


@dataclass(eq=False, slots=True)
class Checklist:
    """A checklist of a card."""

    id: str
    card: Card
    name: str
    pos: float
    items: dict[str, "CheckItem"] = field(default_factory=dict)

    @property
    def board(self) -> Board:
        """The board of the checklist's card."""
        return self.card.board

    def neighbours(self) -> Iterable["Checklist"]:
        """Return all checklists of the card."""
        return self.card.checklists.values()


@dataclass(eq=False, slots=True)
class CheckItem:
    """An item of a checklist."""

    id: str
    checklist: Checklist
    name: str
    pos: float
    complete: bool = False
    due: str | None = None

    def neighbours(self) -> Iterable["CheckItem"]:
        """Return all items of the checklist."""
        return self.checklist.items.values()
