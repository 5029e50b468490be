"""Routes of lists."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.data.objects import Board, CardList
from workspace_sandbox.boards.error_responses import LIST_NOT_FOUND, ApiError
from workspace_sandbox.boards.request import ApiRequest

PUTTABLE = frozenset({"name", "closed", "pos", "idBoard", "subscribed"})


def create(request: ApiRequest) -> Any:
    """Create a list on the board in the path or the body."""
    board = request.board if "board" in request.path else _board_of_body(request)
    name = request.arguments.name(error="BAD_REQUEST_ERROR")
    return object_json.card_list(
        request.store.add_list(request.author, board, name, request.arguments.position(default="top")), Arguments({})
    )


def _board_of_body(request: ApiRequest) -> Board:
    identifier = request.arguments.identifier("idBoard")
    board = request.store.boards.get(identifier)
    if board is None or not request.can_see(board):
        raise ApiError(401, f"unauthorized board list requested {identifier}")
    return board


def update(request: ApiRequest) -> Any:
    """Update a list."""
    card_list, arguments = request.card_list, request.arguments
    changes: dict[str, Any] = {}
    if "name" in arguments:
        changes["name"] = arguments.text("name", min_length=1)
    if "closed" in arguments:
        changes["closed"] = arguments.flag("closed")
    board = _target_board(request, card_list)
    if "subscribed" in arguments:
        card_list.subscribed = arguments.flag("subscribed")
    if "pos" in arguments:
        changes["pos"] = request.store.resolve_position(card_list, arguments.position())
    request.store.update_list(request.author, card_list, changes)
    request.store.move_list(request.author, card_list, board)
    return object_json.card_list(card_list, Arguments({}))


def _target_board(request: ApiRequest, card_list: CardList) -> Board:
    if "idBoard" not in request.arguments:
        return card_list.board
    return request.with_path(board=request.arguments.identifier("idBoard")).board


def archive_cards(request: ApiRequest) -> Any:
    """Archive all cards of a list."""
    for card in request.card_list.cards.values():
        request.store.update_card(request.author, card, {"closed": True})
    return {}


def move_cards(request: ApiRequest) -> Any:
    """Move all cards of a list to another one, and return its cards."""
    target = request.store.lists.get(request.arguments.identifier("idList"))
    if target is None or not request.can_see(target) or target.board.id != request.arguments.identifier("idBoard"):
        raise ApiError(404, LIST_NOT_FOUND)
    for card in list(request.card_list.cards.values()):
        request.store.move_card(request.author, card, target)
    return object_json.cards(target, Arguments({}))
