"""Answers about boards, lists and labels."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import IDENTIFIER, Arguments
from workspace_sandbox.boards.asking import Ask
from workspace_sandbox.boards.fields import BOARD, LIST
from workspace_sandbox.boards.refusals import (
    LIST_NOT_FOUND,
    NOT_FOUND,
    Refusal,
)
from workspace_sandbox.boards.state import SHADES, Board, CardList, Label

DEFAULT_LISTS = ("To Do", "Doing", "Done")
DEFAULT_LABELS = ("green", "yellow", "orange", "red", "purple", "blue")

BOARD_FIELDS = frozenset({"name", "desc", "closed"})
LIST_FIELDS = frozenset({"name", "closed", "pos", "idBoard", "subscribed"})
LABEL_FIELDS = frozenset({"name", "color"})


def read_board(ask: Ask) -> Any:
    """A board."""
    return views.board(ask.board, ask.arguments)


def read_board_field(ask: Ask) -> Any:
    """One field of a board."""
    return ask.field_of(BOARD, ask.board)


def create_board(ask: Ask) -> Any:
    """A new board, with lists and labels unless they are not wanted."""
    name = _name_or_json(ask.arguments, "ERROR")
    board = ask.store.add_board(ask.author, name, ask.arguments.text("desc"))
    if ask.arguments.flag("defaultLists", default=True):
        for list_name in DEFAULT_LISTS:
            ask.store.add_list(ask.author, board, list_name)
    if ask.arguments.flag("defaultLabels", default=True):
        for color in DEFAULT_LABELS:
            ask.store.add_label(ask.now, board, "", color)
    return views.board(board, ask.arguments)


def update_board(ask: Ask) -> Any:
    """A board with other values."""
    board, arguments = ask.board, ask.arguments
    if "name" in arguments:
        board.name = arguments.text("name", shortest=1)
    if "desc" in arguments:
        board.desc = arguments.text("desc")
    if "closed" in arguments:
        board.closed = arguments.flag("closed")
    ask.store.record(ask.author, "updateBoard", board)
    return views.board(board, Arguments({}))


def update_board_field(ask: Ask) -> Any:
    """A board with one other value."""
    return update_board(ask.as_update(BOARD_FIELDS))


def delete_board(ask: Ask) -> Any:
    """No board any more."""
    ask.store.delete_board(ask.board)
    return {"_value": None}


def read_board_lists(ask: Ask) -> Any:
    """The lists of a board."""
    return views.lists(ask.board, _filtered(ask))


def read_board_cards(ask: Ask) -> Any:
    """The cards of a board, or the one whose id stands where a filter might."""
    if IDENTIFIER.fullmatch(ask.path.get("filter", "")):
        return _on_board(ask.board, ask.having(card=ask.path["filter"]).card, views.card, ask.arguments)
    return views.cards(ask.board, _filtered(ask))


def read_board_labels(ask: Ask) -> Any:
    """The labels of a board."""
    return views.labels(ask.board, ask.arguments)


def read_board_label(ask: Ask) -> Any:
    """A label of a board."""
    return _on_board(ask.board, ask.label, views.label, ask.arguments)


def read_board_actions(ask: Ask) -> Any:
    """What happened on a board."""
    return views.board_actions(ask.board, ask.arguments)


def read_board_checklists(ask: Ask) -> Any:
    """The checklists of a board."""
    return views.board_checklists(ask.board, ask.arguments)


def read_board_members(ask: Ask) -> Any:
    """The members of a board."""
    return views.members(ask.board.members.values(), ask.arguments)


def read_nothing(ask: Ask) -> Any:
    """The empty collection of a board or card, once it is seen."""
    _ = ask.card if "card" in ask.path else ask.board
    return []


def create_list(ask: Ask) -> Any:
    """A new list, on the board of the path or of the body."""
    board = ask.board if "board" in ask.path else _board_for_list(ask)
    name = _name_or_json(ask.arguments, "BAD_REQUEST_ERROR")
    return views.card_list(
        ask.store.add_list(ask.author, board, name, ask.arguments.place(default="top")), Arguments({})
    )


def _board_for_list(ask: Ask) -> Board:
    identifier = ask.arguments.identifier("idBoard")
    board = ask.store.boards.get(identifier)
    if board is None or not ask.sees(board):
        raise Refusal(401, f"unauthorized board list requested {identifier}")
    return board


def read_list(ask: Ask) -> Any:
    """A list."""
    return views.card_list(ask.card_list, ask.arguments)


def read_list_field(ask: Ask) -> Any:
    """One field of a list."""
    return ask.field_of(LIST, ask.card_list)


def read_list_cards(ask: Ask) -> Any:
    """The cards of a list."""
    return views.cards(ask.card_list, ask.arguments)


def read_list_board(ask: Ask) -> Any:
    """The board of a list."""
    return views.board(ask.card_list.board, ask.arguments)


def read_list_actions(ask: Ask) -> Any:
    """What happened in a list."""
    return views.list_actions(ask.card_list, ask.arguments)


def update_list(ask: Ask) -> Any:
    """A list with other values."""
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


def update_list_field(ask: Ask) -> Any:
    """A list with one other value."""
    return update_list(ask.as_update(LIST_FIELDS))


def _target_board(ask: Ask, card_list: CardList) -> Board:
    if "idBoard" not in ask.arguments:
        return card_list.board
    return ask.having(board=ask.arguments.identifier("idBoard")).board


def archive_cards(ask: Ask) -> Any:
    """Nothing, after every card of a list was archived."""
    for card in ask.card_list.cards.values():
        ask.store.update_card(ask.author, card, {"closed": True})
    return {}


def move_cards(ask: Ask) -> Any:
    """The cards of the target list, after every card of a list was moved there."""
    target = ask.store.lists.get(ask.arguments.identifier("idList"))
    if target is None or not ask.sees(target) or target.board.id != ask.arguments.identifier("idBoard"):
        raise Refusal(404, LIST_NOT_FOUND)
    for card in list(ask.card_list.cards.values()):
        ask.store.move_card(ask.author, card, target)
    return views.cards(target, Arguments({}))


def create_label(ask: Ask) -> Any:
    """A new label."""
    board = ask.board if "board" in ask.path else ask.having(board=ask.arguments.identifier("idBoard")).board
    return views.label(new_label(ask, board), Arguments({}))


def new_label(ask: Ask, board: Board) -> Label:
    """A label of *board* made from ``name`` and ``color``."""
    return ask.store.add_label(ask.now, board, ask.arguments.text("name"), _color(ask.arguments))


def read_label(ask: Ask) -> Any:
    """A label."""
    return views.label(ask.label, ask.arguments)


def update_label(ask: Ask) -> Any:
    """A label with another name or colour."""
    label = ask.label
    if "name" in ask.arguments:
        label.name = ask.arguments.text("name")
    if "color" in ask.arguments:
        label.color = _color(ask.arguments)
    return views.label(label, Arguments({}))


def update_label_field(ask: Ask) -> Any:
    """A label with one other value."""
    return update_label(ask.as_update(LABEL_FIELDS))


def delete_label(ask: Ask) -> Any:
    """No label any more."""
    ask.store.delete_label(ask.label)
    return {"limits": {}}


def _color(arguments: Arguments) -> str | None:
    return arguments.choice("color", SHADES, "") if arguments.given("color") else None


def _name_or_json(arguments: Arguments, error: str) -> str:
    """A name whose refusal is one of the vendor's few JSON ones."""
    try:
        return arguments.text("name", shortest=1)
    except Refusal as refusal:
        raise Refusal(400, {"message": refusal.body, "error": error}) from None


def _filtered(ask: Ask) -> Arguments:
    return ask.arguments.having(filter=ask.path["filter"]) if "filter" in ask.path else ask.arguments


def _on_board(board: Board, thing: Any, view: Any, arguments: Arguments) -> Any:
    if thing.board is not board:
        raise Refusal(404, NOT_FOUND)
    return view(thing, arguments)
