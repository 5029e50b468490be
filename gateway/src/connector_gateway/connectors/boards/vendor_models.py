"""The fields read from the vendor's responses, version 1."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta

from connector_gateway.kit.vendor_model import VendorModel

Timestamp = Annotated[datetime, Meta(tz=True)]
"""A time, which the vendor writes in UTC with milliseconds."""


class ObjectRef(VendorModel):
    """An object of which only the identifier is read: a board, a card, a checklist, an app."""

    id: str


class Me(VendorModel, rename="camel"):
    """The account itself."""

    id: str
    username: str | None = None
    full_name: str | None = None


class Permission(VendorModel, rename="camel"):
    """The permissions of a token on one kind of object."""

    model_type: str
    read: bool
    write: bool


class Token(VendorModel, rename="camel"):
    """A token of an API key. Without an expiry it does not expire."""

    permissions: Sequence[Permission]
    date_expires: Timestamp | None = None


class Label(VendorModel):
    """A label of a board."""

    id: str
    name: str


class CardList(VendorModel, rename="camel"):
    """A list, requested individually."""

    id: str
    name: str
    closed: bool
    id_board: str


class CardListRef(VendorModel):
    """The list of a card, embedded in the card."""

    name: str


class CardLocation(VendorModel, rename="camel"):
    """A card of which only the list is read."""

    id: str
    id_list: str


class NewCard(CardLocation, rename="camel"):
    """A created card."""

    due: Timestamp | None
    labels: Sequence[Label]
    short_url: str


class MovedCard(VendorModel, rename="camel"):
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


class BoardList(VendorModel):
    """A list of a board."""

    id: str
    name: str
    pos: float


class Board(VendorModel):
    """A board with its open lists, and with its labels if requested."""

    name: str
    lists: Sequence[BoardList]
    labels: Sequence[Label] | None = None


class CheckItem(VendorModel):
    """An item of a checklist."""

    id: str
    name: str
    pos: float


class Checklist(VendorModel, rename="camel"):
    """A checklist. A new one has no items."""

    id: str
    name: str
    check_items: Sequence[CheckItem] = ()


class ActionData(VendorModel):
    """The objects of an action, depending on its kind."""

    card: "Subject | None" = None
    checklist: ObjectRef | None = None
    text: str = ""


class Subject(VendorModel):
    """The card of an action, at that time."""

    id: str
    name: str = ""


class Action(VendorModel, rename="camel"):
    """An action and its author."""

    id: str
    date: Timestamp
    id_member_creator: str
    data: ActionData
    app_creator: ObjectRef | None = None


class VendorError(VendorModel):
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
