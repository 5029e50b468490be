"""The client for one connection: it authorises, paces, times, resends and records every request to the third party."""

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from random import random
from types import MappingProxyType
from typing import Any, Protocol, TypeVar
from urllib.parse import quote_plus

from msgspec import Struct, field

from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors.table import NO_ERRORS, ErrorTable
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
    date_of,
)

UNLIMITED = nullcontext()
"""The place of an account that has as many as it likes."""

DEFAULT_PAUSE_SECONDS = 1.0
"""How long a throttled budget rests when the third party does not say."""

DATE_HEADER_ROUNDING_SECONDS = 0.5
"""Seconds that a ``Date`` header loses on average, since it tells whole seconds."""

NO_SEGMENTS = frozenset({".", ".."})
"""Whoever reads an address takes them for a way through folders."""

MAX_REFUSAL_BYTES = 1024 * 1024
"""How much is read of a refusal that came where a large body was asked for."""


def unauthorised(answer: UpstreamResponse) -> bool:
    """Whether an answer says that the credentials are not good, or no longer: status 401."""
    return answer.status == 401


def bearer_header(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """Return the header that carries the token of a connection."""
    return {"Authorization": f"Bearer {credentials['token']}"}


def parse_throttle(answer: UpstreamResponse) -> float | None:
    """Seconds to wait if *answer* is a 429: its ``Retry-After``, else a second."""
    if answer.status != 429:
        return None
    return retry_after(answer, DEFAULT_PAUSE_SECONDS)


def retry_after(answer: UpstreamResponse, default: float) -> float:
    """The seconds of the ``Retry-After`` header, or *default* where there is none to read."""
    try:
        seconds = float(answer.headers.get("Retry-After", default))
    except ValueError:
        return default
    return seconds if 0 <= seconds < math.inf else default


@dataclass(frozen=True, slots=True)
class ThrottleDelay:
    """How many seconds no request may be sent, and on which budgets."""

    seconds: float
    budgets: Container[str] | None = None
    """Names of budgets; None means all budgets that the request was charged to."""

    def of(self, charges: Sequence[Charge]) -> Sequence[Charge]:
        """The charges whose budgets are paused; all of them if the pause names none."""
        named = [charge for charge in charges if self.budgets is None or charge.budget in self.budgets]
        return named or charges


class RequestRecord(Struct):
    """One request to the third party, as the history keeps it: without query, body and token."""

    at: float
    method: str
    path: str
    status: int | None
    wait_ms: float
    duration_ms: float


class UpstreamLog(Struct):
    """The exchanges of one run, in order."""

    requests: list[RequestRecord] = field(default_factory=list)

    @property
    def wait_ms(self) -> float:
        """Milliseconds spent queueing for the third party's budget."""
        return sum([exchange.wait_ms for exchange in self.requests])

    @property
    def duration_ms(self) -> float:
        """Milliseconds spent waiting for the third party's answers."""
        return sum([exchange.duration_ms for exchange in self.requests])


class CredentialSource(Protocol):
    """Gives a connection's credentials; getting them may take time, refresh a token, or fail."""

    async def credentials(self) -> Mapping[str, str]:
        """The secrets, by the connector's names."""

    async def renew(self, used: Mapping[str, str]) -> bool:
        """Whether there are newer ones than those that were *used* and that the third party does not take any more."""


class ConcurrencySlots(Protocol):
    """So many requests of one account at the same time."""

    def slot(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Take a place while inside; ``UpstreamRateLimited`` where none gets free for so long."""

    def large_slot(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Take a place for an answer that is read whole, of which there are few; raises as ``one`` does."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long things may take before a call is given up."""

    queue_seconds: float = 30.0
    """How long the first request of a run waits for its turn, and any for a budget that the third party has closed."""

    run_seconds: float = 120.0
    """How long a later request of a run waits for its turn, and after a write also for a closed budget."""

    grace_seconds: float = 5.0
    """How long a call waits for a request in doubt to be settled."""

    attempts: int = 3
    """How often a request that changes nothing is sent when the third party fails."""

    backoff_seconds: float = 0.25
    """The pause before the second attempt; it doubles, with jitter."""


class Request(Struct):
    """One request of a room's client, ready to be sent as often as its nature allows."""

    method: str
    path: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    charges: Sequence[Charge]
    writes: bool
    expects: Container[int]
    is_conflict: Callable[[UpstreamResponse], bool]
    credentials: Mapping[str, str] = field(default_factory=dict)
    """The credentials it was sent with last."""

    def __repr__(self) -> str:
        # Whoever prints it must not print those.
        return f"<{self.method} {self.path}>"


class Streamed(UpstreamResponse, kw_only=True):
    """An answer whose body, where it was accepted, is still to come."""

    pieces: AsyncIterator[bytes]


class DryRunStop(Exception):  # not an error: what a dry run has come to
    """A request that changes something was not sent, since this is a dry run."""

    def __init__(self, request: Request) -> None:
        self.request = request


A = TypeVar("A", bound=UpstreamResponse)


@dataclass(frozen=True, slots=True)
class UpstreamService:
    """How one third party is spoken to from here; the same for all connections and calls."""

    addresses: Mapping[str, str]
    authorise: Callable[[Mapping[str, str]], Mapping[str, str]]
    throttled: Callable[[UpstreamResponse], float | ThrottleDelay | None]
    transport: Transport
    clock: Clock
    time: Callable[[], float]
    """Returns the time in epoch seconds, by a clock that nobody sets; other processes may compare it with theirs."""

    expired: Callable[[UpstreamResponse], bool] = unauthorised
    """Whether an answer says that the credentials may have ended."""

    exchanged: Callable[[RequestRecord], None] = lambda _: None
    """Is told of every request once it has ended."""

    error_table: ErrorTable = NO_ERRORS
    """The responses that prove that a write was not carried out."""


class UpstreamClient(Struct):
    """The authorised client that a room's own client is built on.

    One is made in each call. What all calls have in common stands in ``third_party``: passing each part of it by its
    name was a hundredth of a call (decision 73).
    """

    third_party: UpstreamService
    credential_source: CredentialSource
    pacer: Pacer
    timeouts: Timeouts
    trace: UpstreamLog
    fence: Callable[[], None] = lambda: None
    """Raises an error if other processes may have taken over this one's work, so that it must not write."""

    holding: MemoryReservation = field(default_factory=unmetered)
    """What the call holds of large answers."""

    written_at: float | None = None
    """When the last request that writes was sent, by ``time``; None if none was since this was set to None."""

    answered: UpstreamResponse | None = None
    """The response to that request; None if there is none."""

    dry_run: bool = False
    """Whether requests that write are ``Withheld``."""

    places: ConcurrencySlots | None = None
    """Where only so many requests of one account may be under way at once, what each of them takes one of."""

    before_request: Callable[[], Awaitable[None]] | None = None
    """Is awaited before anything is sent, where something is to be done first; see ``Steps``."""

    _begun: bool = False
    """Whether a request was answered."""

    _changed: bool = False
    """Whether one that writes was."""

    _heard: tuple[str, float] | None = None
    """The ``Date`` of the last answer, and when it came."""

    @property
    def doubt(self) -> errors.InDoubtReason | None:
        """Why the outcome of the last request that writes is unknown.

        None if no such request was sent, or if its response proves that nothing was done. A success is no doubt for
        its sender, who does not ask; for everybody else it is one.
        """
        if self.written_at is None:
            return None
        return "silent" if self.answered is None else self.third_party.error_table.doubt(self.answered)

    @property
    def skew(self) -> float:
        """Seconds by which the third party's clock is ahead of ours, as the last answer told; 0 if none did."""
        if self._heard is None:
            return 0.0
        header, at = self._heard
        date = date_of(header)
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
        collides: Callable[[UpstreamResponse], bool] = lambda _: False,
    ) -> Awaitable[UpstreamResponse]:
        """Send a request and return its answer, whatever its status below 500; *path* is percent-encoded.

        A name in braces in *path* stands for the secret of that name among the credentials: ``/tokens/{token}``. The
        secret is filled in when the request is sent; history, spans and errors have the template.
        The body is *json*, or *content* that *headers* describe.
        A throttled request is resent always, one that *writes* never after it may have been carried out.
        *expects* names failures that the caller reads itself; *collides* tells a refusal because of another change,
        which is worth another attempt.
        Raises ``OutcomeUnknown`` if a write was sent and its response does not prove that nothing was done, and an
        ``UpstreamError`` in doubt if the third party failed over it.
        """
        _require_segments(path)
        url = self.third_party.addresses[host] + path + (_encoded(query) if query else "")
        body = content if json is None else encode_json(json)
        described = {} if json is None else {"Content-Type": "application/json"}
        request = Request(method, path, url, {**described, **headers}, body, charges, writes, expects, collides)
        if self.dry_run and writes:
            raise DryRunStop(request)
        return self._deliver(request, self._exchange)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *charges: Charge,
        host: str = "base",
        query: Mapping[str, Any] = MappingProxyType({}),
        at_once: bool = False,
    ) -> AsyncIterator[Streamed]:
        """Read something large with GET: yields an answer with status below 500, its body in pieces if accepted.

        The pieces are to be taken inside the context, where an ``UpstreamFailure`` says that no more will come.
        Where an account has few places, a body whose pieces are taken *at_once* keeps its place until its end; of
        another one it is up to somebody else how long it takes.
        """
        _require_segments(path)
        url = self.third_party.addresses[host] + path + (_encoded(query) if query else "")
        request = Request("GET", path, url, {}, None, charges, writes=False, expects=(), is_conflict=lambda _: False)
        try:
            async with AsyncExitStack() as stack:
                yield await self._deliver(request, partial(self._open, stack, at_once=at_once))
        except (NotSent, TimedOut, ConnectionLost) as fault:
            self._give_up_on(fault, request, last=True)

    async def _deliver(self, request: Request, exchange: Callable[[Request, Deadline], Awaitable[A]]) -> A:
        """Send the request, again if it may be, until an answer can be returned or the attempts are used up."""
        deadline = await self._deadline()
        attempt, renewed = 0, False
        while True:
            attempt += 1
            last = attempt >= self.timeouts.attempts
            try:
                answer = await exchange(request, deadline)
            except TooLarge as fault:
                raise _too_large(request) from fault
            except (NotSent, TimedOut, ConnectionLost) as fault:
                self._give_up_on(fault, request, last=last)
                await self._back_off(attempt)
                continue
            third_party = self.third_party
            pause, expired = third_party.throttled(answer), third_party.expired(answer)
            if request.writes and (pause is not None or expired or not answer.is_success):
                await self._require_rejected(request, answer, pause)
            # The write was rejected, so it is sent again, once, with a new token.
            if not renewed and expired and await self.credential_source.renew(request.credentials):
                renewed, attempt = True, attempt - 1
            elif pause is not None:
                await self._rest(request, pause, deadline)
            # Nothing was done, so even a write may be sent again.
            elif not last and request.is_conflict(answer):
                await self._back_off(attempt)
            elif answer.status < 500 or answer.status in request.expects:
                self._note_answered(request, answer)
                return answer
            elif request.writes or last:
                raise server_error(answer)
            else:
                await self._back_off(attempt)

    def _note_answered(self, request: Request, answer: UpstreamResponse) -> None:
        self._begun, self._changed = True, self._changed or request.writes
        if request.writes:
            _require_readable(answer)

    async def _require_rejected(
        self, request: Request, answer: UpstreamResponse, pause: float | ThrottleDelay | None
    ) -> None:
        """Raise an error in doubt unless the response to a write proves that nothing was done."""
        doubt = None if answer.status in request.expects else self.doubt
        if doubt is None:
            return
        # The budget is blocked all the same: whoever said so, more requests would get the same response.
        if pause is not None:
            await self._close(request, pause)
        raise server_error(answer, doubt)

    async def _deadline(self) -> Deadline:
        """Until when a request may wait, once it may be sent at all."""
        if self.before_request is not None:
            await self.before_request()
        queue, run = self.timeouts.queue_seconds, self.timeouts.run_seconds
        # What was begun waits longer in line. What the application tells to come back much later is told that as well,
        # but for half a write, which is worse than a slow one (decision 103).
        in_line = run if self._begun else queue
        return Deadline(self.third_party.clock.now() + in_line, run if self._changed else queue)

    async def _exchange(self, request: Request, deadline: Deadline) -> UpstreamResponse:
        """Wait for a turn, and then for a place where there are few; send the request once."""
        secrets = request.credentials = await self.credential_source.credentials()
        queued = time.perf_counter()
        turn = await self.pacer.acquire(request.charges, deadline)
        if self.places is None:
            return await self._send_in_time(request, secrets, turn, queued, deadline)
        # After the turn: who is refused for want of one is told so at once, and with the true wait.
        async with self._place(deadline):
            return await self._send_in_time(request, secrets, turn, queued, deadline)

    async def _send_in_time(
        self, request: Request, secrets: Mapping[str, str], turn: Reservation, queued: float, deadline: Deadline
    ) -> UpstreamResponse:
        """Send the request once; while it cannot leave soon after its turn, that is waited for again (decision 93)."""
        while True:
            try:
                return await self._send_once(request, secrets, turn, queued)
            except SendWindowMissed:
                await self.pacer.reacquire(turn, deadline)

    def _place(self, deadline: Deadline, *, large: bool = False) -> AbstractAsyncContextManager[None]:
        """A place among the few that the account has; nothing where it is free to have many."""
        if self.places is None:
            return UNLIMITED
        take = self.places.large_slot if large else self.places.slot
        return take(deadline.start_by - self.third_party.clock.now())

    async def _send_once(
        self, request: Request, secrets: Mapping[str, str], turn: Reservation, queued: float
    ) -> UpstreamResponse:
        """Send the request, and record it however it ends; ``Stale`` if it did not leave."""
        third_party, before, left = self.third_party, (self.written_at, self.answered), True
        if request.writes:
            # After the wait for a turn, since the process may have been taken for dead meanwhile (decision 12).
            self.fence()
            self.written_at, self.answered = third_party.time(), None
        sent_at, sent = third_party.clock.now(), time.perf_counter()
        status: int | None = None
        holding = WriteResponseMeter(self.holding) if request.writes else self.holding
        try:
            headers = {**third_party.authorise(secrets), **request.headers}
            answer = await third_party.transport.send(
                request.method,
                request.url,
                headers,
                request.body,
                holding,
                stale=partial(_is_stale, turn),
                secrets=secrets,
            )
            status = answer.status
            if request.writes:
                self.answered = answer
            if (date := answer.headers.get("Date")) is not None:
                self._heard = (date, third_party.time())
            turn.record_response()
        except (SendWindowMissed, NotSent) as fault:
            (self.written_at, self.answered), left = before, isinstance(fault, NotSent)
            raise
        finally:
            if left:
                waited, took = sent - queued, time.perf_counter() - sent
                seen = RequestRecord(sent_at, request.method, request.path, status, waited * 1000, took * 1000)
                self.trace.requests.append(seen)
                third_party.exchanged(seen)
        return answer

    async def _open(self, stack: AsyncExitStack, request: Request, deadline: Deadline, *, at_once: bool) -> Streamed:
        """Wait for a turn and send the request once; an accepted body stays open on *stack*, timed to its end."""
        secrets = request.credentials = await self.credential_source.credentials()
        queued = time.perf_counter()
        turn = await self.pacer.acquire(request.charges, deadline)
        async with AsyncExitStack() as opened, AsyncExitStack() as beginning:
            await (opened if at_once else beginning).enter_async_context(self._place(deadline, large=at_once))
            sent = time.perf_counter()
            waited = (sent - queued) * 1000
            seen = RequestRecord(self.third_party.clock.now(), request.method, request.path, None, waited, 0.0)
            self.trace.requests.append(seen)
            opened.callback(lambda: self._end(seen, sent))
            headers = {**self.third_party.authorise(secrets), **request.headers}
            answering = self.third_party.transport.stream(request.method, request.url, headers, secrets)
            status, received, pieces = await opened.enter_async_context(answering)
            seen.status = status
            turn.record_response()
            answer = Streamed(status, received, b"", pieces=pieces)
            if answer.is_success:
                await stack.enter_async_context(opened.pop_all())
            else:
                answer.body = await _beginning(pieces)
        return answer

    def _end(self, seen: RequestRecord, sent: float) -> None:
        seen.duration_ms = (time.perf_counter() - sent) * 1000
        self.third_party.exchanged(seen)

    def _give_up_on(self, fault: NotSent | TimedOut | ConnectionLost, request: Request, *, last: bool) -> None:
        """Raise what *fault* means for the caller, unless *request* may be sent again."""
        silent = not isinstance(fault, NotSent)
        if silent and request.writes:
            if isinstance(fault, TimedOut):
                raise _unknown("did not answer in time", str(fault), "silent") from fault
            raise _unknown("cut the connection before it answered", str(fault), "cut") from fault
        if isinstance(fault, TimedOut):
            raise errors.UpstreamTimeout("The application did not answer in time.", private=str(fault)) from fault
        if last and silent:
            raise errors.UpstreamError("The connection to the application broke.", private=str(fault)) from fault
        if last:
            raise errors.UpstreamUnavailable("The application cannot be reached.", private=str(fault)) from fault

    async def _rest(self, request: Request, pause: float | ThrottleDelay, deadline: Deadline) -> None:
        """Pause the budgets; ``UpstreamRateLimited`` if the pause is longer than the call may wait."""
        seconds = await self._close(request, pause)
        if seconds >= deadline.max_blocked_seconds or self.third_party.clock.now() + seconds > deadline.start_by:
            raise errors.UpstreamRateLimited("The application throttles this account.", retry_after=seconds)

    async def _close(self, request: Request, pause: float | ThrottleDelay) -> float:
        """Block the budgets of *request* and return for how many seconds."""
        pause = pause if isinstance(pause, ThrottleDelay) else ThrottleDelay(pause)
        seconds = max(pause.seconds, self.timeouts.backoff_seconds)
        # Blocked for all who share the budget, so that they do not run into the same response (decision 3).
        await self.pacer.block(pause.of(request.charges), seconds)
        return seconds

    async def _back_off(self, attempt: int) -> None:
        # Jitter, so that calls which failed together do not come back together.
        await self.third_party.clock.sleep(self.timeouts.backoff_seconds * 2 ** (attempt - 1) * (0.5 + random()))  # noqa: S311


def _is_stale(turn: Reservation) -> bool:
    """Return True if the request must not leave any more; otherwise count it from now on, for it leaves."""
    if turn.expired():
        return True
    turn.left()
    return False


def _encoded(query: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> str:
    pairs = query.items() if isinstance(query, Mapping) else query
    return "?" + "&".join([f"{_quoted(name)}={_quoted(str(value))}" for name, value in pairs])


def _quoted(text: str) -> str:
    # Most of what is sent needs no quoting, and Python quotes byte by byte (decision 45).
    return text if text.isascii() and text.replace("_", "").isalnum() else quote_plus(text)


def _require_segments(path: str) -> None:
    """Refuse a path in which a value has become more or less than a segment: "" and ".." survive all encoding."""
    if "//" in path or path.endswith("/") or ("/." in path and not NO_SEGMENTS.isdisjoint(path.split("/"))):
        raise errors.InvalidParameters("A value that was sent cannot be part of an address.")


async def _beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """The beginning of a refusal's body, up to ``MAX_REFUSAL_BYTES``."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_REFUSAL_BYTES:
            break
    return bytes(body)


def server_error(
    answer: UpstreamResponse, doubt: errors.InDoubtReason | None = None
) -> errors.UpstreamError | errors.OutcomeUnknown:
    """Return the error for a failure status, or for a status that does not show what became of a write."""
    if answer.status >= 500:
        return errors.UpstreamError(
            f"The application failed with status {answer.status}.", private=answer.text, doubt=doubt
        )
    return _unknown(f"answered with status {answer.status}", answer.text, doubt or "edge")


def _require_readable(answer: UpstreamResponse) -> None:
    """Raise ``OutcomeUnknown`` if a write was accepted with a body that is not JSON.

    An empty body passes, since some answers are meant to be empty. Reading it as a shape fails later.
    """
    answer.doubt = "garbled"
    if answer.is_success and answer.body and not answer.is_json:
        raise _unknown("answered something that is not JSON", answer.text, "garbled")


def _too_large(request: Request) -> errors.UpstreamError | errors.OutcomeUnknown:
    """The error of an answer that is not read; what was to be written may be written."""
    if request.writes:
        return _unknown("answered more than can be read", "", "garbled")
    return errors.ResponseTooLarge("The application's answer is too large.")


def _unknown(how: str, private: str, doubt: errors.InDoubtReason) -> errors.OutcomeUnknown:
    return errors.OutcomeUnknown(
        f"The application {how}; whether it did the work is not known.", private=private, doubt=doubt
    )
