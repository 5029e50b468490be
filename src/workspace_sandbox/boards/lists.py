"""Answers about lists."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.state import Board, CardList
from workspace_sandbox.boards.wire import LIST_NOT_FOUND, Refusal

PUTTABLE = frozenset({"name", "closed", "pos", "idBoard", "subscribed"})


def create(ask: ApiRequest) -> Any:
    """Create a list, on the board of the path or of the body."""
    board = ask.board if "board" in ask.path else _board_of_body(ask)
    name = ask.arguments.name(error="BAD_REQUEST_ERROR")
    return views.card_list(
        ask.store.add_list(ask.author, board, name, ask.arguments.place(default="top")), Arguments({})
    )


def _board_of_body(ask: ApiRequest) -> Board:
    identifier = ask.arguments.identifier("idBoard")
    board = ask.store.boards.get(identifier)
    if board is None or not ask.sees(board):
        raise Refusal(401, f"unauthorized board list requested {identifier}")
    return board


def update(ask: ApiRequest) -> Any:
    """Update a list."""
    card_list, arguments = ask.card_list, ask.arguments
    changes: dict[str, Any] = {}
    if "name" in arguments:
        changes["name"] = arguments.text("name", shortest=1)
    if "closed" in arguments:
        changes["closed"] = arguments.flag("closed")
    board = _target_board(ask, card_list)
    if "subscribed" in arguments:
        card_list.subscribed = arguments.flag("subscribed")
    if "pos" in arguments:
        changes["pos"] = ask.store.place_of(card_list, arguments.place())
    ask.store.update_list(ask.author, card_list, changes)
    ask.store.move_list(ask.author, card_list, board)
    return views.card_list(card_list, Arguments({}))


def _target_board(ask: ApiRequest, card_list: CardList) -> Board:
    if "idBoard" not in ask.arguments:
        return card_list.board
    return ask.having(board=ask.arguments.identifier("idBoard")).board


def archive_cards(ask: ApiRequest) -> Any:
    """Archive every card of a list."""
    for card in ask.card_list.cards.values():
        ask.store.update_card(ask.author, card, {"closed": True})
    return {}


def move_cards(ask: ApiRequest) -> Any:
    """Move every card of a list to another one, whose cards are answered."""
    target = ask.store.lists.get(ask.arguments.identifier("idList"))
    if target is None or not ask.sees(target) or target.board.id != ask.arguments.identifier("idBoard"):
        raise Refusal(404, LIST_NOT_FOUND)
    for card in list(ask.card_list.cards.values()):
        ask.store.move_card(ask.author, card, target)
    return views.cards(target, Arguments({}))
