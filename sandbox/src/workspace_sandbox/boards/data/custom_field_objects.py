"""Custom fields of boards, and their values on cards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.boards.data.objects import Board

KINDS = ("checkbox", "date", "list", "number", "text")
VALUE_KEYS = {"checkbox": "checked", "date": "date", "number": "number", "text": "text"}
"""The keys of values by field type. The value of a list is the ID of an option."""


@dataclass(eq=False, slots=True)
class Choice:
    """An option of a list field."""

    id: str
    text: str
    color: str
    pos: float


@dataclass(eq=False, slots=True)
class CustomField:
    """A custom field of a board."""

    id: str
    board: Board
    name: str
    type: str
    pos: float
    on_front: bool = True
    choices: dict[str, Choice] = field(default_factory=dict)

    def neighbours(self) -> Iterable["CustomField"]:
        """Return all fields of the board."""
        return self.board.custom_fields.values()


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The value of a field on a card, which is a text or the ID of an option."""

    id: str
    field_id: str
    value: Mapping[str, str] | None
    choice_id: str | None


def choice(option: Choice, field_id: str) -> dict[str, Any]:
    """Return the vendor's JSON of an option."""
    raw = {"id": option.id, "idCustomField": field_id, "value": {"text": option.text}}
    return raw | {"color": option.color, "pos": _pos(option.pos)}


def definition(custom_field: CustomField) -> dict[str, Any]:
    """Return the vendor's JSON of a field with its options."""
    raw: dict[str, Any] = {
        "id": custom_field.id,
        "idModel": custom_field.board.id,
        "modelType": "board",
        "fieldGroup": (custom_field.id * 3)[:64],
        "display": {"cardFront": custom_field.on_front},
        "name": custom_field.name,
        "pos": _pos(custom_field.pos),
        "type": custom_field.type,
        "isSuggestedField": False,
    }
    if custom_field.type == "list":
        raw["options"] = [
            choice(one, custom_field.id) for one in sorted(custom_field.choices.values(), key=lambda one: one.pos)
        ]
    return raw


def item(value: FieldValue, card_id: str) -> dict[str, Any]:
    """Return the vendor's JSON of a value."""
    raw = {"id": value.id, "value": value.value, "idCustomField": value.field_id}
    return raw | {"idModel": card_id, "modelType": "card", "idValue": value.choice_id}


def ordered_definitions(fields: Iterable[CustomField]) -> list[dict[str, Any]]:
    """Return the vendor's JSON of fields in the order of the board."""
    return [definition(one) for one in sorted(fields, key=lambda one: one.pos)]


def _pos(number: float) -> float:
    return int(number) if number.is_integer() else number
