"""The interface through which connectors observe changes.

A *poll* requests the changes since the last one from the vendor. A *delivery* is a request that the vendor sends to the
gateway. It may contain changes, or only indicate that a poll is worthwhile.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.kit.models import Page, Position, Result, UtcDatetime

C = TypeVar("C")
R = TypeVar("R", bound=Result)
State = Mapping[str, Any]
"""The connector's small notes about a connection, such as its own user at the vendor, available to every delivery."""

READ_EVENTS = "read_events"
"""The name of the operation with which a connector returns events. Its parameter ``type`` lists their types."""

FORMER = "former"
RENEWED_AT = "renewed_at"
"""The only keys of a state after credentials were replaced: the previous state, and the time of the replacement.

The next poll finds out whether the credentials are of the same account.
"""

CHANGED_AT = "changed_at"
"""The time of a change of settings, in a state from before."""

WATCHING = "watching"
SINCE, PROGRESS, REJECTED = "since", "progress", "rejected"
"""Scope and names of the snapshots that do not belong to the connector.

They contain the time since which everything has been read once, the progress until then, and the last rejected
delivery.
"""


@dataclass(frozen=True, slots=True)
class Observation:
    """One observed change."""

    identity: tuple[str, ...]
    """The identity of the change, equal whenever and however it is observed."""

    type: str
    data: Mapping[str, Any]
    """The public event, without ``event_id``, ``type`` and ``observed_at``."""

    channel: str | None = None
    """The channel of the change, if callers can filter by it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The current state of an object. A value of None deletes it."""

    scope: str
    name: str
    value: Any


class PollContext(Protocol[C]):
    """One poll of one connection. No other process polls it at the same time."""

    upstream: C
    connection_id: ConnectionId
    settings: Mapping[str, Any]
    state: State
    clock: Clock

    wakes: Collection[str]
    """The places for which deliveries have requested a poll."""

    polls_everything: bool
    """Whether to poll everything, and not only ``wakes``."""

    behind_since: float | None
    """The time since which deliveries may have been missed, in epoch seconds, or None if none was."""

    receives_changes: bool
    """Whether deliveries contain the changes, so that polls are needed only after some may have been missed."""

    unfinished: bool
    """Set by the connector if the first complete reading has not finished."""

    async def snapshots(self, scope: str, names: Collection[str] | None = None) -> dict[str, Any]:
        """Return the snapshots of *scope* by name, either all or those of *names*."""

    async def latest_events(self) -> Mapping[str, float]:
        """Return when the latest event of each channel was observed, for the channels of the latest events."""

    async def has_wakes(self) -> bool:
        """Return True if deliveries have requested a poll since the last ``take_wakes``."""

    async def take_wakes(self) -> Collection[str]:
        """Return the places for which deliveries have requested a poll since the poll began, or since the last call."""

    async def commit(
        self,
        observations: Sequence[Observation] = (),
        snapshots: Sequence[Snapshot] = (),
        *,
        state: State | None = None,
        account: str | None = None,
        place: str | None = None,
    ) -> None:
        """Commit observations together with snapshots, atomically.

        *account* is the connection's identity as deliveries name it in their authorisations. *place* is the part of the
        vendor's system in which it has that identity. If another process has taken over the poll, it ends here.
        """

    async def record_gap(self, since: float, until: float, why: str, channel: str | None = None) -> None:
        """Record that changes between two times may never be observed, and the reason *why* as a sentence."""

    async def progress(self, done: int, total: int) -> None:
        """Record the progress of the first complete poll: *done* of *total* parts. Later polls are ignored."""


@dataclass(frozen=True, slots=True)
class HookRequest:
    """A delivery from a vendor."""

    headers: Mapping[str, str]
    """The headers by lower-case name."""

    body: bytes
    received_at: float


@dataclass(frozen=True, slots=True)
class HookResult:
    """The content of a delivery that is proven to be genuine."""

    reply: Mapping[str, Any] | None = None
    """The response body, if the vendor expects one."""

    secret: str | None = None
    """The secret with which further deliveries are signed, if this one contains it."""

    accounts: Collection[str] = ()
    """The authorised identities that it names, in the form that ``PollContext.commit`` takes."""

    app: str | None = None
    """The vendor's app that it is addressed to, or None if the vendor's identities belong to one app each."""

    app_accounts: Collection[str] = ()
    """The subset of *accounts* that only this app can have, such as its bot."""

    places: Collection[str] = ()
    """The places of the change. Other connections of the app there receive no content and poll for themselves."""

    wakes: Collection[str] = ()
    """The places that are worth polling."""

    about: tuple[str, str] | None = None
    """The scope and name of a snapshot. The hook also concerns every connection that has it."""

    event: Mapping[str, Any] | None = None
    """The event from which ``read`` creates observations."""

    revoked: bool = False
    """Whether it reports that the authorisation was withdrawn."""

    missed_since: float | None = None
    """The time since which the vendor has omitted deliveries, if it reports that."""

    happened_at: float = 0.0
    """The earliest time at which the change may have happened, in epoch seconds."""


Read = Callable[[Mapping[str, Any], Mapping[str, Any], State], Sequence[Observation] | None]
"""Creates observations from a delivered event, with a connection's settings and state."""


@dataclass(frozen=True)
class EventSource(Generic[C]):
    """The event source of one connector."""

    poll: Callable[[PollContext[C]], Awaitable[None]]
    """Polls for changes, and commits them."""

    poll_interval_seconds: float
    """Seconds between the beginnings of two polls of everything."""

    signed_with: str = ""
    """The vendor's name for the secret with which it signs deliveries."""

    receive: Callable[[HookRequest, Sequence[str]], HookResult] | None = None
    """Verifies and parses a delivery. It must be signed with one of the secrets, or contain one while there are none.

    Raises ``InvalidSignature`` if it is not genuine, or ``InvalidJson`` if it is not readable. The attribute is None if
    changes are only polled.
    """

    read: Read | None = None
    """Returns the observations of a delivered event, or None for an event that the connection's identity may not be
    able to read. The connection then polls for itself.

    The attribute is None if deliveries only trigger polls. If deliveries contain the changes, a poll is needed only
    after some may have been missed.
    """

    names_app: bool = False
    """Whether deliveries name the app that they are addressed to.

    A connection whose app is unknown is polled regularly until a delivery, or the consent that created it, proves the
    app.
    """

    vendor_issues_secret: bool = False
    """Whether the vendor creates the secret, and sends it in a separate delivery."""

    addressed: Callable[[HookRequest], HookResult] | None = None
    """Returns the claimed recipient of a delivery that is not proven to be genuine. Raises ``InvalidJson``."""


class Events(Protocol):
    """The recorded events of a connection."""

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
        """Return events of a connection, oldest first, from *since* or after *position*.

        *confirm* is one cheap request that shows whether the vendor still accepts the connection. It is skipped if it
        was sent very recently. Raises ``ConnectionRevoked`` if the vendor does not accept it.
        """
