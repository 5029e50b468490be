"""The actions that a colleague performs in the user interface."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from workspace_sandbox.boards.data.objects import Card, CardList
from workspace_sandbox.kit import input_validation
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.user_actions import (
    DELIVERIES,
    ActionField,
    UserAction,
    UserActions,
    flag,
    lookup_in,
    optional,
    populated,
    text,
)

if TYPE_CHECKING:
    from workspace_sandbox.boards.emulator import BoardsEmulator

ActionResult = dict[str, Any]


def _create_card(trello: "BoardsEmulator", card_list: CardList, name: str) -> ActionResult:
    return {"card_id": trello.store.add_card(trello.colleague, card_list, name).id}


def _move_card(trello: "BoardsEmulator", card: Card, card_list: CardList) -> ActionResult:
    trello.store.move_card(trello.colleague, card, card_list)
    return {"card_id": card.id}


def _update_card(trello: "BoardsEmulator", card: Card, **changes: Any) -> ActionResult:
    trello.store.update_card(trello.colleague, card, changes)
    return {"card_id": card.id}


def _delete_card(trello: "BoardsEmulator", card: Card) -> ActionResult:
    trello.store.delete_card(card, trello.colleague)
    return {"card_id": card.id}


def _comment(trello: "BoardsEmulator", card: Card, markdown: str) -> ActionResult:
    return {"comment_id": trello.store.comment(trello.colleague, card, markdown).id}


def _archive_list(trello: "BoardsEmulator", card_list: CardList) -> ActionResult:
    trello.store.update_list(trello.colleague, card_list, {"closed": True})
    return {"list_id": card_list.id}


def _instant(_: Any, value: Any) -> str | None:
    """Return an instant or null in the vendor's format."""
    return None if value is None else format_timestamp(datetime.fromisoformat(input_validation.text(value)).timestamp())


CARD = ActionField("card_id", "the card", lookup_in(lambda trello: trello.store.cards))
LIST = ActionField("list_id", "the list", lookup_in(lambda trello: trello.store.lists))
NAME = ActionField("name", "its name", populated)
CHANGES = (
    optional("name", "its name", text),
    optional("desc", "its description", text),
    optional("due", "a timestamp, or null", _instant, nullable=True),
    optional("closed", "whether it is archived", flag),
)

USER_ACTIONS: UserActions = {
    "create_card": UserAction(_create_card, "Adds a card at the end of a list.", (LIST, NAME), "`card_id`"),
    "update_card": UserAction(_update_card, "Changes a card.", (CARD, *CHANGES), "`card_id`"),
    "move_card": UserAction(
        _move_card, "Moves a card to the end of a list.", (CARD, LIST.with_description("the target list")), "`card_id`"
    ),
    "delete_card": UserAction(_delete_card, "Deletes a card permanently.", (CARD,), "`card_id`"),
    "comment": UserAction(
        _comment, "Writes a comment on a card.", (CARD, ActionField("text", "Markdown", populated)), "`comment_id`"
    ),
    "archive_list": UserAction(_archive_list, "Archives a list.", (LIST,), "`list_id`"),
    "deliveries": DELIVERIES,
}
