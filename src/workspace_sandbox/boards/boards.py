"""Answers about boards."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import IDENTIFIER, Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.state import Board
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal

DEFAULT_LISTS = ("To Do", "Doing", "Done")
DEFAULT_LABELS = ("green", "yellow", "orange", "red", "purple", "blue")

PUTTABLE = frozenset({"name", "desc", "closed"})


def create(ask: ApiRequest) -> Any:
    """Create a board, with lists and labels unless they are not wanted."""
    name = ask.arguments.name(error="ERROR")
    board = ask.store.add_board(ask.author, name, ask.arguments.text("desc"))
    if ask.arguments.flag("defaultLists", default=True):
        for list_name in DEFAULT_LISTS:
            ask.store.add_list(ask.author, board, list_name)
    if ask.arguments.flag("defaultLabels", default=True):
        for color in DEFAULT_LABELS:
            ask.store.add_label(ask.now, board, "", color)
    return views.board(board, ask.arguments)


def update(ask: ApiRequest) -> Any:
    """Update a board."""
    board, arguments = ask.board, ask.arguments
    if "name" in arguments:
        board.name = arguments.text("name", shortest=1)
    if "desc" in arguments:
        board.desc = arguments.text("desc")
    if "closed" in arguments:
        board.closed = arguments.flag("closed")
    ask.store.record(ask.author, "updateBoard", board)
    return views.board(board, Arguments({}))


def delete(ask: ApiRequest) -> Any:
    """Delete a board."""
    ask.store.delete_board(ask.board)
    return {"_value": None}


def read_lists(ask: ApiRequest) -> Any:
    """The lists of a board."""
    return views.lists(ask.board, _filtered(ask))


def read_cards(ask: ApiRequest) -> Any:
    """The cards of a board, or the one whose id stands where a filter might."""
    if IDENTIFIER.fullmatch(ask.path.get("filter", "")):
        return _on_board(ask.board, ask.having(card=ask.path["filter"]).card, views.card, ask.arguments)
    return views.cards(ask.board, _filtered(ask))


def read_label(ask: ApiRequest) -> Any:
    """A label of a board."""
    return _on_board(ask.board, ask.label, views.label, ask.arguments)


def read_nothing(ask: ApiRequest) -> Any:
    """An empty collection of a board or card that the visitor sees."""
    _ = ask.card if "card" in ask.path else ask.board
    return []


def _filtered(ask: ApiRequest) -> Arguments:
    return ask.arguments.having(filter=ask.path["filter"]) if "filter" in ask.path else ask.arguments


def _on_board(board: Board, thing: Any, view: Any, arguments: Arguments) -> Any:
    if thing.board is not board:
        raise Refusal(404, NOT_FOUND)
    return view(thing, arguments)
