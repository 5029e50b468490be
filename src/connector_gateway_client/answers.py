"""What a call returns: an answer, pages that are fetched as they are gone through, and events that go on."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from connector_gateway_client.calls import RequestSpec
    from connector_gateway_client.sending import AsyncTransport, SyncTransport

T = TypeVar("T")


class WithheldRequest(TypedDict):
    """A request that a dry run has not sent."""

    step: str
    method: str
    path: str
    body: Any
    body_bytes: int


class CastValue(TypedDict):
    """A value that was given, and what it becomes."""

    parameter: str
    type: str
    given: Any
    written: Any


class DryRun(TypedDict):
    """What a write would do."""

    requests: list[WithheldRequest]
    casts: list[CastValue]
    refused: list[dict[str, Any]]


@dataclass(frozen=True)
class Response(Generic[T]):
    """The result of one call."""

    data: T
    """The result of the call; that of a dry run is in ``plan``."""

    run_id: str
    partial: bool
    """Whether some items of a batch failed."""

    replayed: bool
    """Whether it is the result of an earlier call with the same idempotency key."""

    warnings: Sequence[str]
    next_cursor: str | None = None
    is_dry_run: bool = False

    @property
    def plan(self) -> DryRun:
        """What a dry run would do; ``ValueError`` if the call was none."""
        if not self.is_dry_run:
            raise ValueError("The call was no dry run: its data is in data.")
        return cast(DryRun, self.data)


class Pages(Generic[T]):
    """A list that comes in pages: iterate over its items, or over ``pages()``."""

    def __init__(self, sending: "SyncTransport", call: "RequestSpec", cursor: str | None) -> None:
        self._sending, self._call, self._cursor = sending, call, cursor

    def pages(self) -> Iterator[Response[list[T]]]:
        """Yield page after page; ``next_cursor`` of one leads on from there later."""
        cursor = self._cursor
        while True:
            page: Response[list[T]] = self._sending.send(self._call.at(cursor))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data


class AsyncPages(Generic[T]):
    """A list that comes in pages: iterate over its items, or over ``pages()``."""

    def __init__(self, sending: "AsyncTransport", call: "RequestSpec", cursor: str | None) -> None:
        self._sending, self._call, self._cursor = sending, call, cursor

    async def pages(self) -> AsyncIterator[Response[list[T]]]:
        """Yield page after page; ``next_cursor`` of one leads on from there later."""
        cursor = self._cursor
        while True:
            page: Response[list[T]] = await self._sending.send(self._call.at(cursor))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item


class FeedPosition:
    """How far a feed was read: the last instant, and the events of that instant, which the next read has again."""

    def __init__(self) -> None:
        self.since: str | None = None
        self._known: set[str] = set()

    def new(self, events: Sequence[Any]) -> Iterator[Any]:
        """Those of *events* that were not read before; each counts as read once it is taken."""
        for event in events:
            if event["event_id"] in self._known:
                continue
            if event["observed_at"] != self.since:
                self.since = event["observed_at"]
                self._known.clear()
            self._known.add(event["event_id"])
            yield event

    def after(self, call: "RequestSpec") -> "RequestSpec":
        """The call for what has come since."""
        return call if self.since is None else call.at(None, since=self.since)


class Events(Generic[T]):
    """A feed that goes on: iterating over it waits for the next event."""

    def __init__(self, sending: "SyncTransport", call: "RequestSpec", poll_seconds: float) -> None:
        self._sending, self._call, self._poll_seconds = sending, call, poll_seconds

    def __iter__(self) -> Iterator[T]:
        seen, call = FeedPosition(), self._call
        while True:
            # A cursor leads on only in the list that it was given for: with the same ``since``.
            for page in Pages[T](self._sending, call, None).pages():
                yield from seen.new(page.data)
            call = seen.after(self._call)
            time.sleep(self._poll_seconds)


class AsyncEvents(Generic[T]):
    """A feed that goes on: iterating over it waits for the next event."""

    def __init__(self, sending: "AsyncTransport", call: "RequestSpec", poll_seconds: float) -> None:
        self._sending, self._call, self._poll_seconds = sending, call, poll_seconds

    async def __aiter__(self) -> AsyncIterator[T]:
        seen, call = FeedPosition(), self._call
        while True:
            async for page in AsyncPages[T](self._sending, call, None).pages():
                for event in seen.new(page.data):
                    yield event
            call = seen.after(self._call)
            await asyncio.sleep(self._poll_seconds)
