"""User actions, declared once: checked, performed, listed by a control route and documented from the declaration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workspace_sandbox.kit import asking

Read = Callable[[Any, Any], Any]
"""Reads a value for an emulator; a ``ValueError`` ends the sentence that begins with the field's name."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an act, with a sentence on it."""

    name: str
    about: str
    read: Read = lambda _, value: value
    needed: bool = True
    nullable: bool = False
    """Whether null means something other than leaving it out."""

    def is_in(self, action: Mapping[str, Any]) -> bool:
        """Return whether it is given."""
        return self.name in action and (self.nullable or action[self.name] is not None)

    def of(self, emulator: Any, action: Mapping[str, Any]) -> Any:
        """Return its value, read."""
        if not self.is_in(action):
            raise ValueError(f"{self.name} is needed")
        try:
            return self.read(emulator, action[self.name])
        except ValueError as fault:
            raise ValueError(f"{self.name} {fault}") from fault

    def said(self, about: str) -> "Field":
        """Return the same field with another sentence."""
        return replace(self, about=about)


optional = partial(Field, needed=False)


def reading(reader: asking.Field) -> Read:
    """Return what reads values of one kind, such as texts, for any emulator."""
    return lambda _, value: reader(value)


text, flag = reading(asking.text), reading(asking.flag)


def populated(_: Any, value: Any) -> str:
    """Read a text that is not empty."""
    if not asking.text(value):
        raise ValueError("must be a text that is not empty")
    return str(value)


def known(shelf: Callable[[Any], Mapping[str, Any]]) -> Read:
    """Return what finds an object of the emulator by its identifier."""

    def find(emulator: Any, value: Any) -> Any:
        found = shelf(emulator).get(value) if isinstance(value, str) else None
        if found is None:
            raise ValueError(f"is {value!r}, and there is no such object")
        return found

    return find


@dataclass(frozen=True, slots=True)
class UserAction:
    """One act: what does it, what it does, its fields, and what it answers.

    ``do`` is called with the emulator and the needed fields in their order, and with optional fields by their names.
    """

    handler: Callable[..., dict[str, Any]]
    does: str
    fields: tuple[Field, ...] = ()
    answers: str = ""

    def perform(self, emulator: Any, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do it as *action* says. Raises a ``ValueError`` that says what is wrong with it."""
        needed = [field.of(emulator, action) for field in self.fields if field.needed]
        given = [field for field in self.fields if not field.needed and field.is_in(action)]
        return self.handler(emulator, *needed, **{field.name: field.of(emulator, action) for field in given})


Acts = Mapping[str, UserAction]
"""Acts by the name that ``action`` takes."""

DELIVERIES = UserAction(
    lambda emulator: {"deliveries": emulator.hooks.journal.described()},
    "Tells how deliveries went.",
    answers="`deliveries`: `event_id`, `type`, `attempt`, `status`, `reason` of each",
)


def actions_json(acts: Acts) -> list[dict[str, Any]]:
    """Every act with its fields, as JSON."""
    return [
        {
            "action": name,
            "does": act.does,
            "fields": [{"name": one.name, "needed": one.needed, "about": one.about} for one in act.fields],
            "answers": act.answers,
        }
        for name, act in acts.items()
    ]


def table(acts: Acts) -> list[str]:
    """The same as the lines of a table in Markdown."""
    rows = (f"| {_written(name, act)} | {act.does} | {_listed(act)} | {act.answers} |" for name, act in acts.items())
    return ["| Act | Does | Fields | Answers |", "|---|---|---|---|", *rows]


def _written(name: str, act: UserAction) -> str:
    parts = (f'"{one.name}"' + "?" * (not one.needed) for one in act.fields)
    return "`{" + ", ".join([f'"action": "{name}"', *parts]) + "}`"


def _listed(act: UserAction) -> str:
    return " ".join(f"`{one.name}`: {one.about}." for one in act.fields)
