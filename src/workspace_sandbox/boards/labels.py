"""Answers about labels."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.state import SHADES, Board, Label

PUTTABLE = frozenset({"name", "color"})


def create(ask: ApiRequest) -> Any:
    """Create a label."""
    board = ask.board if "board" in ask.path else ask.having(board=ask.arguments.identifier("idBoard")).board
    return views.label(new_label(ask, board), Arguments({}))


def new_label(ask: ApiRequest, board: Board) -> Label:
    """A label of *board* made from ``name`` and ``color``."""
    made = ask.store.add_label(ask.now, board, ask.arguments.text("name"), _color(ask.arguments))
    ask.store.announce(ask.author, "createLabel", board, **told(made))
    return made


def told(label: Label) -> dict[str, Any]:
    """What an action tells of a label."""
    return {"label": {"id": label.id, "name": label.name, "color": label.color}}


def update(ask: ApiRequest) -> Any:
    """Update the name or the colour of a label."""
    label = ask.label
    if "name" in ask.arguments:
        label.name = ask.arguments.text("name")
    if "color" in ask.arguments:
        label.color = _color(ask.arguments)
    ask.store.announce(ask.author, "updateLabel", label.board, **told(label))
    return views.label(label, Arguments({}))


def delete(ask: ApiRequest) -> Any:
    """Delete a label."""
    label = ask.label
    ask.store.delete_label(label)
    ask.store.announce(ask.author, "deleteLabel", label.board, label={"id": label.id})
    return {"limits": {}}


def _color(arguments: Arguments) -> str | None:
    return arguments.choice("color", SHADES, "") if arguments.given("color") else None
