"""What the vendor answers, version 1: the fields that are read."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from connector_gateway.kit.wire import WireModel

Moment = Annotated[datetime, Meta(tz=True)]
"""An instant; the vendor writes it in UTC, to the millisecond."""


class ObjectRef(WireModel):
    """A thing of which no more is read than its identifier: a board, a card, a checklist, an application."""

    id: str


class Me(WireModel, rename="camel"):
    """The account itself."""

    id: str
    username: str | None = None
    full_name: str | None = None


class Permission(WireModel, rename="camel"):
    """What a token allows of one kind of thing."""

    model_type: str
    read: bool
    write: bool


class Token(WireModel, rename="camel"):
    """A token of the key and token kind; without an end it stays good."""

    permissions: Sequence[Permission]
    date_expires: Moment | None = None


class Label(WireModel):
    """A label of a board."""

    id: str
    name: str


class CardList(WireModel, rename="camel"):
    """A list, asked for by itself."""

    id: str
    name: str
    closed: bool
    id_board: str


class CardListRef(WireModel):
    """The list of a card, inside it."""

    name: str


class CardLocation(WireModel, rename="camel"):
    """A card of which only the list is read."""

    id: str
    id_list: str


class NewCard(CardLocation, rename="camel"):
    """A card as it is told once it was made."""

    due: Moment | None
    labels: Sequence[Label]
    short_url: str


class MovedCard(WireModel, rename="camel"):
    """A card as it is told once it was moved."""

    id: str
    date_last_activity: Moment


class Card(NewCard, rename="camel"):
    """A card; its list is told where it was asked for."""

    name: str
    desc: str
    id_board: str
    date_last_activity: Moment
    list: CardListRef | None = None


class Board(WireModel):
    """A board; its labels where they were asked for."""

    name: str
    labels: Sequence[Label] | None = None


class BoardList(WireModel):
    """A list of a board."""

    id: str
    name: str
    pos: float


class CheckItem(WireModel):
    """An item of a checklist."""

    id: str
    name: str
    pos: float


class Checklist(WireModel, rename="camel"):
    """A checklist; a new one tells of no items."""

    id: str
    name: str
    check_items: Sequence[CheckItem] = ()


class ActionData(WireModel):
    """What an action was done to, as far as its kind tells."""

    card: "Subject | None" = None
    checklist: ObjectRef | None = None
    text: str = ""


class Subject(WireModel):
    """The card of an action, as it was then."""

    id: str
    name: str = ""


class Action(WireModel, rename="camel"):
    """Something that was done, and by whom."""

    id: str
    date: Moment
    id_member_creator: str
    data: ActionData
    app_creator: ObjectRef | None = None


class Refusal(WireModel):
    """A refusal, where it is JSON; mostly it is plain text. Either field may be of any type."""

    message: object = ""
    error: object = ""

    @property
    def words(self) -> str:
        """Why it was refused; empty where that is no text."""
        return self.message if isinstance(self.message, str) else ""

    @property
    def code(self) -> str:
        """The vendor's code; empty where that is no text."""
        return self.error if isinstance(self.error, str) else ""
