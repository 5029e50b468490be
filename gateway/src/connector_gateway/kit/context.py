"""The context of an operation: everything that it may use while it runs."""

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
from connector_gateway.kit.models import Position
from connector_gateway.kit.upstream.memory_budget import MemoryReservation, unmetered
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, StepRunner, WriteStep

C = TypeVar("C")
R = TypeVar("R")
T = TypeVar("T")


class ConnectionCache(Protocol):
    """Values cached for a connection between calls. The size is limited, and values may be lost or outdated."""

    def get(self, name: str) -> Any:
        """Return the cached value of *name*, or None."""

    def put(self, name: str, value: Any, seconds: float) -> None:
        """Cache *value* for at most *seconds*."""

    def forget(self, name: str) -> None:
        """Remove the value of *name*, and ignore the result of a lookup in progress, because the object was changed."""

    async def get_or_load(self, lookup: "CachedLookup[T]", outdated: T | None) -> T:
        """Return the cached value unless it is *outdated*, otherwise look it up. Concurrent callers share one lookup.

        An error of the lookup is raised to all of them, and is not cached. The lookup continues if a caller is
        cancelled, even the first one.
        """


class CachedLookup(Struct, Generic[T], frozen=True):
    """A lookup whose result is cached for a while. The result is never None."""

    name: str
    seconds: float
    find: Callable[[], Awaitable[T]]
    """Looks the value up, with the client and the log of the first caller.

    Its timeouts limit the lookup. Callers that join have the same timeouts, so they do not wait longer than they would
    alone.
    """


class DownloadLinkIssuer(Protocol):
    """Issues short-lived download links, which the gateway itself serves."""

    def issue(self, content: Position) -> "DownloadLink":
        """Return a link under which the connector's ``download`` is called with *content*."""


@dataclass(frozen=True, slots=True)
class DownloadLink:
    """A download URL and its expiry."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a public URL: the server's metadata, and its bytes if it is not larger than requested."""

    name: str
    mime_type: str
    size_bytes: int
    content: bytes | None


class FileFetcher(Protocol):
    """Fetches files from public URLs only."""

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """Fetch the file at *url*, with its content up to *keep_bytes*.

        Raises ``UrlNotAllowed`` or another ``GatewayError`` if it cannot be fetched.
        """


@dataclass(frozen=True, slots=True)
class Download:
    """A file from a vendor, streamed to the client of a download link."""

    filename: str
    mime_type: str
    size_bytes: int | None
    pieces: AsyncIterator[bytes]


class OperationContext(Struct, Generic[C]):
    """The context of one call: the connector's client, and everything else that an operation may use."""

    upstream: C
    connection_id: ConnectionId
    settings: Mapping[str, Any]
    position: Position | None
    """The end of the previous page, for operations that return pages."""

    cache: ConnectionCache
    steps: StepRunner
    clock: Clock
    exclusive: "ObjectLock"
    """Locks an object that is to be changed, across all processes."""

    files: FileFetcher
    links: DownloadLinkIssuer
    events: Events
    settle_seconds: float
    """Seconds after sending during which a request may still be carried out upstream."""

    grace_seconds: float
    """Seconds that a call waits for the outcome of a request in doubt before it returns ``outcome_unknown``."""

    restored: bool = False
    """Whether the database was restored, so that the call may have been carried out before without a record of it.

    Upstream state from before the steps may then be the call's own work, and is not a reason to reject it.
    """

    memory_reservation: MemoryReservation = field(default_factory=unmetered)
    """Counts large values that stay in memory until the call ends."""

    account_id: str | None = None
    """The vendor's identifier of the account, or None while it is unknown."""

    has_oauth_tokens: bool = False
    """Whether the credentials were issued to an OAuth app, with a refresh token.

    Some vendors mark objects only for apps, and not for tokens that users created themselves.
    """

    warnings: list[str | GatewayError] = field(default_factory=list)
    """Sentences, and errors of parts of the call, that are reported to the caller of a successful call."""

    def warn(self, warning: str | GatewayError) -> None:
        """Return a sentence, or the message and remedy of an error, to the caller in a ``Warning`` header, once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    async def wait_until_settled(self, at: float, message: str) -> None:
        """Wait until *at*, when an earlier request has settled. Raises ``UpstreamConflict`` if that is too far away."""
        remaining = at - self.clock.now()
        if remaining > self.grace_seconds:
            raise UpstreamConflict(message, retry_after=remaining)
        await self.clock.sleep(remaining)

    def plan(self, build: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Return the result of *build*, as JSON. It makes all checks and decisions that precede the first request.

        It is stored with the next step. A repeated write reads the stored plan and does not call *build* again.
        """
        return self.steps.plan(build)

    def step(self, step: "WriteStep[OperationContext[C]]", intent: StepInput) -> Awaitable[StepResult]:
        """Carry out one step of a write at most once, and return its result."""
        return self.steps.step(step, intent)

    def try_step(self, step: "WriteStep[OperationContext[C]]", intent: StepInput) -> Awaitable[StepResult | None]:
        """Carry out a step that the write can do without. Returns None if it was certainly not carried out."""
        return self.steps.try_step(step, intent)

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Record how values were cast. *make* is called for a dry run only."""
        self.steps.record_casts(make)

    def adopt(self, step: "WriteStep[OperationContext[C]]", intent: StepInput, object_id: str) -> Awaitable[bool]:
        """Make this call the owner of the object that *step* of an interrupted call without a key created.

        Returns whether it is the owner. It is not if this call has a key, or if the other call has a key or may still
        be in progress, because its repeat will finish it.
        """
        return self.steps.adopt(step, intent, object_id)

    def undo(self, step: "WriteStep[OperationContext[C]]", intent: StepInput) -> Awaitable[None]:
        """Carry out *step*, which undoes the earlier ones, if the last one was rejected. It never raises."""
        return self.steps.undo(step, intent)

    async def cached(self, lookup: CachedLookup[T], *, suffices: Callable[[T], bool] = lambda _: True) -> T:
        """Return the cached result of *lookup* if it *suffices*, otherwise look it up."""
        value: T | None = self.cache.get(lookup.name)
        if value is not None and suffices(value):
            return value
        return await self._look_up(lookup, value)

    async def reload(self, lookup: CachedLookup[T]) -> T:
        """Perform *lookup*, even if a result is cached. Concurrent callers share one lookup."""
        return await self._look_up(lookup, self.cache.get(lookup.name))

    async def _look_up(self, lookup: CachedLookup[T], outdated: T | None) -> T:
        # The client alone does not ensure this: a call that joins another call's lookup does not use its own client.
        await self.steps.before_first_request()
        return await self.cache.get_or_load(lookup, outdated)

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """Fetch the file behind a public URL. See ``FileFetcher``."""
        await self.steps.before_first_request()
        return await self.files.fetch(url, keep_bytes)

    async def with_cache_retry(
        self,
        lookup: CachedLookup[T],
        use: Callable[[T], Awaitable[R]],
        *,
        outdated: tuple[type[GatewayError], ...],
        suspect: Callable[[R], bool] = lambda _: False,
    ) -> R:
        """Return the result of *use* with the cached value, or with a new one if the cached value may be outdated.

        It may be outdated if *use* raises one of *outdated*, which leave nothing in doubt, or if its result is
        *suspect*. A value that was looked up for this call is used only once.
        """
        value: T | None = self.cache.get(lookup.name)
        if value is not None:
            try:
                result = await use(value)
            except outdated as error:
                if error.doubt is not None:
                    raise
            else:
                if not suspect(result):
                    return result
        return await use(await self._look_up(lookup, value))


class ObjectLock(Protocol):
    """Serialises writes to one object across all connections of the connector."""

    def __call__(self, name: str) -> AbstractAsyncContextManager[None]:
        """Lock *name* inside the context, in order of arrival. Raises ``UpstreamConflict`` if the wait is too long.

        The name identifies the object throughout the vendor, because two connections may belong to one account.
        """
