"""Routes of the search."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.computed_fields import ORGANIZATION, select_fields
from workspace_sandbox.boards.data.objects import Board, Card
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.boards.search_query import parse_query

MODELS = frozenset({"all", "actions", "boards", "cards", "members", "organizations"})
USUAL, MOST = 10, 1000


def search(request: ApiRequest) -> Any:
    """Search cards by words and operators, and other objects by words in their names."""
    arguments = request.arguments
    query = parse_query(arguments.text("query", min_length=1), request.principal.member, request.now)
    models = set(arguments.words("modelTypes") or ["all"])
    if not models <= MODELS:
        raise arguments.error("modelTypes")
    response: dict[str, Any] = {"options": query.to_json | {"partial": arguments.flag("partial")}}
    boards = [board for board in request.visible_boards() if _among(arguments, "idBoards", board.id)]
    cards = (card for board in boards for card in board.cards() if _among(arguments, "idCards", card.id))
    searches_names = query.words and not query.modifiers
    searches: dict[str, Callable[[], list[Any]]] = {
        "boards": lambda: _boards(boards if searches_names else [], query.contains_words, arguments.nested("board")),
        "cards": lambda: _cards(filter(query.matches, cards), arguments.nested("card")),
        "organizations": lambda: [
            select_fields(ORGANIZATION, one)
            for one in request.store.organizations.values()
            if searches_names and request.belongs_to(one) and query.contains_words(one.display_name)
        ],
        "members": lambda: _members(request, query.contains_words) if searches_names else [],
        "actions": lambda: _comments(request, boards, query.contains_words),
    }
    for name, find in searches.items():
        if not models.isdisjoint({"all", name}):
            response[name] = find()
    return response


def search_members(request: ApiRequest) -> Any:
    """Search members who share a board with the user, by parts of their names."""
    words, limit = (
        request.arguments.text("query", min_length=1).lower().split(),
        request.arguments.number("limit", 8, 20),
    )

    def has(name: str) -> bool:
        return all(word in name.lower() for word in words)

    return _members(request, has)[:limit]


def _among(arguments: Arguments, name: str, identifier: str) -> bool:
    identifiers = arguments.words(name)
    return not identifiers or identifiers == ["mine"] or identifier in identifiers


def _boards(boards: Iterable[Any], has: Callable[[str], bool], arguments: Arguments) -> list[Any]:
    hits = [board for board in boards if has(board.name)]
    return [object_json.board(board, arguments) for board in hits[: arguments.number("limit", USUAL, MOST)]]


def _cards(hits: Iterable[Card], arguments: Arguments) -> list[Any]:
    limit = arguments.number("limit", USUAL, MOST)
    first = arguments.number("page", 0, 100) * limit
    return [object_json.card(card, arguments) for card in list(hits)[first : first + limit]]


def _members(request: ApiRequest, has: Callable[[str], bool]) -> list[Any]:
    visible = {member.id: member for board in request.visible_boards() for member in board.members.values()}
    hits = (member for member in visible.values() if has(member.full_name) or has(member.username))
    return object_json.members(hits, request.arguments.nested("member"))


def _comments(request: ApiRequest, boards: Iterable[Board], has: Callable[[str], bool]) -> list[Any]:
    limit = request.arguments.number("actions_limit", USUAL, MOST)
    comments = (action for board in boards for action in board.actions if action.type == "commentCard")
    hits = (action for action in comments if has(action.data["text"]))
    return [object_json.action(action, Arguments({})) for action in islice(hits, limit)]
