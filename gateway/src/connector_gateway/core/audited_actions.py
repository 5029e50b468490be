"""Administrative actions: their actors, and the audit entries written in the same transaction."""

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
"""The outcome of a successful action. A rejected action has its error code instead."""

IDENTIFIER = re.compile(r"[a-z]{2,8}_[0-9A-HJKMNP-TV-Z]{26}|[a-z]{1,20}")
"""An identifier of this service, or the name of a connector."""


@dataclass(frozen=True, slots=True)
class Actor:
    """An administrator: an operator by name, a managing key by its identifier, or a program."""

    name: str
    address: str = ""
    """The client IP, empty if there is none."""

    surface: str = "http"
    details: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Facts about the actor that each entry repeats."""

    def entry(self, act: str, object_id: str, workspace_id: str | None = None, outcome: str = OK) -> dict[str, Any]:
        """Return an entry for *act* on an object, still without time and position in the trail."""
        return {
            "actor": self.name,
            "address": self.address or None,
            "surface": self.surface,
            "act": act,
            # Other text is not stored, because it could be a secret, such as a key instead of its identifier.
            "object_id": object_id if IDENTIFIER.fullmatch(object_id) else "",
            "workspace_id": workspace_id,
            "outcome": outcome,
            "count": 1,
            "details": dict(self.details),
        }


class Trail(Protocol):
    """The interface of the audit trail for actions."""

    def append(self, db: "Connection", entry: Entry) -> None:
        """Append an entry in the transaction of the action."""


_CURRENT: ContextVar[tuple[Trail, Actor]] = ContextVar("current actor")


@contextmanager
def act_as(trail: Trail, actor: Actor) -> Iterator[None]:
    """Attribute the administrative actions of this task to *actor*, within the context."""
    token = _CURRENT.set((trail, actor))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def with_audit_entry(
    work: "Callable[[Connection], T]", act: str, object_id: str, workspace_id: str | None = None, **details: Any
) -> "Callable[[Connection], T]":
    """Wrap *work* so that it appends an entry for *act* in the same transaction. Without an actor, return *work*.

    If *work* returns None, nothing was changed, and no entry is appended. The workspace defaults to that of the row
    that *work* returns. *details* are names of changed fields, never values.
    """
    context = _CURRENT.get(None)
    if context is None:
        return work
    trail, actor = context
    entry = actor.entry(act, object_id, workspace_id)
    entry["details"] |= details

    def work_and_record(db: "Connection") -> T:
        result = work(db)
        if result is not None:
            trail.append(db, {**entry, "workspace_id": workspace_id or _workspace_of(result)})
        return result

    return work_and_record


def _workspace_of(result: object) -> str | None:
    return result.get("workspace_id") if isinstance(result, Mapping) else None
