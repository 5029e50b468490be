"""User actions, each declared once, and validated, performed and documented from its declaration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit import input_validation

if TYPE_CHECKING:
    from workspace_sandbox.kit.emulator import Emulator

Read = Callable[[Any, Any], Any]
"""Reads a value for an emulator.

The message of a ``ValueError`` continues a sentence that begins with the field's name.
"""


@dataclass(frozen=True, slots=True)
class ActionField:
    """A field of a user action, with its description."""

    name: str
    about: str
    read: Read = lambda _, value: value
    needed: bool = True
    nullable: bool = False
    """Whether null differs from leaving the field out."""

    def is_present(self, action: Mapping[str, Any]) -> bool:
        """Return True if *action* contains the field."""
        return self.name in action and (self.nullable or action[self.name] is not None)

    def parse(self, emulator: Any, action: Mapping[str, Any]) -> Any:
        """Return the parsed value of the field. Raises ``ValueError`` if it is missing or invalid."""
        if not self.is_present(action):
            raise ValueError(f"{self.name} is required")
        try:
            return self.read(emulator, action[self.name])
        except ValueError as error:
            raise ValueError(f"{self.name} {error}") from error

    def with_description(self, about: str) -> "ActionField":
        """Return a copy of the field with another description."""
        return replace(self, about=about)


optional = partial(ActionField, needed=False)


def reader_for(reader: input_validation.Field) -> Read:
    """Return an emulator-independent reader for values of one kind."""
    return lambda _, value: reader(value)


text, flag = reader_for(input_validation.text), reader_for(input_validation.flag)


def populated(_: Any, value: Any) -> str:
    """Return *value* if it is a non-empty string."""
    if not input_validation.text(value):
        raise ValueError("must be a non-empty string")
    return str(value)


def lookup_in(collection: Callable[[Any], Mapping[str, Any]]) -> Read:
    """Return a reader that looks up an object of the emulator by its identifier."""

    def find(emulator: Any, value: Any) -> Any:
        match = collection(emulator).get(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError(f"{value!r} does not exist")
        return match

    return find


@dataclass(frozen=True, slots=True)
class UserAction:
    """A user action: its handler, description, fields and result.

    ``handler`` is called with the emulator, then with the required fields in their order, and with optional fields as
    keyword arguments.
    """

    handler: Callable[..., dict[str, Any]]
    does: str
    fields: tuple[ActionField, ...] = ()
    answers: str = ""

    def perform(self, emulator: Any, action: Mapping[str, Any]) -> dict[str, Any]:
        """Perform *action*. Raises ``ValueError`` with the reason if it is invalid."""
        needed = [field.parse(emulator, action) for field in self.fields if field.needed]
        present = [field for field in self.fields if not field.needed and field.is_present(action)]
        return self.handler(emulator, *needed, **{field.name: field.parse(emulator, action) for field in present})


UserActions = Mapping[str, UserAction]
"""User actions by the name in the ``action`` field."""


def _list_deliveries(emulator: "Emulator") -> dict[str, Any]:
    return {"deliveries": emulator.hooks.log.to_json()}


DELIVERIES = UserAction(
    _list_deliveries,
    "Lists the delivery attempts.",
    answers="`deliveries`: `event_id`, `type`, `attempt`, `status`, `reason` of each",
)


def actions_json(user_actions: UserActions) -> list[dict[str, Any]]:
    """Return all user actions with their fields as JSON."""
    return [
        {
            "action": name,
            "does": action.does,
            "fields": [{"name": one.name, "needed": one.needed, "about": one.about} for one in action.fields],
            "answers": action.answers,
        }
        for name, action in user_actions.items()
    ]


def markdown_table(user_actions: UserActions) -> list[str]:
    """Return all user actions as the lines of a Markdown table."""
    rows = (
        f"| {_format_call(name, action)} | {action.does} | {_format_fields(action)} | {action.answers} |"
        for name, action in user_actions.items()
    )
    return ["| Action | Effect | Fields | Response |", "|---|---|---|---|", *rows]


def _format_call(name: str, action: UserAction) -> str:
    parts = (f'"{one.name}"' + "?" * (not one.needed) for one in action.fields)
    return "`{" + ", ".join([f'"action": "{name}"', *parts]) + "}`"


def _format_fields(action: UserAction) -> str:
    return " ".join(f"`{one.name}`: {one.about}." for one in action.fields)
