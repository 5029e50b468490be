"""Results of calls: responses, lists that fetch further pages on demand, and event feeds."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NotRequired, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from connector_gateway_client.http_encoding import RequestSpec
    from connector_gateway_client.transport import AsyncTransport, SyncTransport

T = TypeVar("T")


class WithheldRequest(TypedDict):
    """A request that a write would send."""

    step: str
    method: str
    path: str
    body: Any
    body_bytes: int
    preview: NotRequired[Mapping[str, Any]]
    """The content of a body that a person cannot read."""


class CastValue(TypedDict):
    """A given value, and its converted form."""

    parameter: str
    type: str
    given: Any
    written: Any


class DryRun(TypedDict):
    """The plan of a write: requests, conversions, and rejected values."""

    requests: list[WithheldRequest]
    casts: list[CastValue]
    refused: list[dict[str, Any]]
    notifies: list[str]


@dataclass(frozen=True)
class Response(Generic[T]):
    """The result of one call."""

    data: T
    """The result of the call. For a dry run, use ``plan``."""

    run_id: str
    partial: bool
    """Whether some items of a batch failed."""

    replayed: bool
    """Whether the result is that of an earlier call with the same idempotency key."""

    warnings: Sequence[str]
    next_cursor: str | None = None
    is_dry_run: bool = False

    @property
    def plan(self) -> DryRun:
        """The plan of a dry run. Raises ``ValueError`` if the call was not a dry run."""
        if not self.is_dry_run:
            raise ValueError("The call was not a dry run: its data is in data.")
        return cast(DryRun, self.data)


class Pages(Generic[T]):
    """A paginated list. Iterate over its items, or over ``pages()``."""

    def __init__(self, sending: "SyncTransport", call: "RequestSpec", cursor: str | None) -> None:
        self._sending, self._call, self._cursor = sending, call, cursor

    def pages(self) -> Iterator[Response[list[T]]]:
        """Yield the pages. ``next_cursor`` of a page can be stored to continue later."""
        cursor = self._cursor
        while True:
            page: Response[list[T]] = self._sending.send(self._call.with_cursor(cursor))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data


class AsyncPages(Generic[T]):
    """A paginated list. Iterate over its items, or over ``pages()``."""

    def __init__(self, sending: "AsyncTransport", call: "RequestSpec", cursor: str | None) -> None:
        self._sending, self._call, self._cursor = sending, call, cursor

    async def pages(self) -> AsyncIterator[Response[list[T]]]:
        """Yield the pages. ``next_cursor`` of a page can be stored to continue later."""
        cursor = self._cursor
        while True:
            page: Response[list[T]] = await self._sending.send(self._call.with_cursor(cursor))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.data:
                yield item


class FeedPosition:
    """The position in a feed: the last timestamp, and the events with that timestamp, which the next read repeats."""

    def __init__(self) -> None:
        self.since: str | None = None
        self._seen_ids: set[str] = set()

    def mark_new(self, events: Sequence[Any]) -> Iterator[Any]:
        """Yield the *events* that were not read before, and mark each as read."""
        for event in events:
            if event["event_id"] in self._seen_ids:
                continue
            if event["observed_at"] != self.since:
                self.since = event["observed_at"]
                self._seen_ids.clear()
            self._seen_ids.add(event["event_id"])
            yield event

    def next_request(self, call: "RequestSpec") -> "RequestSpec":
        """Return the request for later events."""
        return call if self.since is None else call.with_cursor(None, since=self.since)


class Events(Generic[T]):
    """An endless feed. Iteration waits for the next event."""

    def __init__(self, sending: "SyncTransport", call: "RequestSpec", poll_seconds: float) -> None:
        self._sending, self._call, self._poll_seconds = sending, call, poll_seconds

    def __iter__(self) -> Iterator[T]:
        position, call = FeedPosition(), self._call
        while True:
            # A cursor is valid only for the same list, which includes ``since``.
            for page in Pages[T](self._sending, call, None).pages():
                yield from position.mark_new(page.data)
            call = position.next_request(self._call)
            time.sleep(self._poll_seconds)


class AsyncEvents(Generic[T]):
    """An endless feed. Iteration waits for the next event."""

    def __init__(self, sending: "AsyncTransport", call: "RequestSpec", poll_seconds: float) -> None:
        self._sending, self._call, self._poll_seconds = sending, call, poll_seconds

    async def __aiter__(self) -> AsyncIterator[T]:
        position, call = FeedPosition(), self._call
        while True:
            async for page in AsyncPages[T](self._sending, call, None).pages():
                for event in position.mark_new(page.data):
                    yield event
            call = position.next_request(self._call)
            await asyncio.sleep(self._poll_seconds)
