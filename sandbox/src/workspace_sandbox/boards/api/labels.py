"""Routes of labels."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.data.objects import SHADES, Board, Label
from workspace_sandbox.boards.request import ApiRequest

PUTTABLE = frozenset({"name", "color"})


def create(request: ApiRequest) -> Any:
    """Create a label."""
    board = (
        request.board
        if "board" in request.path
        else request.with_path(board=request.arguments.identifier("idBoard")).board
    )
    return object_json.label(new_label(request, board), Arguments({}))


def new_label(request: ApiRequest, board: Board) -> Label:
    """Create a label on *board* from ``name`` and ``color``."""
    label = request.store.add_label(request.now, board, request.arguments.text("name"), _color(request.arguments))
    request.store.announce(request.author, "createLabel", board, **action_data(label))
    return label


def action_data(label: Label) -> dict[str, Any]:
    """Return the fields of a label that actions include."""
    return {"label": {"id": label.id, "name": label.name, "color": label.color}}


def update(request: ApiRequest) -> Any:
    """Update the name or the color of a label."""
    label = request.label
    if "name" in request.arguments:
        label.name = request.arguments.text("name")
    if "color" in request.arguments:
        label.color = _color(request.arguments)
    request.store.announce(request.author, "updateLabel", label.board, **action_data(label))
    return object_json.label(label, Arguments({}))


def delete(request: ApiRequest) -> Any:
    """Delete a label."""
    label = request.label
    request.store.delete_label(label)
    request.store.announce(request.author, "deleteLabel", label.board, label={"id": label.id})
    return {"limits": {}}


def _color(arguments: Arguments) -> str | None:
    return arguments.choice("color", SHADES, "") if arguments.has_value("color") else None
