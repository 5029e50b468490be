"""The fields read from the vendor's responses, version 1."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from connector_gateway.kit.wire_model import WireModel

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A time, which the vendor writes in UTC with milliseconds."""


class ObjectRef(WireModel):
    """An object of which only the identifier is read: a board, a card, a checklist, an app."""

    id: str


class Me(WireModel, rename="camel"):
    """The account itself."""

    id: str
    username: str | None = None
    full_name: str | None = None


class Permission(WireModel, rename="camel"):
    """The permissions of a token on one kind of object."""

    model_type: str
    read: bool
    write: bool


class Token(WireModel, rename="camel"):
    """A token of an API key. Without an expiry it does not expire."""

    permissions: Sequence[Permission]
    date_expires: Timestamp | None = None


class Label(WireModel):
    """A label of a board."""

    id: str
    name: str


class CardList(WireModel, rename="camel"):
    """A list, requested individually."""

    id: str
    name: str
    closed: bool
    id_board: str


class CardListRef(WireModel):
    """The list of a card, embedded in the card."""

    name: str


class CardLocation(WireModel, rename="camel"):
    """A card of which only the list is read."""

    id: str
    id_list: str


class NewCard(CardLocation, rename="camel"):
    """A created card."""

    due: Timestamp | None
    labels: Sequence[Label]
    short_url: str


class MovedCard(WireModel, rename="camel"):
    """A moved card."""

    id: str
    date_last_activity: Timestamp


class Card(NewCard, rename="camel"):
    """A card, with its list if requested."""

    name: str
    desc: str
    id_board: str
    date_last_activity: Timestamp
    list: CardListRef | None = None


class Board(WireModel):
    """A board, with its labels if requested."""

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
    """A checklist. A new one has no items."""

    id: str
    name: str
    check_items: Sequence[CheckItem] = ()


class ActionData(WireModel):
    """The objects of an action, depending on its kind."""

    card: "Subject | None" = None
    checklist: ObjectRef | None = None
    text: str = ""


class Subject(WireModel):
    """The card of an action, at that time."""

    id: str
    name: str = ""


class Action(WireModel, rename="camel"):
    """An action and its author."""

    id: str
    date: Timestamp
    id_member_creator: str
    data: ActionData
    app_creator: ObjectRef | None = None


class VendorError(WireModel):
    """An error in JSON. Most errors are plain text. Either field may have any type."""

    message: object = ""
    error: object = ""

    @property
    def words(self) -> str:
        """Return the message, or an empty string if it is not a text."""
        return self.message if isinstance(self.message, str) else ""

    @property
    def code(self) -> str:
        """Return the vendor's code, or an empty string if it is not a text."""
        return self.error if isinstance(self.error, str) else ""
