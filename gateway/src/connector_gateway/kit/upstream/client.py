"""The client of one connection: it authorises, paces, retries and records every upstream request."""

import math
import time
from asyncio import Future
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from random import random
from types import MappingProxyType
from typing import Any, Protocol, TypeVar
from urllib.parse import quote_plus

from msgspec import Struct, field

from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock, to_milliseconds
from connector_gateway.kit.errors.vendor_error_table import NO_ERRORS, ErrorTable
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.upstream.budget import Charge, Deadline, Pacer, Reservation
from connector_gateway.kit.upstream.http_origin import SendWindowMissed
from connector_gateway.kit.upstream.memory_budget import MemoryReservation, WriteResponseMeter, unmetered
from connector_gateway.kit.upstream.pool import (
    ConnectionLost,
    NotSent,
    TimedOut,
    TooLarge,
    Transport,
    UpstreamResponse,
    parse_date,
)

NO_LIMIT = nullcontext()
"""The slot of an account without a concurrency limit."""

DEFAULT_BACKOFF_SECONDS = 1.0
"""Seconds to block a throttled budget if the vendor gives no delay."""

DATE_HEADER_ROUNDING_SECONDS = 0.5
"""Seconds that a ``Date`` header loses on average, because it is truncated to whole seconds."""

DOT_SEGMENTS = frozenset({".", ".."})
"""Path segments that URL parsers resolve as directory navigation."""

MAX_ERROR_BYTES = 1024 * 1024
"""The maximum number of bytes to read of an error response to a streamed request."""


def is_unauthorised(response: UpstreamResponse) -> bool:
    """Return True if the response rejects the credentials as invalid or expired (status 401)."""
    return response.status == 401


def create_bearer_header(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """Return the header that carries the token of a connection."""
    return {"Authorization": f"Bearer {credentials['token']}"}


def parse_throttle(response: UpstreamResponse) -> float | None:
    """Return the seconds to wait if *response* is a 429, by default one, or None."""
    if response.status != 429:
        return None
    return parse_retry_after(response, DEFAULT_BACKOFF_SECONDS)


def parse_retry_after(response: UpstreamResponse, default: float) -> float:
    """Return the seconds of the ``Retry-After`` header, or *default* if it is missing or unreadable."""
    try:
        seconds = float(response.headers.get("Retry-After", default))
    except ValueError:
        return default
    return seconds if 0 <= seconds < math.inf else default


@dataclass(frozen=True, slots=True)
class ThrottleDelay:
    """The seconds for which no request may be sent, and the budgets that are affected."""

    seconds: float
    budgets: Container[str] | None = None
    """The names of the budgets, or None for all budgets that the request was charged to."""

    def select_charges(self, charges: Sequence[Charge]) -> Sequence[Charge]:
        """Return the charges whose budgets are blocked, or all of them if none matches."""
        matching = [charge for charge in charges if self.budgets is None or charge.budget in self.budgets]
        return matching or charges


class RequestRecord(Struct):
    """The record of one upstream request in the run history, without its query, body and token."""

    at: float
    method: str
    path: str
    status: int | None
    wait_ms: float
    duration_ms: float


class UpstreamLog(Struct):
    """The upstream requests of one run, in order."""

    requests: list[RequestRecord] = field(default_factory=list)

    @property
    def wait_ms(self) -> float:
        """The milliseconds spent queueing for the vendor's budgets."""
        return sum([request.wait_ms for request in self.requests])

    @property
    def duration_ms(self) -> float:
        """The milliseconds spent waiting for the vendor's responses."""
        return sum([request.duration_ms for request in self.requests])


class CredentialSource(Protocol):
    """The source of a connection's credentials. Reading them can refresh a token, and can fail."""

    async def credentials(self) -> Mapping[str, str]:
        """Return the secrets by the connector's names."""

    async def refresh(self, used: Mapping[str, str]) -> bool:
        """Replace the credentials *used*, which the vendor no longer accepts. Returns True if there are newer ones."""


class ConcurrencySlots(Protocol):
    """The limit on concurrent requests of one account."""

    def slot(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Occupy a slot inside the context. Raises ``UpstreamRateLimited`` if none becomes free within *seconds*."""

    def large_slot(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Occupy one of the few slots for large responses that are read completely. Raises like ``slot``."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits and retries of a call."""

    queue_seconds: float = 30.0
    """Seconds from a call's arrival for which its requests may be queued, in addition to the time that they need."""

    run_seconds: float = 120.0
    """Seconds from a call's arrival in which it must send its last request. After a write, each request may be queued
    for this long instead.
    """

    grace_seconds: float = 5.0
    """Seconds that a call waits for a request in doubt to be settled."""

    attempts: int = 3
    """The maximum number of attempts for a request that changes nothing, if the vendor fails."""

    backoff_seconds: float = 0.25
    """Seconds before the second attempt. The delay doubles with each attempt, with jitter."""


class Request(Struct):
    """One request of a connector's client, ready to be sent, and to be retried if that is safe."""

    method: str
    path: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    charges: Sequence[Charge]
    writes: bool
    expects: Container[int]
    is_conflict: Callable[[UpstreamResponse], bool]
    verbatim: bool = False
    """Whether a caller has written the request."""

    credentials: Mapping[str, str] = field(default_factory=dict)
    """The credentials used for the last attempt."""

    def __repr__(self) -> str:
        # The credentials must not be printed.
        return f"<{self.method} {self.path}>"


class StreamedResponse(UpstreamResponse, kw_only=True):
    """A response whose body must still be read if it is successful."""

    pieces: AsyncIterator[bytes]


class DryRunStop(Exception):  # not an error: it ends a dry run
    """A request that writes was not sent, because this is a dry run."""

    def __init__(self, request: Request) -> None:
        self.request = request


A = TypeVar("A", bound=UpstreamResponse)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UpstreamService:
    """The endpoints and conventions of one vendor, shared by all connections and calls."""

    base_urls: Mapping[str, str]
    auth_headers: Callable[[Mapping[str, str]], Mapping[str, str]]
    parse_throttle: Callable[[UpstreamResponse], float | ThrottleDelay | None]
    transport: Transport
    clock: Clock
    time: Callable[[], float]
    """Returns epoch seconds of a clock that is never adjusted and that all processes share."""

    is_expired: Callable[[UpstreamResponse], bool] = is_unauthorised
    """Returns True if the response means that the credentials may have expired."""

    on_request_end: Callable[[RequestRecord], None] = lambda _: None
    """Called with the record of every finished request."""

    observe: Callable[[Request, UpstreamResponse], None] = lambda _, __: None
    """Called with every response, to look for signs that the vendor changes its API."""

    error_table: ErrorTable = NO_ERRORS
    """The responses that prove that a write was not carried out."""


class UpstreamClient(Struct):
    """The authorised client on which a connector's client is built.

    One is created for each call. Everything that calls share is in ``service``, because passing each part by name
    took a hundredth of a call.
    """

    service: UpstreamService
    credential_source: CredentialSource
    pacer: Pacer
    timeouts: Timeouts
    log: UpstreamLog
    arrived_at: float | None = None
    """The time at which the call arrived, by ``service.clock``. None if each request has the whole queue time."""

    locked_seconds: float = 0.0
    """The seconds for which the call waited for others on the same object."""

    fence: Callable[[], None] = lambda: None
    """Raises an error if this process must not write, because others may have taken over its work."""

    memory: MemoryReservation = field(default_factory=unmetered)
    """The memory reserved by the call for large responses."""

    written_at: float | None = None
    """The time of the last request that writes, by ``service.time``. None if none was sent since the last reset."""

    write_response: UpstreamResponse | None = None
    """The response to the last request that writes, or None if there is none."""

    dry_run: bool = False
    """Whether requests that write raise ``DryRunStop`` instead of being sent."""

    slots: ConcurrencySlots | None = None
    """The limit on concurrent requests of one account, if there is one."""

    before_request: Callable[[], Awaitable[None]] | None = None
    """Awaited before the first request is sent, if set. See ``StepRunner.before_first_request``."""

    before_write: Callable[[], Awaitable[None]] | None = None
    """Awaited before a request that writes is sent, after the wait for its reservation."""

    _has_written: bool = False
    """Whether a request that writes has received a response."""

    _last_date: tuple[str, float] | None = None
    """The ``Date`` header of the last response, and when it arrived."""

    @property
    def doubt(self) -> errors.InDoubtReason | None:
        """The reason why the outcome of the last request that writes is unknown.

        None if no such request was sent, or if its response proves that nothing was done. A successful response also
        counts as in doubt here, because only the caller can interpret it.
        """
        if self.written_at is None:
            return None
        response = self.write_response
        return "silent" if response is None else self.service.error_table.in_doubt_reason(response)

    @property
    def skew(self) -> float:
        """The seconds by which the vendor's clock is ahead of ours, by the last ``Date`` header, or 0 without one."""
        if self._last_date is None:
            return 0.0
        header, at = self._last_date
        date = parse_date(header)
        return 0.0 if date is None else date.timestamp() + DATE_HEADER_ROUNDING_SECONDS - at

    def send(
        self,
        method: str,
        path: str,
        *charges: Charge,
        writes: bool,
        host: str = "base",
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
        expects: Container[int] = (),
        is_conflict: Callable[[UpstreamResponse], bool] = lambda _: False,
    ) -> Awaitable[UpstreamResponse]:
        """Send a request and return its response, whose status can be any below 500. *path* is percent-encoded.

        A name in braces in *path*, such as ``/tokens/{token}``, is replaced by the secret of that name when the request
        is sent. History, spans and errors contain the template. The body is *json*, or *content* described by
        *headers*.

        A throttled request is always retried. A request that *writes* is never retried if it may have been carried
        out. Failure statuses in *expects* are returned to the caller. Errors for which *is_conflict* is true have a
        concurrent change as their cause, and are retried.

        Raises ``OutcomeUnknown`` if a write was sent and its response does not prove that nothing was done, and an
        ``UpstreamError`` in doubt if the vendor failed while processing it.
        """
        _check_segments(path)
        url = self.service.base_urls[host] + path + (_encode_query(query) if query else "")
        body = content if json is None else encode_json(json)
        content_type = {} if json is None else {"Content-Type": "application/json"}
        request = Request(method, path, url, {**content_type, **headers}, body, charges, writes, expects, is_conflict)
        if self.dry_run and writes:
            raise DryRunStop(request)
        return self._deliver(request, self._send_attempt)

    async def send_verbatim(
        self,
        method: str,
        path: str,
        *charges: Charge,
        writes: bool,
        query: Sequence[tuple[str, str]] = (),
        content: bytes | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> UpstreamResponse:
        """Send a request that a caller has written, and return its response, whatever the status.

        It is sent again only after a response that proves that nothing was done: with newer credentials, or when a
        throttled budget is free again.
        """
        url = self.service.base_urls["base"] + path + (_encode_query(query) if query else "")
        request = Request(method, path, url, headers, content, charges, writes, (), lambda _: False, verbatim=True)
        if self.dry_run and writes:
            raise DryRunStop(request)
        deadline, refreshed = await self._create_deadline(), False
        while True:
            try:
                response = await self._send_attempt(request, deadline)
            except TooLarge as error:
                raise _too_large_error(request) from error
            except (NotSent, TimedOut, ConnectionLost) as error:
                self._raise_unless_retryable(error, request, last=True)
                raise
            delay, expired = self.service.parse_throttle(response), self.service.is_expired(response)
            seconds = 0.0 if delay is None else await self._block(request, delay)
            if writes and self.doubt is not None:
                return response
            if expired and not refreshed and await self.credential_source.refresh(request.credentials):
                refreshed = True
            elif delay is None or self._blocks_too_long(seconds, deadline):
                return response

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *charges: Charge,
        host: str = "base",
        query: Mapping[str, Any] = MappingProxyType({}),
        buffered: bool = False,
    ) -> AsyncIterator[StreamedResponse]:
        """Send a GET request, and yield its response, whose status is below 500.

        The body of a successful response arrives in pieces, which must be read inside the context. An
        ``UpstreamFailure`` while reading means that the body is incomplete.

        If *buffered*, the caller must read the body without pausing, and the request occupies a slot of its account
        until the end of the body. Otherwise the caller may read slowly, and the slot is released after the headers.
        """
        _check_segments(path)
        url = self.service.base_urls[host] + path + (_encode_query(query) if query else "")
        request = Request("GET", path, url, {}, None, charges, writes=False, expects=(), is_conflict=lambda _: False)
        try:
            async with AsyncExitStack() as stack:
                yield await self._deliver(request, partial(self._open, stack, buffered=buffered))
        except (NotSent, TimedOut, ConnectionLost) as error:
            self._raise_unless_retryable(error, request, last=True)

    async def _deliver(self, request: Request, send_once: Callable[[Request, Deadline], Awaitable[A]]) -> A:
        """Send the request, and retry it as long as that is safe and attempts remain."""
        deadline = await self._create_deadline()
        attempt, refreshed = 0, False
        while True:
            attempt += 1
            last = attempt >= self.timeouts.attempts
            try:
                response = await send_once(request, deadline)
            except TooLarge as error:
                raise _too_large_error(request) from error
            except (NotSent, TimedOut, ConnectionLost) as error:
                self._raise_unless_retryable(error, request, last=last)
                await self._back_off(attempt)
                continue
            service = self.service
            delay, expired = service.parse_throttle(response), service.is_expired(response)
            if request.writes and (delay is not None or expired or not response.is_success):
                await self._check_rejected(request, response, delay)
            # The request was rejected, so it is sent again, once, with a new token.
            if not refreshed and expired and await self.credential_source.refresh(request.credentials):
                refreshed, attempt = True, attempt - 1
            elif delay is not None:
                await self._apply_throttle(request, delay, deadline)
            # Nothing was done, so even a write may be sent again.
            elif not last and request.is_conflict(response):
                await self._back_off(attempt)
            elif response.status < 500 or response.status in request.expects:
                self._record_response(request, response)
                return response
            elif request.writes or last:
                raise create_server_error(response)
            else:
                await self._back_off(attempt)

    def _record_response(self, request: Request, response: UpstreamResponse) -> None:
        if request.writes:
            self._has_written = True
            _check_readable(response)

    async def _check_rejected(
        self, request: Request, response: UpstreamResponse, delay: float | ThrottleDelay | None
    ) -> None:
        """Raise an error in doubt unless the response to a write proves that nothing was done."""
        doubt = None if response.status in request.expects else self.doubt
        if doubt is None:
            return
        # The budget is blocked anyway, because further requests would get the same response.
        if delay is not None:
            await self._block(request, delay)
        raise create_server_error(response, doubt)

    async def wait_for_lookup(self, lookup: Future[T]) -> T:
        """Wait for a *lookup* that another call has begun.

        Raises ``UpstreamRateLimited`` early if this call's own requests could not be sent in time afterwards.
        """
        return await self.pacer.wait_for_lookup(lookup, await self._create_deadline())

    async def _create_deadline(self) -> Deadline:
        """Await ``before_request``, and return the deadline for queueing a request.

        Raises ``UpstreamTimeout`` if the call has taken too long.
        """
        if self.before_request is not None:
            await self.before_request()
        now, queue, run = self.service.clock.now(), self.timeouts.queue_seconds, self.timeouts.run_seconds
        # Half a write is worse than a slow one.
        if self._has_written:
            return Deadline(now + run)
        if self.arrived_at is None:
            return Deadline(now + queue)
        if now >= self.arrived_at + run:
            raise errors.UpstreamTimeout("The vendor's responses took longer in all than a call may take.")
        # The vendor's time, and that of other calls on the same object, does not count as queueing.
        excused = self.locked_seconds
        if self.log.requests:
            excused += self.log.duration_ms / 1000
        return Deadline(self.arrived_at + min(queue + excused, run))

    async def _send_attempt(self, request: Request, deadline: Deadline) -> UpstreamResponse:
        """Wait for a reservation and for a slot if the account has a limit, then send the request once."""
        secrets = request.credentials = await self.credential_source.credentials()
        queued = time.perf_counter()
        reservation = await self.pacer.acquire(request.charges, deadline)
        if self.slots is None:
            return await self._send_in_time(request, secrets, reservation, queued, deadline)
        # The reservation comes first: a caller that gets none must be rejected immediately, with the correct delay.
        async with self._slot(deadline):
            return await self._send_in_time(request, secrets, reservation, queued, deadline)

    async def _send_in_time(
        self, request: Request, secrets: Mapping[str, str], reservation: Reservation, queued: float, deadline: Deadline
    ) -> UpstreamResponse:
        """Send the request once. If it misses its send window, wait for the reservation to become due again."""
        while True:
            try:
                return await self._send_once(request, secrets, reservation, queued)
            except SendWindowMissed:
                await self.pacer.reacquire(reservation, deadline)

    def _slot(self, deadline: Deadline, *, large: bool = False) -> AbstractAsyncContextManager[None]:
        """Return a slot of the account, or a no-op if the account has no limit."""
        if self.slots is None:
            return NO_LIMIT
        occupy = self.slots.large_slot if large else self.slots.slot
        return occupy(deadline.start_by - self.service.clock.now())

    async def _send_once(
        self, request: Request, secrets: Mapping[str, str], reservation: Reservation, queued: float
    ) -> UpstreamResponse:
        """Send the request and record it. Raises ``SendWindowMissed`` if it was not sent."""
        service, before, was_sent = self.service, (self.written_at, self.write_response), True
        if request.writes:
            # Checked after the wait, in which the object may have changed, or the process have been declared dead.
            if self.before_write is not None:
                await self.before_write()
            self.fence()
            self.written_at, self.write_response = service.time(), None
        sent_at, sent = service.clock.now(), time.perf_counter()
        status: int | None = None
        memory = WriteResponseMeter(self.memory) if request.writes else self.memory
        try:
            headers = {**service.auth_headers(secrets), **request.headers}
            response = await service.transport.send(
                request.method,
                request.url,
                headers,
                request.body,
                memory,
                begin=reservation.begin_sending,
                secrets=secrets,
            )
            status = response.status
            if request.writes:
                self.write_response = response
            if (date := response.headers.get("Date")) is not None:
                self._last_date = (date, service.time())
            reservation.record_end(responded=True)
        except (SendWindowMissed, NotSent) as error:
            (self.written_at, self.write_response), was_sent = before, isinstance(error, NotSent)
            raise
        except BaseException:
            # It may still arrive, even if its caller has left.
            reservation.record_end(responded=False)
            raise
        finally:
            if was_sent:
                waited, duration = to_milliseconds(sent - queued), to_milliseconds(time.perf_counter() - sent)
                record = RequestRecord(sent_at, request.method, request.path, status, waited, duration)
                self.log.requests.append(record)
                service.on_request_end(record)
        service.observe(request, response)
        return response

    async def _open(
        self, stack: AsyncExitStack, request: Request, deadline: Deadline, *, buffered: bool
    ) -> StreamedResponse:
        """Wait for a reservation and send the request once.

        A successful body stays open on *stack*, and its duration is recorded when it is closed.
        """
        secrets = request.credentials = await self.credential_source.credentials()
        queued = time.perf_counter()
        reservation = await self.pacer.acquire(request.charges, deadline)
        async with AsyncExitStack() as until_end, AsyncExitStack() as until_headers:
            await (until_end if buffered else until_headers).enter_async_context(self._slot(deadline, large=buffered))
            sent = time.perf_counter()
            waited = to_milliseconds(sent - queued)
            record = RequestRecord(self.service.clock.now(), request.method, request.path, None, waited, 0.0)
            self.log.requests.append(record)
            until_end.callback(lambda: self._finish_record(record, sent))
            headers = {**self.service.auth_headers(secrets), **request.headers}
            streaming = self.service.transport.stream(request.method, request.url, headers, secrets)
            with counted_until_arrival(reservation):
                status, headers_received, pieces = await until_end.enter_async_context(streaming)
            record.status = status
            response = StreamedResponse(status, headers_received, b"", pieces=pieces)
            if response.is_success:
                await stack.enter_async_context(until_end.pop_all())
            else:
                response.body = await _read_prefix(pieces)
        return response

    def _finish_record(self, record: RequestRecord, sent: float) -> None:
        record.duration_ms = to_milliseconds(time.perf_counter() - sent)
        self.service.on_request_end(record)

    def _raise_unless_retryable(
        self, error: NotSent | TimedOut | ConnectionLost, request: Request, *, last: bool
    ) -> None:
        """Raise the error that *error* means for the caller, unless *request* may be sent again."""
        may_have_arrived = not isinstance(error, NotSent)
        if may_have_arrived and request.writes:
            if isinstance(error, TimedOut):
                raise _outcome_unknown("did not respond in time", str(error), "silent") from error
            raise _outcome_unknown("closed the connection before it responded", str(error), "cut") from error
        if isinstance(error, TimedOut):
            raise errors.UpstreamTimeout("The vendor did not respond in time.", private=str(error)) from error
        if last and may_have_arrived:
            raise errors.UpstreamError("The connection to the vendor broke.", private=str(error)) from error
        if last:
            raise errors.UpstreamUnavailable("The vendor cannot be reached.", private=str(error)) from error

    async def _apply_throttle(self, request: Request, delay: float | ThrottleDelay, deadline: Deadline) -> None:
        """Block the budgets. Raises ``UpstreamRateLimited`` if they stay blocked for longer than the call may wait."""
        seconds = await self._block(request, delay)
        if self._blocks_too_long(seconds, deadline):
            raise errors.UpstreamRateLimited("The vendor is rate limiting this account.", retry_after=seconds)

    def _blocks_too_long(self, seconds: float, deadline: Deadline) -> bool:
        """Return True if a budget that is blocked for *seconds* is not free again before *deadline*."""
        return self.service.clock.now() + seconds > deadline.start_by

    async def _block(self, request: Request, delay: float | ThrottleDelay) -> float:
        """Block the budgets of *request* and return the seconds."""
        delay = delay if isinstance(delay, ThrottleDelay) else ThrottleDelay(delay)
        seconds = max(delay.seconds, self.timeouts.backoff_seconds)
        # Blocked for all users of the budget, because their requests would get the same response.
        await self.pacer.block(delay.select_charges(request.charges), seconds)
        return seconds

    async def _back_off(self, attempt: int) -> None:
        # With jitter, because calls that failed together must not be retried together.
        await self.service.clock.sleep(self.timeouts.backoff_seconds * 2 ** (attempt - 1) * (0.5 + random()))  # noqa: S311


@contextmanager
def counted_until_arrival(reservation: Reservation) -> Iterator[None]:
    """Count the request sent in this context from the latest time at which it can have arrived."""
    # ``UpstreamClient._send_once`` does the same, written out, because most requests pass there.
    try:
        yield
    except NotSent:
        raise
    except BaseException:
        reservation.record_end(responded=False)
        raise
    reservation.record_end(responded=True)


def _encode_query(query: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> str:
    pairs = query.items() if isinstance(query, Mapping) else query
    return "?" + "&".join([f"{_quote(name)}={_quote(str(value))}" for name, value in pairs])


def _quote(text: str) -> str:
    # Most values need no quoting, and Python quotes byte by byte.
    return text if text.isascii() and text.replace("_", "").isalnum() else quote_plus(text)


def _check_segments(path: str) -> None:
    """Reject a path in which a value is not exactly one segment. Percent-encoding does not change "" and ".."."""
    if "//" in path or path.endswith("/") or ("/." in path and not DOT_SEGMENTS.isdisjoint(path.split("/"))):
        raise errors.InvalidParameters("A value cannot be used as a segment of a URL path.")


async def _read_prefix(pieces: AsyncIterator[bytes]) -> bytes:
    """Return the beginning of an error response's body, up to ``MAX_ERROR_BYTES``."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    return bytes(body)


def create_server_error(
    response: UpstreamResponse, doubt: errors.InDoubtReason | None = None
) -> errors.UpstreamError | errors.OutcomeUnknown:
    """Return the error for a status of 500 or above, or for one that leaves the outcome of a write unknown."""
    if response.status >= 500:
        return errors.UpstreamError(
            f"The vendor failed with status {response.status}.", private=response.text, doubt=doubt
        )
    return _outcome_unknown(f"returned status {response.status}", response.text, doubt or "edge")


def _check_readable(response: UpstreamResponse) -> None:
    """Raise ``OutcomeUnknown`` if a write was accepted with a body that is not JSON.

    An empty body is accepted, because some responses have none. Decoding it as a shape fails later.
    """
    response.doubt = "garbled"
    if response.is_success and response.body and not response.is_json:
        raise _outcome_unknown("returned a response that is not JSON", response.text, "garbled")


def _too_large_error(request: Request) -> errors.UpstreamError | errors.OutcomeUnknown:
    """Return the error for a response that is too large to read."""
    if request.writes:
        return _outcome_unknown("returned a response that is too large", "", "garbled")
    return errors.ResponseTooLarge("The vendor's response is too large.")


def _outcome_unknown(problem: str, private: str, doubt: errors.InDoubtReason) -> errors.OutcomeUnknown:
    return errors.OutcomeUnknown(
        f"The vendor {problem}. It is unknown whether the write took effect.", private=private, doubt=doubt
    )
