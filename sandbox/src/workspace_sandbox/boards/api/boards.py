"""Routes of boards."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.arguments import IDENTIFIER, Arguments
from workspace_sandbox.boards.data.objects import Board
from workspace_sandbox.boards.error_responses import NOT_FOUND, ApiError
from workspace_sandbox.boards.request import ApiRequest

DEFAULT_LISTS = ("To Do", "Doing", "Done")
DEFAULT_LABELS = ("green", "yellow", "orange", "red", "purple", "blue")

PUTTABLE = frozenset({"name", "desc", "closed"})


def create(request: ApiRequest) -> Any:
    """Create a board, by default with lists and labels."""
    name = request.arguments.name(error="ERROR")
    board = request.store.add_board(request.author, name, request.arguments.text("desc"))
    if request.arguments.flag("defaultLists", default=True):
        for list_name in DEFAULT_LISTS:
            request.store.add_list(request.author, board, list_name)
    if request.arguments.flag("defaultLabels", default=True):
        for color in DEFAULT_LABELS:
            request.store.add_label(request.now, board, "", color)
    return object_json.board(board, request.arguments)


def update(request: ApiRequest) -> Any:
    """Update a board."""
    board, arguments = request.board, request.arguments
    if "name" in arguments:
        board.name = arguments.text("name", min_length=1)
    if "desc" in arguments:
        board.desc = arguments.text("desc")
    if "closed" in arguments:
        board.closed = arguments.flag("closed")
    request.store.record(request.author, "updateBoard", board)
    return object_json.board(board, Arguments({}))


def delete(request: ApiRequest) -> Any:
    """Delete a board."""
    request.store.delete_board(request.board)
    return {"_value": None}


def read_lists(request: ApiRequest) -> Any:
    """Return the lists of a board."""
    return object_json.lists(request.board, _add_filter(request))


def read_cards(request: ApiRequest) -> Any:
    """Return the cards of a board, or the card whose ID is in place of the filter."""
    if IDENTIFIER.fullmatch(request.path.get("filter", "")):
        return _on_board(
            request.board, request.with_path(card=request.path["filter"]).card, object_json.card, request.arguments
        )
    return object_json.cards(request.board, _add_filter(request))


def read_label(request: ApiRequest) -> Any:
    """Return a label of a board."""
    return _on_board(request.board, request.label, object_json.label, request.arguments)


def read_nothing(request: ApiRequest) -> Any:
    """Return an empty collection of a board or card that the user can see."""
    _ = request.card if "card" in request.path else request.board
    return []


def _add_filter(request: ApiRequest) -> Arguments:
    return (
        request.arguments.with_params(filter=request.path["filter"]) if "filter" in request.path else request.arguments
    )


def _on_board(board: Board, thing: Any, view: Any, arguments: Arguments) -> Any:
    if thing.board is not board:
        raise ApiError(404, NOT_FOUND)
    return view(thing, arguments)
