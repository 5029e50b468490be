"""What the vendor answers, version 1: the fields that are read."""

from collections.abc import Sequence

from connector_gateway.kit.wire import Wire


class Named(Wire):
    """A thing of which no more is read than its identifier: a board, a card, a checklist, an application."""

    id: str


class Label(Wire):
    """A label of a board."""

    id: str
    name: str


class CardList(Wire, rename="camel"):
    """A list, asked for by itself."""

    id: str
    name: str
    closed: bool
    id_board: str


class Home(Wire):
    """The list of a card, inside it."""

    name: str


class Card(Wire, rename="camel"):
    """A card; its list is told where it was asked for."""

    id: str
    name: str
    desc: str
    due: str | None
    id_board: str
    id_list: str
    labels: Sequence[Label]
    short_url: str
    date_last_activity: str
    list: Home | None = None


class Placed(Wire, rename="camel"):
    """A card of which only the list is read."""

    id: str
    id_list: str


class BoardList(Wire):
    """A list, inside its board."""

    id: str
    name: str
    pos: float


class Board(Wire):
    """A board with its open lists and cards; its labels where they were asked for."""

    name: str
    lists: Sequence[BoardList]
    cards: Sequence[Placed]
    labels: Sequence[Label] | None = None


class CheckItem(Wire):
    """An item of a checklist."""

    id: str
    name: str
    pos: float


class Checklist(Wire, rename="camel"):
    """A checklist; a new one tells of no items."""

    id: str
    name: str
    check_items: Sequence[CheckItem] = ()


class About(Wire):
    """What an action was done to, as far as its kind tells."""

    card: "Subject | None" = None
    checklist: Named | None = None
    text: str = ""


class Subject(Wire):
    """The card of an action, as it was then."""

    id: str
    name: str = ""


class Action(Wire, rename="camel"):
    """Something that was done, and by whom."""

    id: str
    date: str
    id_member_creator: str
    data: About
    app_creator: Named | None = None


class Refusal(Wire):
    """A refusal, where it is JSON; mostly it is plain text."""

    message: str = ""
    error: str = ""
