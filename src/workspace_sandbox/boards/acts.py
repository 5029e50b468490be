"""What a person does in the application, by hand."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from workspace_sandbox.boards.state import Author, stamp
from workspace_sandbox.boards.store import Store
from workspace_sandbox.kit.acts import Act
from workspace_sandbox.kit.asking import flag, text

Known = TypeVar("Known")

Action = Mapping[str, Any]
Do = Callable[[Store, Author, Action], dict[str, Any]]


def perform(store: Store, author: Author, action: Action) -> dict[str, Any]:
    """Have *author* do what *action* says, and tell what came of it; a bad action is a ``ValueError``."""
    done = ACTS.get(str(action.get("action")))
    if done is None:
        raise ValueError(f"no action {action.get('action')!r}; there are {', '.join([*ACTS, *SETTINGS])}")
    return done.do(store, author, action)


def _create_card(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card_list = _known(store.lists, action, "list_id")
    return {"card_id": store.add_card(author, card_list, _text(action, "name")).id}


def _move_card(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card = _known(store.cards, action, "card_id")
    store.move_card(author, card, _known(store.lists, action, "list_id"))
    return {"card_id": card.id}


def _update_card(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card = _known(store.cards, action, "card_id")
    changes = {name: read(action[name]) for name, read in CHANGED.items() if name in action}
    store.update_card(author, card, changes)
    return {"card_id": card.id}


def _delete_card(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card = _known(store.cards, action, "card_id")
    store.delete_card(card, author)
    return {"card_id": card.id}


def _comment(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card = _known(store.cards, action, "card_id")
    return {"comment_id": store.comment(author, card, _text(action, "text")).id}


def _archive_list(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card_list = _known(store.lists, action, "list_id")
    store.update_list(author, card_list, {"closed": True})
    return {"list_id": card_list.id}


def _known(shelf: Mapping[str, Known], action: Action, name: str) -> Known:
    found = shelf.get(str(action.get(name)))
    if found is None:
        raise ValueError(f"no such {name}: {action.get(name)!r}")
    return found


def _text(action: Action, name: str) -> str:
    given = action.get(name)
    if not isinstance(given, str) or not given:
        raise ValueError(f"{name} must be a text")
    return given


def _instant(value: Any) -> str | None:
    """The vendor's way of writing an instant, or null."""
    return None if value is None else stamp(datetime.fromisoformat(text(value)).timestamp())


CHANGED: Mapping[str, Callable[[Any], Any]] = {"name": text, "desc": text, "due": _instant, "closed": flag}

CARD = {"card_id": "the card"}
LIST = {"list_id": "the list"}

SETTINGS: Mapping[str, Act[None]] = {
    "deliveries": Act(
        None,
        "Tells how deliveries to webhooks went.",
        answers="`deliveries`: `event_id`, `type`, `attempt`, `status`, `reason` of each",
    ),
}
"""What is no act of a colleague; the emulator does it."""

ACTS: Mapping[str, Act[Do]] = {
    "create_card": Act(
        _create_card, "Adds a card at the end of a list.", LIST | {"name": "its name"}, answers="`card_id`"
    ),
    "update_card": Act(
        _update_card,
        "Changes a card.",
        CARD,
        {"name": "its name", "desc": "its description", "due": "an instant, or null", "closed": "archived or not"},
        answers="`card_id`",
    ),
    "move_card": Act(
        _move_card, "Moves a card to the end of a list.", CARD | {"list_id": "where it goes"}, answers="`card_id`"
    ),
    "delete_card": Act(_delete_card, "Deletes a card for good.", CARD, answers="`card_id`"),
    "comment": Act(_comment, "Writes a comment on a card.", CARD | {"text": "Markdown"}, answers="`comment_id`"),
    "archive_list": Act(_archive_list, "Archives a list.", LIST, answers="`list_id`"),
}
"""What can be done, by the names that ``act`` takes."""
