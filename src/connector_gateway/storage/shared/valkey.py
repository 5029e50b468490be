"""What calls count together where there are several processes: in Valkey or Redis, by its clock (decision 56).

Every method raises ``StoreAway`` where the store does not answer. ``storage.share`` goes on then.
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
from zlib import crc32

from valkey.asyncio.connection import AbstractConnection, ConnectionPool
from valkey.exceptions import NoScriptError, ValkeyError

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import UpstreamConflict
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import (
    QUICK_SECONDS,
    STALE,
    UPSTREAM,
    RateLimitWindow,
    ResolvedCharge,
    StoreUnavailable,
)
from connector_gateway.storage.shared.recovery import LossState, SentRequest
from connector_gateway.storage.shared.sliding_window import Lateness
from connector_gateway.storage.shared.valkey_pipeline import ValkeyPipeline

ANSWER_SECONDS = 0.5
"""How long an answer is waited for; a store that hangs is noticed after half as much again, at the latest."""

MICRO = 1_000_000
KEY_TAGS = 16
"""Windows of keys are spread over so many slots of a cluster."""

LEASE_SECONDS = 10.0
LEASE_MARGIN_SECONDS = 2.0
"""How long before its end in the store a lease counts as ended by its holder."""

LEASE_PAUSE_SECONDS = 0.05
"""How often it is asked for one that another process holds."""

EPOCH_SECONDS = 48 * 60 * 60
"""Twice as long as keys are remembered."""

CONFIRMED_TIMES = 3
"""How often in a row, where each answer comes so late."""

ENTRIES = ":entries"
"""What the key ends with under which the entries of a budget are."""

MOST_LEARNED = 10_000
OLDEST_MAJOR = 7
COUNTING = (files(__package__) / "counting.lua").read_text("utf-8")
TRUE_TIME = "redis.call('TIME')"
"""How the script tells the time; tests put another clock there."""

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
FREE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


def _verification(url: str) -> Mapping[str, bool]:
    """What the driver leaves out unless told: that a certificate is the one of the host that was meant."""
    return {"ssl_check_hostname": True} if urlsplit(url).scheme in {"rediss", "valkeys"} else {}


@dataclass(slots=True)
class ValkeyReservation:
    """A turn that the store numbered, and when the answer came that let it through."""

    store: "ValkeyCounters"
    takes: Sequence[ResolvedCharge]
    number: int
    wait: float
    granted: bool
    since: float
    """Before the store was asked: the request was sent later, so it is never counted too early."""

    heard: float
    """When its answer came: the store let it through before that."""

    async def confirm(self) -> float:
        """Confirm that it has come, or has come again: 0, or the seconds still to wait because others were late."""
        for _ in range(CONFIRMED_TIMES):
            self.since = self.store.clock.now()
            _, wait, _ = await self.store.call_script("confirm", self.number, self.takes)
            self.heard = self.store.clock.now()
            if wait > 0 or not self.expired():
                break
        return wait / MICRO

    def expired(self) -> bool:
        """Whether the store was asked so long ago that a request which leaves now might be in a window of others.

        A process may be frozen while the answer is on its way, or later (decisions 65 and 93).
        """
        late = self.store.clock.now() - self.since
        return any(late > take.budget.per_seconds * STALE for take in self.takes)

    def left(self) -> None:
        """Count the request from now on, before it is answered: by then, others may have gone in its place."""
        now = self.store.clock.now()
        if now - self.since > QUICK_SECONDS:
            self.store.left(self.takes, self.number, now - self.since)
            self.since = self.heard = now

    def release(self) -> None:
        """Give it back."""
        self.store.release(self.takes, self.number)

    def record_response(self) -> None:
        """Count the request from the latest instant at which it can have arrived; it was answered now."""
        now = self.store.clock.now()
        self.store.answered(self.takes, self.number, now - self.since, now - self.heard)


class ValkeyLease:
    """An object that is held alone until some time after the store was last told so."""

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._until = -inf
        self.ended = False

    def prolong(self, asked_at: float) -> None:
        """The store was asked at that time, and said yes."""
        self._until = asked_at + LEASE_SECONDS - LEASE_MARGIN_SECONDS

    def check(self) -> None:
        """Raise ``UpstreamConflict`` if others may have the right by now."""
        if not self.ended and self._clock.now() >= self._until:
            raise UpstreamConflict(
                "The right to change the object alone has ended; nothing more was sent.",
                private=f"the lease {self._name} was not renewed in time",
                retry_after=LEASE_SECONDS,
            )


@dataclass(slots=True)
class ValkeyCounters:
    """Counters, turns and leases in a store that all processes of an installation share."""

    url: str
    clock: Clock
    """Only for durations within this process."""

    seconds: float = ANSWER_SECONDS
    """How long anybody waits for an answer."""

    queue_seconds: float = 30.0
    connectors: Iterable[str] = ()
    script: str = COUNTING
    prefix: str = ""
    version: str = ""
    _lateness: dict[str, Lateness] = field(default_factory=dict)
    _pipeline: ValkeyPipeline = field(init=False)
    _digest: str = field(init=False)

    def __post_init__(self) -> None:
        self._digest = sha1(self.script.encode(), usedforsecurity=False).hexdigest()
        # How long an answer takes is watched by the pipeline, for all that are under way.
        pool = ConnectionPool.from_url(
            self.url, socket_timeout=None, socket_connect_timeout=self.seconds, **_verification(self.url)
        )
        self._pipeline = ValkeyPipeline(partial(self._connection, pool), self.seconds)

    @staticmethod
    def _connection(pool: ConnectionPool) -> AbstractConnection:
        connection: AbstractConnection = pool.make_connection()
        return connection

    @property
    def name(self) -> str:
        """Where the store is, without user and password."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    async def __aenter__(self) -> Self:
        await self._pipeline.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._pipeline.__aexit__(*error)

    async def begin(self, installation_id: str, *, fresh: bool) -> None:
        """Count for this installation; in a *fresh* one nothing can have been counted before, and lost."""
        self.prefix = f"cg:{installation_id}:"
        if fresh:
            # Elsewhere the script takes it that data was lost.
            await asyncio.gather(*(self._ask("SET", self._key(tag, "began"), "0") for tag in self._tags))

    @property
    def _tags(self) -> list[str]:
        return [*self.connectors, *(f"keys-{number}" for number in range(KEY_TAGS))]

    async def consume(self, take: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""
        wait, remaining, number = await self.call_script("spend", "", [take])
        return RateLimitWindow(int(take.budget.limit), remaining, wait / MICRO, number=number)

    async def peek(self, take: ResolvedCharge) -> RateLimitWindow:
        """What is left of the window; nothing is taken."""
        _, remaining = await self.call_script("peek", "", [take])
        return RateLimitWindow(int(take.budget.limit), remaining)

    async def reserve(self, takes: Sequence[ResolvedCharge], max_wait_seconds: float) -> ValkeyReservation:
        """Reserve the next turn at which all *takes* fit; nothing is taken if it comes after *max_wait_seconds*."""
        return await self._turn("reserve", min(max(max_wait_seconds, 0.0), 1e9) * MICRO, takes)

    async def try_reserve_idle(self, takes: Sequence[ResolvedCharge]) -> ValkeyReservation:
        """Reserve a turn that comes at once and leaves ``ROOM`` for calls; otherwise none, and when to ask again."""
        turn = await self._turn("spare", "", takes)
        if turn.granted and turn.wait > 0:
            turn.release()
            turn.granted = False
        return turn

    async def _turn(self, how: str, argument: Any, takes: Sequence[ResolvedCharge]) -> ValkeyReservation:
        since = self.clock.now()
        if not takes:
            return ValkeyReservation(self, takes, 0, 0.0, granted=True, since=since, heard=since)
        give_back = partial(self._give_back, takes)
        given, wait, number = await self.call_script(how, argument, takes, abandoned=give_back)
        turn = ValkeyReservation(self, takes, number, wait / MICRO, given == 1, since=since, heard=self.clock.now())
        if turn.granted and turn.wait <= 0 and turn.expired():
            turn.wait = await turn.confirm()
        return turn

    def _give_back(self, takes: Sequence[ResolvedCharge], answer: Sequence[int]) -> None:
        """Release what was reserved for somebody who has left before he heard of it."""
        if answer[0] == 1:
            self.release(takes, answer[2])

    def release(self, takes: Sequence[ResolvedCharge], number: int) -> None:
        """Give a turn back."""
        if takes:
            self._pipeline.send_no_reply(*self._command("release", number, takes))

    async def recount(self, name: str, budget: Budget, sent: Sequence[SentRequest]) -> None:
        """Count what was sent, unless it is counted already."""
        entries = " ".join(f"{round(one.ago * MICRO)} {one.name}:{one.units:.17g}" for one in sent)
        await self.call_script("recount", entries, [ResolvedCharge(name, budget, 0)])

    async def read_loss_state(self) -> LossState:
        """When data was lost, and what is closed."""
        tags = self._tags
        looks: Sequence[Any] = await asyncio.gather(*(self._run(["look", ""], tag) for tag in tags))
        lost: dict[str, int] = {}
        closed: dict[str, float] = {}
        for tag, (at, told) in zip(tags, looks, strict=True):
            lost[tag] = at
            closed |= {
                self._name(entries, tag): rest / MICRO for entries, rest in zip(told[::2], told[1::2], strict=True)
            }
        return LossState(lost, closed)

    def _name(self, entries: bytes, tag: str) -> str:
        return entries.decode().removeprefix(self._key(tag, "")).removesuffix(ENTRIES)

    @staticmethod
    def tag(name: str) -> str:
        """Where *name* is kept."""
        return _tag(name)

    def answered(self, takes: Sequence[ResolvedCharge], number: int, took: float, heard: float) -> None:
        """Count a request from when it can have arrived at the latest.

        It was answered now, *took* seconds after the store was asked and *heard* seconds after the store answered.
        """
        for take in takes:
            late = self._learned(take.name).of(took, take.budget)
            if late <= 0:
                continue
            if took - heard > QUICK_SECONDS:
                # Only the store knows when it let the request through, and so whether that would be later than now.
                self._pipeline.send_no_reply(*self._command("late", f"{number} {round(late * MICRO)}", [take]))
                continue
            entries, _ = self._keys(take.name)
            # With as many digits as the script writes, or the entry would not be found.
            entry = f"g{number}:{take.units:.17g}"
            self._pipeline.send_no_reply("ZADD", entries, "XX", "INCR", round(min(late, heard) * MICRO), entry)

    def left(self, takes: Sequence[ResolvedCharge], number: int, late: float) -> None:
        """Count a request so many seconds later, and at the latest from now on."""
        for take in takes:
            self._pipeline.send_no_reply(*self._command("late", f"{number} {round(late * MICRO)}", [take]))

    def _learned(self, name: str) -> Lateness:
        learned = self._lateness.pop(name, None) or Lateness()
        if len(self._lateness) >= MOST_LEARNED:
            del self._lateness[next(iter(self._lateness))]
        # Put back last, so that what is dropped is what was not used for longest.
        self._lateness[name] = learned
        return learned

    async def close(self, takes: Sequence[ResolvedCharge], seconds: float) -> None:
        """Give no turns of these budgets for so many seconds."""
        if takes:
            await self.call_script("close", round(seconds * MICRO), takes)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[ValkeyLease]:
        """Hold the object *name* while inside; ``UpstreamConflict`` if it cannot be had in time."""
        key, token, lease = self._key(name, "lease"), token_hex(8), ValkeyLease(self.clock, name)
        await self._take(key, token, lease)
        keeping = asyncio.create_task(self._prolong(key, token, lease))
        try:
            yield lease
        finally:
            lease.ended = True
            keeping.cancel()
            self._pipeline.send_no_reply("EVAL", FREE, 1, key, token)

    async def _take(self, key: str, token: str, lease: ValkeyLease) -> None:
        deadline = self.clock.now() + self.queue_seconds
        free = partial(self._pipeline.send_no_reply, "EVAL", FREE, 1, key, token)
        while True:
            asked_at = self.clock.now()
            command = ("SET", key, token, "NX", "PX", round(LEASE_SECONDS * 1000))
            # Who leaves before the answer would hold it until it ends, if it were not given back.
            if await self._ask(*command, abandoned=lambda _: free()):
                return lease.prolong(asked_at)
            if asked_at >= deadline:
                raise UpstreamConflict(
                    "A call that goes first is not done with the same object; what waited for it was not sent.",
                    retry_after=LEASE_SECONDS / 2,
                )
            await self.clock.sleep(LEASE_PAUSE_SECONDS)

    async def _prolong(self, key: str, token: str, lease: ValkeyLease) -> None:
        while True:
            await self.clock.sleep(LEASE_SECONDS / 4)
            asked_at = self.clock.now()
            try:
                held = await self._ask("EVAL", RENEW, 1, key, token, round(LEASE_SECONDS * 1000))
            except StoreUnavailable:
                # In the store it goes on until it ends; its holder counts that, too, and stops in time.
                continue
            if held:
                lease.prolong(asked_at)

    async def evict_idle(self) -> None:
        """Nothing is to be done: whatever is in the store ends by itself."""

    async def epoch(self) -> int | None:
        """Return the last epoch of the database that was written down; None if there is none."""
        told = await self._ask("GET", self._key("epoch", "epoch"))
        return None if told is None else int(told)

    async def set_epoch(self, number: int) -> None:
        """Write down the epoch of the database, for as long as keys are remembered whose claims it may lose."""
        await self._ask("SET", self._key("epoch", "epoch"), number, "EX", EPOCH_SECONDS)

    async def check(self) -> None:
        """Write something; ``StoreAway`` says why the store cannot be used."""
        if not self.version:
            told = await self._ask("INFO", "server")
            self.version = version_of(told.decode() if isinstance(told, bytes) else str(told))
        if int(self.version.partition(".")[0] or 0) < OLDEST_MAJOR:
            raise StoreUnavailable(f"version {self.version} is too old; {OLDEST_MAJOR}.0 or newer is needed")
        await self._ask("SET", self._key("check", "check"), "1", "EX", 60)
        # What is only told cannot be told again, with the script's text, where a store that was started anew lacks it.
        await self._ask("SCRIPT", "LOAD", self.script)

    async def call_script(
        self, what: str, argument: Any, takes: Sequence[ResolvedCharge], abandoned: Callable[[Any], None] | None = None
    ) -> Sequence[int]:
        """Let the script do something, and return its answer."""
        return await self._asked(self._command(what, argument, takes), abandoned)

    async def _asked(self, command: Sequence[Any], abandoned: Callable[[Any], None] | None = None) -> Sequence[int]:
        try:
            answer: Sequence[int] = await self._ask(*command, abandoned=abandoned)
        except NoScriptError:
            # A store that was started anew has no scripts; with its text it learns this one again.
            answer = await self._ask("EVAL", self.script, *command[2:], abandoned=abandoned)
        return answer

    def _run(self, values: Sequence[Any], tag: str) -> Awaitable[Sequence[int]]:
        """Let the script do something that is about no budget."""
        keys = self._keys_of(tag)
        return self._asked(["EVALSHA", self._digest, len(keys), *keys, *values])

    def _command(self, what: str, argument: Any, takes: Sequence[ResolvedCharge]) -> list[Any]:
        keys = self._keys_of(_tag(takes[0].name))
        values: list[Any] = [what, argument]
        for take in takes:
            keys += self._keys(take.name)
            values += (take.budget.limit, round(take.budget.per_seconds * MICRO), take.units)
        return ["EVALSHA", self._digest, len(keys), *keys, *values]

    def _keys_of(self, tag: str) -> list[str]:
        return [self._key(tag, rest) for rest in ("began", "turns", "told")]

    def _keys(self, name: str) -> tuple[str, str]:
        tag = _tag(name)
        return self._key(tag, f"{name}{ENTRIES}"), self._key(tag, f"{name}:facts")

    def _key(self, tag: str, rest: str) -> str:
        # What stands in braces decides the slot of a cluster: all budgets of a connector have the same.
        return f"{self.prefix}{{{tag}}}:{rest}"

    async def _ask(self, *command: Any, abandoned: Callable[[Any], None] | None = None) -> Any:
        try:
            return await self._pipeline.send(*command, abandoned=abandoned)
        except NoScriptError:
            raise
        except ValkeyError as refusal:
            raise StoreUnavailable(f"{type(refusal).__name__}: {refusal}") from refusal


@lru_cache(maxsize=4096)
def _tag(name: str) -> str:
    """What decides where *name* is counted: the connector, or one of several places for keys."""
    kind, _, rest = name.partition(":")
    return rest.partition(":")[0] if kind == UPSTREAM else f"keys-{crc32(name.encode()) % KEY_TAGS}"


def version_of(told: str) -> str:
    """The version that a server tells, by which Valkey and Redis are compared: its own would begin anew."""
    facts = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
    return facts.get("redis_version", "").strip()
