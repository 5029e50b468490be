"""Answers to a search for words and operators."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import ORGANIZATION, pick
from workspace_sandbox.boards.operators import parsed
from workspace_sandbox.boards.state import Board, Card

MODELS = frozenset({"all", "actions", "boards", "cards", "members", "organizations"})
USUAL, MOST = 10, 1000


def search(ask: ApiRequest) -> Any:
    """Cards that a query finds, and what else has its words in its name."""
    arguments = ask.arguments
    wanted = parsed(arguments.text("query", shortest=1), ask.visitor.member, ask.now)
    models = set(arguments.words("modelTypes") or ["all"])
    if not models <= MODELS:
        raise arguments.refusal("modelTypes")
    told: dict[str, Any] = {"options": wanted.told | {"partial": arguments.flag("partial")}}
    boards = [board for board in ask.visible_boards() if _among(arguments, "idBoards", board.id)]
    cards = (card for board in boards for card in board.cards() if _among(arguments, "idCards", card.id))
    named = wanted.words and not wanted.modifiers
    found: dict[str, Callable[[], list[Any]]] = {
        "boards": lambda: _boards(boards if named else [], wanted.has_words, arguments.nested("board")),
        "cards": lambda: _cards(filter(wanted.finds, cards), arguments.nested("card")),
        "organizations": lambda: [
            pick(ORGANIZATION, one)
            for one in ask.store.organizations.values()
            if named and ask.belongs_to(one) and wanted.has_words(one.display_name)
        ],
        "members": lambda: _members(ask, wanted.has_words) if named else [],
        "actions": lambda: _comments(ask, boards, wanted.has_words),
    }
    for name, find in found.items():
        if not models.isdisjoint({"all", name}):
            told[name] = find()
    return told


def search_members(ask: ApiRequest) -> Any:
    """Members whom the visitor shares something with, by a part of their names."""
    words, limit = ask.arguments.text("query", shortest=1).lower().split(), ask.arguments.number("limit", 8, 20)

    def has(name: str) -> bool:
        return all(word in name.lower() for word in words)

    return _members(ask, has)[:limit]


def _among(arguments: Arguments, name: str, identifier: str) -> bool:
    wanted = arguments.words(name)
    return not wanted or wanted == ["mine"] or identifier in wanted


def _boards(boards: Iterable[Any], has: Callable[[str], bool], arguments: Arguments) -> list[Any]:
    hits = [board for board in boards if has(board.name)]
    return [views.board(board, arguments) for board in hits[: arguments.number("limit", USUAL, MOST)]]


def _cards(hits: Iterable[Card], arguments: Arguments) -> list[Any]:
    limit = arguments.number("limit", USUAL, MOST)
    first = arguments.number("page", 0, 100) * limit
    return [views.card(card, arguments) for card in list(hits)[first : first + limit]]


def _members(ask: ApiRequest, has: Callable[[str], bool]) -> list[Any]:
    known = {member.id: member for board in ask.visible_boards() for member in board.members.values()}
    hits = (member for member in known.values() if has(member.full_name) or has(member.username))
    return views.members(hits, ask.arguments.nested("member"))


def _comments(ask: ApiRequest, boards: Iterable[Board], has: Callable[[str], bool]) -> list[Any]:
    limit = ask.arguments.number("actions_limit", USUAL, MOST)
    comments = (action for board in boards for action in board.actions if action.type == "commentCard")
    hits = (action for action in comments if has(action.data["text"]))
    return [views.action(action, Arguments({})) for action in islice(hits, limit)]
