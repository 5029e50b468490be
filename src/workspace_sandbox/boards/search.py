"""Answers to a search for words."""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import Ask


def search(ask: Ask) -> Any:
    """Boards and cards with the words of a query in their names."""
    words = ask.arguments.text("query", shortest=1).lower().split()
    models = set(ask.arguments.words("modelTypes") or ["all"])
    found: dict[str, Any] = {
        "options": {"terms": [{"text": word} for word in words], "modifiers": [], "partial": False}
    }
    boards = ask.visible_boards()
    for name, things, view in (
        ("boards", boards, views.board),
        ("cards", [card for board in boards for card in board.cards() if not card.closed], views.card),
    ):
        if not models.isdisjoint({"all", name}):
            found[name] = _hits(things, words, view, ask.arguments.nested(name[:-1]))
    return found


def _hits(
    things: list[Any], words: list[str], view: Callable[[Any, Arguments], Any], arguments: Arguments
) -> list[Any]:
    hits = [thing for thing in things if all(word in thing.name.lower() for word in words)]
    return [view(thing, arguments) for thing in hits[: arguments.number("limit", 10)]]
