"""What the boards operations accept and return."""

import re
from typing import Annotated, Literal

from pydantic import Field

from connector_gateway.connectors.boards import urls
from connector_gateway.kit.pasted_urls import id_or_url
from connector_gateway.kit.shapes import NON_EMPTY, IdempotencyKey, Mentions, Params, Result, TextPattern, UtcDatetime

MAX_TEXT = 16_384
"""Characters, not bytes, of a name, a description or a comment."""

Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT), NON_EMPTY]
"""Some text; white space alone is none."""

MENTION = re.compile(r"(?<![\w.+-])@(?=\w)")
"""The sign before the name of a member, of the board's or of the card's members; not that of a mail address."""


def _without_mentions(text: str) -> str:
    """Return *text* with a character of no width behind the signs, so that no name follows them."""
    return MENTION.sub("@\u200b", text)


ListId = Annotated[str, Field(min_length=1, max_length=200)]
"""A list's identifier; its name is none."""


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
    """A card to be made."""

    list_id: ListId
    """List that receives the card, at its bottom."""

    name: Text
    """Card title."""

    desc: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    """Description in Markdown."""

    due: UtcDatetime | None = None
    """Due date; stored in UTC, to the millisecond."""

    labels: list[Text] = Field(default_factory=list, max_length=1000)
    """Names of labels that exist on the board, exactly as they are written there; none is ever created."""


class CreatedCard(Result):
    """The card that was made."""

    card_id: str
    short_url: str
    list_id: str
    due: UtcDatetime | None
    labels_applied: list[str]
    """Label names, in the order they were given."""


class MoveCard(Params):
    """Where a card is to go."""

    card_id: CardId
    list_id: ListId
    """Destination list; on the same board as the card."""

    position: Literal["top", "bottom"] = "bottom"
    comment: Annotated[Text | None, Mentions(_without_mentions)] = None
    """Text posted on the card at the same time, in Markdown, up to 16384 characters."""


class MovedCard(Result):
    """The card after the move."""

    card_id: str
    list_from: str
    """Name of the list it was in."""

    list_to: str
    """Name of the list it is in."""

    comment_posted: bool
    """False if none was given, or if it could not be posted; the move stands all the same."""

    moved_at: UtcDatetime
    """When it was moved, by the application's clock."""


class CommentOnCard(Params):
    """A comment to be posted."""

    card_id: CardId
    text: Annotated[Text, Mentions(_without_mentions)]
    """Markdown; the limit counts characters, not bytes."""

    idempotency_key: IdempotencyKey | None = None
    """Repeating it within 24 hours returns the original comment and posts no second one."""


class Comment(Result):
    """The comment that was posted."""

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
    """Cards in it that are not archived."""


class BoardDescription(Result):
    """A board with its open lists, from left to right."""

    board_name: str
    lists: list[BoardList]
    labels: list[str] | None = Field(default=None, exclude_if=lambda labels: labels is None)
    """Label names, each once; present when labels are included. Labels without a name are left out."""


class AttachChecklist(Params):
    """A checklist to be put on a card."""

    card_id: CardId
    name: Text
    """Checklist title."""

    items: list[Text] = Field(max_length=100)
    """What there is to do, in order; an empty list makes a checklist without items."""

    skip_if_present: bool = True
    """When true and a checklist of that name exists, nothing is done."""


class Checklist(Result):
    """The checklist on the card."""

    card_id: str
    checklist_id: str
    name: str
    items_added: int
    """Items put there, by this call and by an interrupted one that it completed."""

    skipped: bool
    """Whether a checklist of that name was there and nothing was done."""
