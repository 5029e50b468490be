"""Custom fields of boards, and what cards have in them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.boards.state import Board

KINDS = ("checkbox", "date", "list", "number", "text")
VALUE_KEYS = {"checkbox": "checked", "date": "date", "number": "number", "text": "text"}
"""What the value of a card is called by the type of its field; that of a list is an option."""


@dataclass(eq=False, slots=True)
class Choice:
    """One option of a list."""

    id: str
    text: str
    color: str
    pos: float


@dataclass(eq=False, slots=True)
class CustomField:
    """A field that the cards of a board have beside those of the vendor."""

    id: str
    board: Board
    name: str
    type: str
    pos: float
    on_front: bool = True
    choices: dict[str, Choice] = field(default_factory=dict)

    def beside(self) -> Iterable["CustomField"]:
        """The fields of its board."""
        return self.board.custom_fields.values()


@dataclass(frozen=True, slots=True)
class FieldValue:
    """What a card has in a field: a value as text, or an option by its id."""

    id: str
    field_id: str
    value: Mapping[str, str] | None
    choice_id: str | None


def choice(shown: Choice, field_id: str) -> dict[str, Any]:
    """An option."""
    about = {"id": shown.id, "idCustomField": field_id, "value": {"text": shown.text}}
    return about | {"color": shown.color, "pos": _pos(shown.pos)}


def definition(shown: CustomField) -> dict[str, Any]:
    """A field with its options."""
    raw: dict[str, Any] = {
        "id": shown.id,
        "idModel": shown.board.id,
        "modelType": "board",
        "fieldGroup": (shown.id * 3)[:64],
        "display": {"cardFront": shown.on_front},
        "name": shown.name,
        "pos": _pos(shown.pos),
        "type": shown.type,
        "isSuggestedField": False,
    }
    if shown.type == "list":
        raw["options"] = [choice(one, shown.id) for one in sorted(shown.choices.values(), key=lambda one: one.pos)]
    return raw


def item(shown: FieldValue, card_id: str) -> dict[str, Any]:
    """What a card has in a field."""
    about = {"id": shown.id, "value": shown.value, "idCustomField": shown.field_id}
    return about | {"idModel": card_id, "modelType": "card", "idValue": shown.choice_id}


def in_order(fields: Iterable[CustomField]) -> list[dict[str, Any]]:
    """Fields as a board lists them."""
    return [definition(one) for one in sorted(fields, key=lambda one: one.pos)]


def _pos(number: float) -> float:
    return int(number) if number.is_integer() else number
