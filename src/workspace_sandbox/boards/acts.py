"""What a person does in the application, by hand."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from workspace_sandbox.boards.state import Author
from workspace_sandbox.boards.store import Store

Known = TypeVar("Known")

Action = Mapping[str, Any]


def act(store: Store, author: Author, action: Action) -> dict[str, Any]:
    """Have *author* do what *action* says, and tell what came of it; a bad action is a ``ValueError``."""
    done = ACTS.get(str(action.get("action")))
    if done is None:
        raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(ACTS)}")
    return done(store, author, action)


def _create_card(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card_list = _known(store.lists, action, "list_id")
    return {"card_id": store.add_card(author, card_list, _text(action, "name")).id}


def _move_card(store: Store, author: Author, action: Action) -> dict[str, Any]:
    card = _known(store.cards, action, "card_id")
    store.move_card(author, card, _known(store.lists, action, "list_id"))
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
    text = action.get(name)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{name} must be a text")
    return text


ACTS: Mapping[str, Callable[[Store, Author, Action], dict[str, Any]]] = {
    "create_card": _create_card,
    "move_card": _move_card,
    "comment": _comment,
    "archive_list": _archive_list,
}
"""What can be done, by the names that ``act`` takes."""
