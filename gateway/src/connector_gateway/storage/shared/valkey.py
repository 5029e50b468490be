"""Counters shared by several processes, in Valkey or Redis, by the store's clock.

Every method raises ``StoreUnavailable`` if the store does not respond. ``unavailable_store`` then replaces it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha1
from importlib.resources import files
from math import inf
from secrets import token_hex
from typing import Any, Self
from urllib.parse import urlsplit
from weakref import WeakValueDictionary
from zlib import crc32

from valkey.asyncio.connection import AbstractConnection, ConnectionPool
from valkey.exceptions import NoScriptError, ValkeyError

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import UpstreamConflict
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.budget_queue import BudgetQueue, Waiter
from connector_gateway.storage.shared.data_loss_recovery import LossState, SentRequest
from connector_gateway.storage.shared.interface import (
    NEGLIGIBLE_SECONDS,
    STALE_FRACTION,
    UPSTREAM,
    CallPosition,
    RateLimitWindow,
    ResolvedCharge,
    StoreUnavailable,
)
from connector_gateway.storage.shared.sliding_window import SendDelay, max_delay
from connector_gateway.storage.shared.valkey_pipeline import ValkeyPipeline

TIMEOUT_SECONDS = 0.5
"""The timeout of a response. A store that hangs is noticed after one and a half times this, at the latest."""

MICRO = 1_000_000
KEY_TAGS = 16
"""The number of cluster slots over which the windows of keys are distributed."""

LEASE_SECONDS = 10.0
LEASE_MARGIN_SECONDS = 2.0
"""Seconds before its end in the store at which a lease counts as ended for its holder."""

LEASE_RETRY_SECONDS = 0.05
"""Seconds between two requests for a lease that another process holds."""

EPOCH_SECONDS = 48 * 60 * 60
"""Twice the retention time of idempotency keys."""

MAX_CONFIRMATIONS = 3
"""The maximum number of consecutive confirmations if each response arrives too late."""

ENTRIES = ":entries"
"""The suffix of the key that contains the entries of a budget."""

MAX_SEND_DELAYS = 10_000
MIN_MAJOR_VERSION = 7
COUNTING = (files(__package__) / "counting.lua").read_text("utf-8")
TRUE_TIME = "redis.call('TIME')"
"""The script's expression for the time, which tests replace."""

RENEW_SCRIPT = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
)
RELEASE_SCRIPT = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def _tls_options(url: str) -> Mapping[str, bool]:
    """Return the driver option that enables host name verification of certificates, which is off by default."""
    return {"ssl_check_hostname": True} if urlsplit(url).scheme in {"rediss", "valkeys"} else {}


@dataclass(slots=True)
class ValkeyReservation:
    """A reservation numbered by the store, and the time of the response that let it through."""

    store: "ValkeyCounters"
    charges: Sequence[ResolvedCharge]
    key: int
    """The position of its call."""

    number: int
    wait: float
    granted: bool
    queried_at: float
    """The time before the query to the store. The request was sent later, so it is never counted too early."""

    confirmed_at: float
    """The time of the store's response. The store let the request through before that."""

    waiter: Waiter | None = None

    async def wait_turn(self) -> None:
        """Wait until the request should be confirmed."""
        if self.waiter is not None:
            await self.waiter.wait(self.store.clock, self.wait)

    async def confirm(self) -> float:
        """Take the units if they fit now after those of earlier calls.

        Returns 0 if the request may be sent now, otherwise the seconds to wait.
        """
        for _ in range(MAX_CONFIRMATIONS):
            self.queried_at = self.store.clock.now()
            known, wait, slowest = await self.store.call_script("confirm", self.number, self.charges, self.key)
            self.confirmed_at = self.store.clock.now()
            if wait > 0 or not self.is_expired:
                break
        self.wait = wait / MICRO
        if slowest > 0:
            self.enqueue(slowest, inf, is_known=known == 1)
        elif self.waiter is not None:
            self.waiter.leave()
        return self.wait

    def enqueue(self, slowest: int, start_by: float, *, is_known: bool = True) -> None:
        """Wait in the queue of the budget of number *slowest*, by default until *start_by*."""
        if self.waiter is None:
            self.waiter = Waiter(self.key, start_by)
        charge = self.charges[slowest - 1]
        self.waiter.join(self.store.line(charge.name), charge)
        # The store has dropped the requests of this process, because it was silent for too long.
        if not is_known:
            self.waiter.wake_others(inf)
        self.waiter.wake_others(self.store.clock.now() + self.wait)

    @property
    def is_expired(self) -> bool:
        """Whether a request sent now could fall into a window that others have used.

        A process may be frozen while the store's response is in transit, or later.
        """
        late = self.store.clock.now() - self.queried_at
        return any(late > charge.budget.per_seconds * STALE_FRACTION for charge in self.charges)

    def begin_sending(self) -> bool:
        """Count the request from now on, or return False if the reservation has expired."""
        if self.is_expired:
            return False
        now = self.store.clock.now()
        if now - self.queried_at > NEGLIGIBLE_SECONDS:
            self.store.record_sent(self.charges, self.number, now - self.queried_at)
            self.queried_at = self.confirmed_at = now
        return True

    def release(self) -> None:
        """Release the reservation."""
        if self.waiter is not None:
            self.waiter.leave()
        self.store.release(self.charges, self.number, self.key)

    def record_end(self, *, responded: bool) -> None:
        """Count the request from the latest time at which it can have arrived. It has ended now."""
        now = self.store.clock.now()
        ages = now - self.queried_at, now - self.confirmed_at
        self.store.record_end(self.charges, self.number, *ages, responded=responded)


class ValkeyLease:
    """A lock on an object that lasts for some time after the store's last confirmation."""

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._until = -inf
        self.ended = False

    def extend(self, requested_at: float) -> None:
        """Extend the lease, which the store has confirmed, from the time of the request."""
        self._until = requested_at + LEASE_SECONDS - LEASE_MARGIN_SECONDS

    def check(self) -> None:
        """Raise ``UpstreamConflict`` if another process may have the lease by now."""
        if not self.ended and self._clock.now() >= self._until:
            raise UpstreamConflict(
                "The lock on the object has expired; nothing more was sent.",
                private=f"the lease {self._name} was not extended in time",
                retry_after=LEASE_SECONDS,
            )


@dataclass(slots=True)
class ValkeyCounters:
    """Counters, reservations and leases in a store shared by all processes of an installation."""

    url: str
    clock: Clock
    """Only for durations within this process."""

    seconds: float = TIMEOUT_SECONDS
    """The timeout of a response, in seconds."""

    queue_seconds: float = 30.0
    connectors: Iterable[str] = ()
    script: str = COUNTING
    prefix: str = ""
    version: str = ""
    _process: str = field(default_factory=partial(token_hex, 4))
    _send_delays: dict[str, SendDelay] = field(default_factory=dict)
    _lines: WeakValueDictionary[str, BudgetQueue] = field(default_factory=WeakValueDictionary)
    _pipeline: ValkeyPipeline = field(init=False)
    _digest: str = field(init=False)

    def __post_init__(self) -> None:
        self._digest = sha1(self.script.encode(), usedforsecurity=False).hexdigest()
        # The pipeline limits the response times of all commands in flight.
        pool = ConnectionPool.from_url(
            self.url, socket_timeout=None, socket_connect_timeout=self.seconds, **_tls_options(self.url)
        )
        self._pipeline = ValkeyPipeline(partial(self._connection, pool), self.seconds)

    @staticmethod
    def _connection(pool: ConnectionPool) -> AbstractConnection:
        connection: AbstractConnection = pool.make_connection()
        return connection

    @property
    def name(self) -> str:
        """The URL of the store, without user and password."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    async def __aenter__(self) -> Self:
        await self._pipeline.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._pipeline.__aexit__(*error)

    async def begin(self, installation_id: str, *, is_new: bool) -> None:
        """Start counting for this installation. A *is_new* one cannot have lost earlier counts."""
        self.prefix = f"cg:{installation_id}:"
        if is_new:
            # Without this mark, the script assumes that data was lost.
            await asyncio.gather(*(self._send("SET", self._key(tag, "began"), "0") for tag in self._tags))

    @property
    def _tags(self) -> list[str]:
        return [*self.connectors, *(f"keys-{number}" for number in range(KEY_TAGS))]

    async def consume(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""
        wait, remaining, number = await self.call_script("spend", "", [charge])
        return RateLimitWindow(int(charge.budget.limit), remaining, wait / MICRO, number=number)

    async def peek(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Return the state of the window without taking anything."""
        _, remaining = await self.call_script("peek", "", [charge])
        return RateLimitWindow(int(charge.budget.limit), remaining)

    async def reserve(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition | None = None
    ) -> ValkeyReservation:
        """Reserve all *charges* after those of earlier calls, or nothing if that is after *max_wait_seconds*."""
        since = self.clock.now()
        position = position or CallPosition(since)
        if not charges:
            return self._create_reservation(charges, (1, 0, 0), since)
        key = -max(0, round((since - position.arrived_at) * MICRO)) if position.key is None else position.key
        max_wait = min(max(max_wait_seconds, 0.0), 1e9) * MICRO
        granted, wait, number, key, slowest = await self.call_script(
            "reserve", max_wait, charges, "-0" if key == 0 else key, abandoned=partial(self._release_abandoned, charges)
        )
        position.key = int(key)
        reservation = self._create_reservation(charges, (granted, wait, number), since, position.key)
        if slowest > 0:
            reservation.enqueue(slowest, self.clock.now() + max_wait_seconds)
        elif reservation.granted and reservation.is_expired:
            await reservation.confirm()
        return reservation

    async def hold_place(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition
    ) -> float:
        """Hold the place of a call that waits for another one, or return when its turn is, if that is too late."""
        age = f"-{max(0, round((self.clock.now() - position.arrived_at) * MICRO))}"
        granted, wait, _, key, _ = await self.call_script(
            "hold",
            max(max_wait_seconds, 0.0) * MICRO,
            charges,
            age if position.key is None else position.key,
            abandoned=partial(self._release_abandoned, charges),
        )
        position.key = int(key)
        return 0.0 if granted else wait / MICRO

    def leave_place(self, charges: Sequence[ResolvedCharge], position: CallPosition) -> None:
        """Expect the requests of a call that held a place very soon."""
        if position.key is not None:
            self._pipeline.send_no_reply(*self._command("expect", "", charges, position.key))

    async def try_reserve_idle(self, charges: Sequence[ResolvedCharge]) -> ValkeyReservation:
        """Reserve the current time if that leaves ``HEADROOM`` for calls.

        Otherwise reserves nothing, and returns when to try again.
        """
        since = self.clock.now()
        response = await self.call_script("spare", "", charges, abandoned=partial(self._release_abandoned, charges))
        reservation = self._create_reservation(charges, response, since)
        if reservation.granted and reservation.is_expired and await reservation.confirm() > 0:
            reservation.release()
            reservation.granted = False
        return reservation

    def _create_reservation(
        self, charges: Sequence[ResolvedCharge], response: Sequence[int], since: float, key: int = 0
    ) -> ValkeyReservation:
        granted, wait, number = response
        now = self.clock.now()
        return ValkeyReservation(self, charges, key, number, wait / MICRO, granted == 1, since, now)

    def line(self, name: str) -> BudgetQueue:
        """Return the requests of this process that wait for the budget *name*."""
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = BudgetQueue()
        return line

    async def count_sent(self, charges: Sequence[ResolvedCharge]) -> None:
        """Count a request that has been sent already, even if it does not fit."""
        await self.call_script("count", "", charges)

    def _release_abandoned(self, charges: Sequence[ResolvedCharge], response: Sequence[int]) -> None:
        """Release a reservation whose caller was cancelled before the response arrived."""
        if response[0] == 1:
            self.release(charges, response[2], response[3] if len(response) > 3 else "")

    def release(self, charges: Sequence[ResolvedCharge], number: int, key: Any) -> None:
        """Release a reservation of the call at position *key*."""
        if charges:
            self._pipeline.send_no_reply(*self._command("release", number, charges, key))

    async def recount(self, name: str, budget: Budget, sent: Sequence[SentRequest]) -> None:
        """Count sent requests, unless they are counted already."""
        entries = " ".join(f"{round(request.ago * MICRO)} {request.name}:{request.units:.17g}" for request in sent)
        await self.call_script("recount", entries, [ResolvedCharge(name, budget, 0)])

    async def read_loss_state(self) -> LossState:
        """Return the last data losses and the current blocks."""
        tags = self._tags
        states: Sequence[Any] = await asyncio.gather(*(self._call_without_budget(["look", ""], tag) for tag in tags))
        lost: dict[str, int] = {}
        blocked: dict[str, float] = {}
        for tag, (at, blocks) in zip(tags, states, strict=True):
            lost[tag] = at
            blocked |= {
                self._name(entries, tag): remaining / MICRO
                for entries, remaining in zip(blocks[::2], blocks[1::2], strict=True)
            }
        return LossState(lost, blocked)

    def _name(self, entries: bytes, tag: str) -> str:
        return entries.decode().removeprefix(self._key(tag, "")).removesuffix(ENTRIES)

    @staticmethod
    def tag(name: str) -> str:
        """Return the hash tag of *name*."""
        return _tag(name)

    def record_end(
        self,
        charges: Sequence[ResolvedCharge],
        number: int,
        seconds_since_query: float,
        seconds_since_response: float,
        *,
        responded: bool,
    ) -> None:
        """Count a request from the latest time at which it can have arrived, but not from a future time.

        It has ended now, *seconds_since_query* after the query to the store and *seconds_since_response* after the
        store's response.
        """
        for charge in charges:
            late = (
                self._get_send_delay(charge.name).estimate(seconds_since_query, charge.budget)
                if responded
                else max_delay(charge.budget)
            )
            if late <= 0:
                continue
            if seconds_since_query - seconds_since_response > NEGLIGIBLE_SECONDS:
                # Only the store knows when it let the request through, and thus whether the result would be in the
                # future.
                self._pipeline.send_no_reply(*self._command("late", f"{number} {round(late * MICRO)}", [charge]))
                continue
            entries, *_ = self._keys(charge.name)
            # It needs the same number of digits as the script writes, or the entry would not be found.
            entry = f"g{number}:{charge.units:.17g}"
            self._pipeline.send_no_reply(
                "ZADD", entries, "XX", "INCR", round(min(late, seconds_since_response) * MICRO), entry
            )

    def record_sent(self, charges: Sequence[ResolvedCharge], number: int, late: float) -> None:
        """Count a request *late* seconds later, but not later than now."""
        for charge in charges:
            self._pipeline.send_no_reply(*self._command("late", f"{number} {round(late * MICRO)}", [charge]))

    def _get_send_delay(self, name: str) -> SendDelay:
        delay = self._send_delays.pop(name, None) or SendDelay()
        if len(self._send_delays) >= MAX_SEND_DELAYS:
            del self._send_delays[next(iter(self._send_delays))]
        # Reinserted, so that the first entry is the least recently used one.
        self._send_delays[name] = delay
        return delay

    async def block(self, charges: Sequence[ResolvedCharge], seconds: float) -> None:
        """Block these budgets for *seconds*."""
        if charges:
            await self.call_script("close", round(seconds * MICRO), charges)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[ValkeyLease]:
        """Lock the object *name* inside the context. Raises ``UpstreamConflict`` if that takes too long."""
        key, token, lease = self._key(name, "lease"), token_hex(8), ValkeyLease(self.clock, name)
        await self._acquire(key, token, lease)
        renewal = asyncio.create_task(self._renew_loop(key, token, lease))
        try:
            yield lease
        finally:
            lease.ended = True
            renewal.cancel()
            self._pipeline.send_no_reply("EVAL", RELEASE_SCRIPT, 1, key, token)

    async def _acquire(self, key: str, token: str, lease: ValkeyLease) -> None:
        deadline = self.clock.now() + self.queue_seconds
        free = partial(self._pipeline.send_no_reply, "EVAL", RELEASE_SCRIPT, 1, key, token)
        while True:
            requested_at = self.clock.now()
            command = ("SET", key, token, "NX", "PX", round(LEASE_SECONDS * 1000))
            # If the caller is cancelled before the response arrives, the lease is released instead of lasting until its
            # end.
            if await self._send(*command, abandoned=lambda _: free()):
                return lease.extend(requested_at)
            if requested_at >= deadline:
                raise UpstreamConflict(
                    "An earlier call is still changing the same object; this change was not sent.",
                    retry_after=LEASE_SECONDS / 2,
                )
            await self.clock.sleep(LEASE_RETRY_SECONDS)

    async def _renew_loop(self, key: str, token: str, lease: ValkeyLease) -> None:
        while True:
            await self.clock.sleep(LEASE_SECONDS / 4)
            requested_at = self.clock.now()
            try:
                renewed = await self._send("EVAL", RENEW_SCRIPT, 1, key, token, round(LEASE_SECONDS * 1000))
            except StoreUnavailable:
                # In the store the lease lasts until its end. Its holder counts the same time, and stops before it.
                continue
            if renewed:
                lease.extend(requested_at)

    async def evict_idle(self) -> None:
        """Do nothing, because all keys in the store expire."""

    async def epoch(self) -> int | None:
        """Return the last stored epoch of the database, or None if there is none."""
        stored = await self._send("GET", self._key("epoch", "epoch"))
        return None if stored is None else int(stored)

    async def set_epoch(self, number: int) -> None:
        """Store the epoch of the database, for as long as there may be idempotency keys whose claims it could lose."""
        await self._send("SET", self._key("epoch", "epoch"), number, "EX", EPOCH_SECONDS)

    async def check(self) -> None:
        """Write a test value. Raises ``StoreUnavailable`` with the reason if the store cannot be used."""
        if not self.version:
            information = await self._send("INFO", "server")
            self.version = parse_version(information.decode() if isinstance(information, bytes) else str(information))
        if int(self.version.partition(".")[0] or 0) < MIN_MAJOR_VERSION:
            raise StoreUnavailable(f"version {self.version} is too old; {MIN_MAJOR_VERSION}.0 or newer is needed")
        await self._send("SET", self._key("check", "check"), "1", "EX", 60)
        # Commands without a reply cannot be retried with the script's text, so the script must be loaded after a
        # restart.
        await self._send("SCRIPT", "LOAD", self.script)

    async def call_script(
        self,
        command: str,
        argument: Any,
        charges: Sequence[ResolvedCharge],
        position: Any = "",
        abandoned: Callable[[Any], None] | None = None,
    ) -> Sequence[int]:
        """Run a command of the script and return its response."""
        return await self._eval(self._command(command, argument, charges, position), abandoned)

    async def _eval(self, command: Sequence[Any], abandoned: Callable[[Any], None] | None = None) -> Sequence[int]:
        try:
            response: Sequence[int] = await self._send(*command, abandoned=abandoned)
        except NoScriptError:
            # A restarted store has no scripts. Sending the text loads the script again.
            response = await self._send("EVAL", self.script, *command[2:], abandoned=abandoned)
        return response

    def _call_without_budget(self, values: Sequence[Any], tag: str) -> Awaitable[Sequence[int]]:
        """Run a command of the script that concerns no budget."""
        keys = self._keys_of(tag)
        return self._eval(["EVALSHA", self._digest, len(keys), *keys, *values])

    def _command(self, command: str, argument: Any, charges: Sequence[ResolvedCharge], position: Any = "") -> list[Any]:
        keys = self._keys_of(_tag(charges[0].name))
        values: list[Any] = [command, argument, position, self._process]
        for charge in charges:
            keys += self._keys(charge.name)
            budget = charge.budget
            window = round(budget.per_seconds * MICRO)
            values += (budget.limit, window, charge.units, charge.expected_units)
        return ["EVALSHA", self._digest, len(keys), *keys, *values]

    def _keys_of(self, tag: str) -> list[str]:
        return [self._key(tag, suffix) for suffix in ("began", "turns", "told")]

    def _keys(self, name: str) -> tuple[str, str, str]:
        tag = _tag(name)
        return self._key(tag, f"{name}{ENTRIES}"), self._key(tag, f"{name}:facts"), self._key(tag, f"{name}:queue")

    def _key(self, tag: str, suffix: str) -> str:
        # The part in braces determines the cluster slot, so all budgets of a connector are in the same slot.
        return f"{self.prefix}{{{tag}}}:{suffix}"

    async def _send(self, *command: Any, abandoned: Callable[[Any], None] | None = None) -> Any:
        try:
            return await self._pipeline.send(*command, abandoned=abandoned)
        except NoScriptError:
            raise
        except ValkeyError as error:
            raise StoreUnavailable(f"{type(error).__name__}: {error}") from error


@lru_cache(maxsize=4096)
def _tag(name: str) -> str:
    """Return the hash tag of *name*: the connector, or one of several tags for keys."""
    kind, _, remainder = name.partition(":")
    return remainder.partition(":")[0] if kind == UPSTREAM else f"keys-{crc32(name.encode()) % KEY_TAGS}"


def parse_version(information: str) -> str:
    """Return the compatible Redis version from a server's information, because Valkey's own versions restarted."""
    facts = dict(line.split(":", 1) for line in information.splitlines() if ":" in line)
    return facts.get("redis_version", "").strip()
