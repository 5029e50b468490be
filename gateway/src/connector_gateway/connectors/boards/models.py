"""Parameters and results of the boards operations."""

import re
from typing import Annotated, Literal

from pydantic import Field

from connector_gateway.connectors.boards import urls
from connector_gateway.kit.identifier_urls import id_or_url
from connector_gateway.kit.models import NON_EMPTY, IdempotencyKey, Mentions, Params, Result, TextPattern, UtcDatetime

MAX_TEXT = 16_384
"""Maximum characters, not bytes, of a name, a description or a comment."""

Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), NON_EMPTY]
"""Text that does not consist of white space only."""

MENTION = re.compile(r"(?<![\w.+-])@(?=\w)")
"""The ``@`` of a mention of a member, or of all members of the board or card, but not of an email address."""


NAME = re.compile(MENTION.pattern + r"(\w+)")
"""A mention with its name."""


def _without_mentions(text: str) -> str:
    """Return *text* with a zero-width space after the ``@`` of each mention, which disables it."""
    return MENTION.sub("@\u200b", text)


def mentions(text: str) -> list[str]:
    """Return the mentions in *text*, such as ``@ada``."""
    return [f"@{name}" for name in NAME.findall(text)]


ListId = Annotated[str, Field(min_length=1, max_length=200)]
"""A list's identifier, not its name."""


BoardsId = Annotated[
    str,
    TextPattern(
        r"^(?:[0-9a-fA-F]{24}|[A-Za-z0-9]{8})$",
        "Should be an identifier of 24 hexadecimal digits, or a short one of 8 letters and digits",
    ),
]

CardId = Annotated[BoardsId, id_or_url("a card", *urls.CARD)]
BoardId = Annotated[BoardsId, id_or_url("a board", *urls.BOARD)]


class CreateCard(Params):
    """A card to create."""

    list_id: ListId
    """List that receives the card, at its bottom."""

    name: Text
    """Card title."""

    desc: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    """Description in Markdown."""

    due: UtcDatetime | None = None
    """Due date; stored in UTC, to the millisecond."""

    labels: list[Text] = Field(default_factory=list, max_length=1000)
    """Names of labels that exist on the board, spelled exactly. A label that the board lacks is reported, never
    created."""


class CreatedCard(Result):
    """The created card."""

    card_id: str
    short_url: str
    list_id: str
    due: UtcDatetime | None
    labels_applied: list[str]
    """Label names, in the order of the request."""


class MoveCard(Params):
    """The move of a card, with an optional comment."""

    card_id: CardId
    list_id: ListId
    """Destination list; must be on the same board as the card."""

    position: Literal["top", "bottom"] = "bottom"
    comment: Annotated[Text | None, Mentions(_without_mentions)] = None
    """Text posted on the card at the same time, in Markdown, up to 16384 characters."""


class MovedCard(Result):
    """The card after the move."""

    card_id: str
    list_from: str
    """Name of the card's previous list."""

    list_to: str
    """Name of the card's current list."""

    comment_posted: bool
    """False if no comment was given, or if it could not be posted. The card is moved in both cases."""

    moved_at: UtcDatetime
    """Time of the move, by the vendor's clock."""


class CommentOnCard(Params):
    """A comment to post."""

    card_id: CardId
    text: Annotated[Text, Mentions(_without_mentions)]
    """Markdown; the limit counts characters, not bytes."""

    idempotency_key: IdempotencyKey | None = None
    """Repeating it within 24 hours returns the original comment and posts no second one."""


class Comment(Result):
    """The posted comment."""

    card_id: str
    comment_id: str
    posted_at: UtcDatetime


class DescribeBoard(Params):
    """The board to describe."""

    board_id: BoardId
    """Board to describe."""

    include_labels: bool = True
    """Include the board's label set."""


class BoardList(Result):
    """A list of a board."""

    list_id: str
    name: str
    card_count: int
    """Number of cards in the list that are not archived."""


class BoardDescription(Result):
    """A board with its open lists, from left to right."""

    board_name: str
    lists: list[BoardList]
    labels: list[str] | None = Field(default=None, exclude_if=lambda labels: labels is None)
    """Label names, without duplicates and empty names. Present if ``include_labels`` is true."""


class AttachChecklist(Params):
    """A checklist to attach to a card."""

    card_id: CardId
    name: Text
    """Checklist title."""

    items: list[Text] = Field(max_length=100)
    """Texts of the items, in order. An empty list creates a checklist without items."""

    skip_if_present: bool = True
    """If true and a checklist of that name exists, nothing is done."""


class Checklist(Result):
    """The checklist on the card."""

    card_id: str
    checklist_id: str
    name: str
    items_added: int
    """Number of items added, by this call and by an interrupted call that it completed."""

    skipped: bool
    """Whether a checklist of that name existed and nothing was done."""
