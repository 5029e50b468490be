"""What one operation may use while it is carried out."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, field

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError, UpstreamConflict
from connector_gateway.kit.events import Events
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.kit.shapes import Position
from connector_gateway.kit.upstream.memory_budget import MemoryReservation, unmetered
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, StepRunner, WriteStep

C = TypeVar("C")
R = TypeVar("R")
T = TypeVar("T")


class ConnectionCache(Protocol):
    """What a connection remembers between calls; it is limited in size, may be lost, and may be outdated."""

    def get(self, name: str) -> Any:
        """What was remembered under *name*, or None."""

    def put(self, name: str, value: Any, seconds: float) -> None:
        """Remember *value* for at most that long."""

    def forget(self, name: str) -> None:
        """Forget it now, and ignore the result of a look-up under way: it was changed through this connection."""

    async def get_or_load(self, wanted: "CachedLookup[T]", outdated: T | None) -> T:
        """The remembered value, unless it is *outdated*; otherwise a new look-up, shared by all who ask meanwhile.

        An error of the look-up is raised to all who wait for it, and is not remembered. The look-up goes on if a caller
        leaves, even the first one.
        """


class CachedLookup(Struct, Generic[T], frozen=True):
    """A look-up whose result is remembered for a while; the result is never None."""

    name: str
    seconds: float
    find: Callable[[], Awaitable[T]]
    """Asks the third party, with the client and in the trace of the call that came first.

    That client's time-outs limit it. Calls that join have the same time-outs, so they wait no longer than alone.
    """


class DownloadLinkIssuer(Protocol):
    """Makes short-lived download addresses, which the service itself answers."""

    def issue(self, content: Position) -> "DownloadLink":
        """An address under which the connector's ``download`` will be asked for *content*."""


@dataclass(frozen=True, slots=True)
class DownloadLink:
    """A download address, and until when it works."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a public link: what its server says of it, and its bytes if it is not larger than asked for."""

    name: str
    mime_type: str
    size_bytes: int
    content: bytes | None


class FileFetcher(Protocol):
    """Fetches files from public links, and from nowhere else."""

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """The file at *url*, its content up to *keep_bytes*; ``UrlNotAllowed`` and others say why it cannot be had."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file of a third party on its way to whoever follows a download address."""

    filename: str
    mime_type: str
    size_bytes: int | None
    pieces: AsyncIterator[bytes]


class OperationContext(Struct, Generic[C]):
    """One operation being carried out: the room's client, and everything else that it may use."""

    upstream: C
    connection_id: ConnectionId
    settings: Mapping[str, Any]
    position: Position | None
    """The end of the previous page, for operations that return pages."""

    memory: ConnectionCache
    steps: StepRunner
    clock: Clock
    exclusive: "ObjectLock"
    """Holds an object that is to be changed, over all processes."""

    files: FileFetcher
    links: DownloadLinkIssuer
    events: Events
    settle_seconds: float
    """How long after its sending a request may still be carried out upstream."""

    grace_seconds: float
    """How long a call waits for a doubt to resolve before it says ``outcome_unknown``."""

    restored: bool = False
    """Whether the database was restored, so that the call may have been carried out already, unknown to anybody.

    What the application shows before the steps may then be the call's own work, and is no reason to refuse it.
    """

    memory_reservation: MemoryReservation = field(default_factory=unmetered)
    """Counts what is kept in memory until the call ends, where that is large."""

    account_id: str | None = None
    """The account as the vendor identifies it; None while that is not known."""

    warnings: list[str | GatewayError] = field(default_factory=list)
    """Sentences, and errors of parts of the call, that callers should read although the call succeeds."""

    def warn(self, warning: str | GatewayError) -> None:
        """Send a sentence, or the message and remedy of an error, to the caller in a ``Warning`` header, once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    async def wait_until_settled(self, at: float, message: str) -> None:
        """Wait until *at*, when an earlier request has settled; ``UpstreamConflict`` if that is too far away."""
        rest = at - self.clock.now()
        if rest > self.grace_seconds:
            raise UpstreamConflict(message, retry_after=rest)
        await self.clock.sleep(rest)

    def plan(self, make: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """What *make* returns, as JSON: everything that is checked and decided before anything is sent.

        It is stored with the next step. A repeat of the write gets it from there, and does not call *make* again.
        """
        return self.steps.plan(make)

    def step(self, step: "WriteStep[OperationContext[C]]", intent: StepInput) -> Awaitable[StepResult]:
        """Carry out one step of a write at most once, and return what was learned from it."""
        return self.steps.step(step, intent)

    def try_step(self, step: "WriteStep[OperationContext[C]]", intent: StepInput) -> Awaitable[StepResult | None]:
        """The same for a step that the write can do without; None if it was certainly not carried out."""
        return self.steps.try_step(step, intent)

    def note_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Note how values were cast; *make* is called for a dry run only."""
        self.steps.record_casts(make)

    def take_over(self, step: "WriteStep[OperationContext[C]]", intent: StepInput, object_id: str) -> Awaitable[bool]:
        """Make this call the owner of what *step* of an interrupted call without a key has made; whether it is.

        It is not if this call has a key, or if the other call is, or may be, still under way or has a key, since its
        repeat will finish it.
        """
        return self.steps.adopt(step, intent, object_id)

    def undo(self, step: "WriteStep[OperationContext[C]]", intent: StepInput) -> Awaitable[None]:
        """Take back what was done, with *step*, where a later step was refused; it never fails."""
        return self.steps.undo(step, intent)

    async def cached(self, wanted: CachedLookup[T], *, suffices: Callable[[T], bool] = lambda _: True) -> T:
        """The remembered result of *wanted* if it *suffices*, otherwise a new one."""
        remembered: T | None = self.memory.get(wanted.name)
        if remembered is not None and suffices(remembered):
            return remembered
        return await self._look_up(wanted, remembered)

    async def reload(self, wanted: CachedLookup[T]) -> T:
        """A new result of *wanted*, whatever is remembered; calls that ask at the same time share it."""
        return await self._look_up(wanted, self.memory.get(wanted.name))

    async def _look_up(self, wanted: CachedLookup[T], outdated: T | None) -> T:
        # Not by the client alone: who joins a look-up of another call does not come by there.
        await self.steps.before_first_request()
        return await self.memory.get_or_load(wanted, outdated)

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """The file behind a public link; see ``RemoteFiles``."""
        await self.steps.before_first_request()
        return await self.files.fetch(url, keep_bytes)

    async def with_cache_retry(
        self,
        wanted: CachedLookup[T],
        use: Callable[[T], Awaitable[R]],
        *,
        outdated: tuple[type[GatewayError], ...],
        suspect: Callable[[R], bool] = lambda _: False,
    ) -> R:
        """The result of *use* with the remembered value, or with a new one if the remembered value may be outdated.

        It may be outdated if *use* raises one of *outdated*, which leave nothing in doubt, or if its result is
        *suspect*. A value that was looked up for this call is used only once.
        """
        remembered: T | None = self.memory.get(wanted.name)
        if remembered is not None:
            try:
                result = await use(remembered)
            except outdated as refusal:
                if refusal.doubt is not None:
                    raise
            else:
                if not suspect(result):
                    return result
        return await use(await self._look_up(wanted, remembered))


class ObjectLock(Protocol):
    """Serialises writes to one object over all connections of the connector."""

    def __call__(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold *name* alone while inside, in order of arrival; ``UpstreamConflict`` where that takes too long.

        The name identifies the object throughout the vendor, since two connections may lead to one account.
        """
