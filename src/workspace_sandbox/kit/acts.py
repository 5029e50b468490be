"""What people do in an application, declared once: performed, told by a control route and documented from this."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Act(Generic[D]):
    """One act: what does it, what it does, its fields with a sentence on each, and what it answers."""

    do: D
    does: str
    needs: Mapping[str, str] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)
    """Fields that may be left out."""
    answers: str = ""

    def fields(self) -> Iterator[tuple[str, bool, str]]:
        """Each field: its name, whether it is needed, and what it is."""
        yield from ((name, True, about) for name, about in self.needs.items())
        yield from ((name, False, about) for name, about in self.takes.items())


Acts = Mapping[str, Act[Any]]
"""Acts by the name that ``action`` takes."""


def told(acts: Acts) -> list[dict[str, Any]]:
    """Every act with its fields, as JSON."""
    return [
        {
            "action": name,
            "does": act.does,
            "fields": [{"name": one, "needed": needed, "about": about} for one, needed, about in act.fields()],
            "answers": act.answers,
        }
        for name, act in acts.items()
    ]


def table(acts: Acts) -> list[str]:
    """The same as the lines of a table in Markdown."""
    rows = (f"| {_written(name, act)} | {act.does} | {_listed(act)} | {act.answers} |" for name, act in acts.items())
    return ["| Act | Does | Fields | Answers |", "|---|---|---|---|", *rows]


def _written(name: str, act: Act[Any]) -> str:
    fields = [f'"{one}"' + ("" if needed else "?") for one, needed, _ in act.fields()]
    inside = ", ".join([f'"action": "{name}"', *fields])
    return f"`{{{inside}}}`"


def _listed(act: Act[Any]) -> str:
    return " ".join(f"`{name}`: {about}." for name, _, about in act.fields())
