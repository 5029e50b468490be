"""Administrative acts: who carries one out, and the entry of the audit trail that is written with it."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")
Entry = Mapping[str, Any]

OK = "ok"
"""The outcome of an act that was carried out; of one that was refused it is the code of the error."""

IDENTIFIER = re.compile(r"[a-z]{2,8}_[0-9A-HJKMNP-TV-Z]{26}|[a-z]{1,20}")
"""An identifier of this service, or the name of a connector."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Someone who administers: an operator by name, a managing key by its identifier, or a program."""

    name: str
    address: str = ""
    """The network address that the act came from; empty where there was none."""

    surface: str = "http"
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Facts about the actor that each entry repeats."""

    def entry(self, act: str, object_id: str, workspace_id: str | None = None, outcome: str = OK) -> dict[str, Any]:
        """An entry for *act* on an object, which has neither time nor place in the trail yet."""
        return {
            "actor": self.name,
            "address": self.address or None,
            "surface": self.surface,
            "act": act,
            # Whatever else somebody puts there, such as a key in place of its identifier, is not kept.
            "object_id": object_id if IDENTIFIER.fullmatch(object_id) else "",
            "workspace_id": workspace_id,
            "outcome": outcome,
            "count": 1,
            "details": dict(self.details),
        }


class Trail(Protocol):
    """The audit trail, as acts know it."""

    def append(self, writing: "Connection", entry: Entry) -> None:
        """Add an entry in the transaction of the act."""


_ACTING: ContextVar[tuple[Trail, Actor]] = ContextVar("who acts")


@contextmanager
def acting(trail: Trail, actor: Actor) -> Iterator[None]:
    """Record the administrative acts of this task as those of *actor* while inside."""
    token = _ACTING.set((trail, actor))
    try:
        yield
    finally:
        _ACTING.reset(token)


def recorded(
    work: "Callable[[Connection], T]", act: str, object_id: str, workspace_id: str | None = None, **details: Any
) -> "Callable[[Connection], T]":
    """*work*, which also appends an entry for *act* in the same transaction, where somebody acts.

    A work that returns None has found nothing to change, and has no entry. The workspace is that of the row that the
    work returns, unless one is given. *details* are names of what was changed, never values.
    """
    present = _ACTING.get(None)
    if present is None:
        return work
    trail, actor = present
    entry = actor.entry(act, object_id, workspace_id)
    entry["details"] |= details

    def carry_out(writing: "Connection") -> T:
        result = work(writing)
        if result is not None:
            trail.append(writing, {**entry, "workspace_id": workspace_id or _workspace_of(result)})
        return result

    return carry_out


def _workspace_of(result: object) -> str | None:
    return result.get("workspace_id") if isinstance(result, Mapping) else None
