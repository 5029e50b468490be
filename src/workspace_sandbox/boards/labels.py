"""Answers about labels."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import Ask
from workspace_sandbox.boards.state import SHADES, Board, Label

PUTTABLE = frozenset({"name", "color"})


def create(ask: Ask) -> Any:
    """Create a label."""
    board = ask.board if "board" in ask.path else ask.having(board=ask.arguments.identifier("idBoard")).board
    return views.label(new_label(ask, board), Arguments({}))


def new_label(ask: Ask, board: Board) -> Label:
    """A label of *board* made from ``name`` and ``color``."""
    return ask.store.add_label(ask.now, board, ask.arguments.text("name"), _color(ask.arguments))


def read(ask: Ask) -> Any:
    """A label."""
    return views.label(ask.label, ask.arguments)


def update(ask: Ask) -> Any:
    """Update the name or the colour of a label."""
    label = ask.label
    if "name" in ask.arguments:
        label.name = ask.arguments.text("name")
    if "color" in ask.arguments:
        label.color = _color(ask.arguments)
    return views.label(label, Arguments({}))


def update_field(ask: Ask) -> Any:
    """Update one field of a label."""
    return update(ask.as_update(PUTTABLE))


def delete(ask: Ask) -> Any:
    """Delete a label."""
    ask.store.delete_label(ask.label)
    return {"limits": {}}


def _color(arguments: Arguments) -> str | None:
    return arguments.choice("color", SHADES, "") if arguments.given("color") else None
