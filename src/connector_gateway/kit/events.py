"""The words in which a room says how changes are observed, and what it may use while it looks for them.

A *poll* asks the third party what has changed since the last one.
A *delivery* is what the third party sends of its own accord; it may carry changes, or only say where to poll.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.kit.shapes import Page, Position, Result, UtcDatetime

C = TypeVar("C")
R = TypeVar("R", bound=Result)
State = Mapping[str, Any]
"""What the room notes of a connection, such as its own user there; small, and at hand for every delivery."""

FORMER = "former"
RENEWED_AT = "renewed_at"
"""All that a state holds after credentials were replaced: the state before, and when that was.

Whether they are of the same account, the next poll finds out.
"""

CHANGED_AT = "changed_at"
"""When the settings were changed, in a state from before."""

WATCHING = "watching"
SINCE, PROGRESS, REJECTED = "since", "progress", "rejected"
"""Scope and names of the snapshots that are not the room's.

They hold since when everything was read once, how much was until then, and the last delivery that was rejected.
"""


@dataclass(frozen=True, slots=True)
class Observation:
    """One change that was seen."""

    identity: tuple[str, ...]
    """What makes it the same change when it is seen again, by whichever way."""

    type: str
    data: Mapping[str, Any]
    """The event as callers see it, without ``event_id``, ``type`` and ``observed_at``."""

    channel: str | None = None
    """Where it happened, if callers may ask for that."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a thing is like now; a value of None forgets it."""

    scope: str
    name: str
    value: Any


class PollContext(Protocol[C]):
    """One poll of one connection, which nobody else polls meanwhile."""

    upstream: C
    connection_id: ConnectionId
    settings: Mapping[str, Any]
    state: State
    clock: Clock

    wakes: Collection[str]
    """Where deliveries said that a poll is worth while."""

    whole: bool
    """Whether everything is to be polled, and not only where wakes say."""

    behind_since: float | None
    """Since when deliveries may have been missed, in epoch seconds; None if none was."""

    pushed: bool
    """Whether deliveries carry the changes, so that polls are taken only after some may have been missed."""

    unfinished: bool
    """Set by the room where something is left to be read for the first time."""

    async def snapshots(self, scope: str, names: Collection[str] | None = None) -> dict[str, Any]:
        """The snapshots of *scope* by name: all, or those of *names*."""

    async def take_wakes(self) -> Collection[str]:
        """Where deliveries have said to poll since the poll began, or since this was asked last."""

    async def commit(
        self,
        observations: Sequence[Observation] = (),
        snapshots: Sequence[Snapshot] = (),
        *,
        state: State | None = None,
        account: str | None = None,
        place: str | None = None,
    ) -> None:
        """Commit what was observed together with what things are like now: both or neither.

        *account* is the connection's identity as deliveries name it in their authorisations, *place* the part of the
        vendor's system in which it is that identity.
        A poll that has been taken over by another process ends here.
        """

    async def record_gap(self, since: float, until: float, why: str, channel: str | None = None) -> None:
        """Note that changes between two instants may never be seen, and *why*, in a sentence for people."""

    async def progress(self, done: int, total: int) -> None:
        """Note how many parts of *total* have been read for the first time; ignored once all of them were."""


@dataclass(frozen=True, slots=True)
class HookRequest:
    """What a third party sent."""

    headers: Mapping[str, str]
    """By their names in lower case."""

    body: bytes
    received_at: float


@dataclass(frozen=True, slots=True)
class HookResult:
    """What a delivery is about, once it is known to be genuine."""

    reply: Mapping[str, Any] | None = None
    """What is to be answered, beside that it arrived."""

    secret: str | None = None
    """The secret that further deliveries will be signed with, where this one hands it over."""

    accounts: Collection[str] = ()
    """The identities that it names as authorised, in the form that ``Watch.keep`` takes."""

    app: str | None = None
    """The vendor's app that it was made for; None where the vendor's identities belong to one app each."""

    app_accounts: Collection[str] = ()
    """Those of *accounts* that only this app can be, such as its bot."""

    places: Collection[str] = ()
    """Where it happened. Other connections of the same app there get no content; they poll for themselves."""

    wakes: Collection[str] = ()
    """Where it is worth while to poll."""

    about: tuple[str, str] | None = None
    """Scope and name of a snapshot: whoever holds it is concerned too."""

    event: Mapping[str, Any] | None = None
    """What ``read`` makes observations of."""

    revoked: bool = False
    """Whether it says that the authorisation was withdrawn."""

    missed_since: float | None = None
    """Since when the third party has left deliveries out, if it says so."""

    happened_at: float = 0.0
    """The earliest instant at which it may have happened, in epoch seconds."""


Read = Callable[[Mapping[str, Any], Mapping[str, Any], State], Sequence[Observation] | None]
"""Makes observations of a delivered event, by a connection's settings and state."""


@dataclass(frozen=True)
class EventSource(Generic[C]):
    """How the changes of one connector are observed."""

    poll: Callable[[PollContext[C]], Awaitable[None]]
    """Looks for changes, and keeps them."""

    poll_interval_seconds: float
    """How long after the beginning of a poll of everything the next one begins."""

    signed_with: str
    """What the third party calls the secret that it signs deliveries with."""

    receive: Callable[[HookRequest, Sequence[str]], HookResult]
    """Reads a delivery that must be signed with one of some secrets, or hand one over while there are none.

    ``InvalidSignature`` or ``InvalidJson`` where it is not genuine, or not readable.
    """

    read: Read | None = None
    """The observations of a delivered event, by a connection's settings and state; None where deliveries only wake.

    It returns None for an event that the connection's identity may not be able to read, which then polls for itself.
    Where deliveries carry the changes themselves, a poll is needed only after some may have been missed.
    """

    names_app: bool = False
    """Whether deliveries name the app that they were made for.

    A connection whose app is unknown is polled regularly until a delivery, or the consent it came from, proves the app.
    """

    vendor_issues_secret: bool = False
    """Whether the third party makes up the secret, and hands it over in a delivery of its own."""

    addressed: Callable[[HookRequest], HookResult] | None = None
    """Reads whom a delivery claims to be for, although it is not proven to be genuine; raises ``InvalidJson``."""


class Events(Protocol):
    """What was observed, as far as it is kept."""

    async def page(
        self,
        connection_id: ConnectionId,
        shape: type[R],
        position: Position | None,
        *,
        limit: int,
        since: UtcDatetime | None = None,
        event_type: str | None = None,
        channel: str | None = None,
        confirm: Callable[[], Awaitable[object]] | None = None,
    ) -> Page[R]:
        """Events of a connection, oldest first, from *since* or after *position*.

        *confirm* is one cheap request, by which the third party tells whether it still accepts the connection;
        it is sent unless that was asked very often lately. ``ConnectionRevoked`` if it does not.
        """
