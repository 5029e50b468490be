"""Processes during an outage of the shared store, or with a slow, full or read-only one."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from connector_gateway.kit.clock import Clock, MonotonicClock
from connector_gateway.kit.errors import SharedStoreUnavailable, UpstreamConflict
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import CallPosition, ResolvedCharge, StoreUnavailable
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.shared.unavailable_store import (
    MAX_DEGRADED_SECONDS,
    MAX_TRACKED_BUDGETS,
    PROBE_SECONDS,
    FallbackCounters,
)
from connector_gateway.storage.shared.valkey import LEASE_SECONDS, ValkeyCounters, parse_version
from harness.clocks import NOON, ManualClock, ShiftedClock
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of, valkey_server
from harness.wait import until

PREFIX = "cg:one:"
"""The prefix of all names in the store."""

MINUTE = Budget(10, 60)
KEY = ResolvedCharge("key:1", MINUTE)
NOTES = ResolvedCharge("upstream:notes:all:account", MINUTE)


class AheadClock(ShiftedClock):
    """The machine's time plus an offset that a test sets. Sleeps take no longer than elsewhere."""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A separate server for the test."""
    with valkey_server(tmp_path) as server:
        yield server


@asynccontextmanager
async def with_fallback(
    server: Server,
    *,
    processes: int = 1,
    clock: Clock | None = None,
    installation: str = "one",
    is_new: bool = True,
    seconds: float = 10,
) -> AsyncIterator[FallbackCounters]:
    clock = clock or MonotonicClock()
    store = ValkeyCounters(server.url, clock, seconds=seconds, queue_seconds=0.2, connectors=["notes"])
    shared = FallbackCounters(store, LocalCounters(clock), clock, lambda: processes)
    async with shared.open(installation, is_new=is_new):
        yield shared


async def read_remaining(shared: FallbackCounters, charge: ResolvedCharge = KEY) -> tuple[int, int, bool]:
    allowance = await shared.consume(charge)
    return allowance.limit, allowance.remaining, allowance.is_local


async def is_available(shared: FallbackCounters) -> bool:
    return shared.unavailable_seconds is None


@requirement("common-196")
async def test_a_process_counts_its_share_if_the_store_is_unavailable_at_start(own: Server) -> None:
    own.stop()
    async with with_fallback(own, processes=2) as shared:
        assert (2, 1, True) == await read_remaining(shared)
        assert "local share" in shared.state


@requirement("common-196", "common-197")
async def test_a_process_continues_with_its_share_and_returns_to_the_store(own: Server) -> None:
    async with with_fallback(own) as shared:
        before = await read_remaining(shared)
        own.stop()
        meanwhile = await read_remaining(shared)
        own.start()
        await until(lambda: is_available(shared))

        # The use of the previous window counts against the share.
        assert ((10, 9, False), (5, 3, True)) == (before, meanwhile)
        assert 1 == shared.counted_locally


@requirement("common-236")
async def test_a_call_holds_its_place_in_the_share_while_the_store_is_unavailable(own: Server) -> None:
    async with with_fallback(own) as shared:
        calls = [CallPosition(shared.clock.now()) for _ in range(3)]
        own.stop()
        waits = [await shared.hold_place([ResolvedCharge(NOTES.name, MINUTE, expected_units=5)], 10, calls[0])]
        waits.append(await shared.hold_place([NOTES], 10, calls[1]))
        shared.leave_place([NOTES], calls[0])
        waits.append(await shared.hold_place([NOTES], 10, calls[2]))

    assert [0, 60, 0] == [round(wait) for wait in waits]


@requirement("common-198")
async def test_calls_are_rejected_with_retry_after_once_the_outage_lasts_a_minute(own: Server) -> None:
    clock = AheadClock()
    own.stop()
    async with with_fallback(own, clock=clock) as shared:
        await shared.check()
        clock.ahead = MAX_DEGRADED_SECONDS
        with pytest.raises(SharedStoreUnavailable) as raised:
            await shared.consume(KEY)
        with pytest.raises(SharedStoreUnavailable):
            await shared.reserve([NOTES], 10)
        with pytest.raises(SharedStoreUnavailable):
            await shared.check()

    assert raised.value.retry_after is not None


@requirement("common-200")
async def test_the_wait_for_a_hanging_store_is_short(own: Server) -> None:
    async with with_fallback(own, seconds=0.5) as shared:
        own.signal(signal.SIGSTOP)
        async with asyncio.timeout(5):
            remaining = await asyncio.gather(*(read_remaining(shared) for _ in range(3)))
        own.signal(signal.SIGCONT)
        await until(lambda: is_available(shared))

    assert [(5, 4, True), (5, 3, True), (5, 2, True)] == sorted(remaining, reverse=True)


@requirement("common-200")
async def test_a_moderately_slow_store_is_used(own: Server) -> None:
    async with with_fallback(own, seconds=5) as shared:
        own.client.client_pause(100)

        assert (10, 9, False) == await read_remaining(shared)


@requirement("common-196")
async def test_a_full_store_is_unavailable_until_it_has_space(own: Server) -> None:
    async with with_fallback(own) as shared:
        own.client.config_set("maxmemory", 1)
        meanwhile = await read_remaining(shared)
        own.client.config_set("maxmemory", 0)
        await until(lambda: is_available(shared))

    assert (5, 4, True) == meanwhile


@requirement("common-196")
async def test_a_read_only_store_is_unavailable(own: Server) -> None:
    async with with_fallback(own) as shared:
        own.client.replicaof("127.0.0.1", own.port)
        meanwhile = await read_remaining(shared)
        own.client.replicaof("NO", "ONE")
        await until(lambda: is_available(shared))

    assert (5, 4, True) == meanwhile


async def test_a_server_that_is_too_old_is_unavailable(valkey_of_tests: Server) -> None:
    async with store_of(valkey_of_tests, ManualClock(), by_hand=False) as store:
        store.version = parse_version("# Server\r\nredis_version:6.2.7\r\n")
        with pytest.raises(StoreUnavailable, match=r"6\.2\.7 is too old"):
            await store.check()


@requirement("common-196")
async def test_the_share_of_a_short_window_starts_after_earlier_requests_expire(own: Server) -> None:
    second = ResolvedCharge("upstream:tables:base:account", Budget(5, 1))
    own.stop()
    async with with_fallback(own, processes=2) as one_of_two, with_fallback(own) as alone:
        waits = [(await shared.reserve([charge], 10)) for shared in (one_of_two, alone) for charge in (second, NOTES)]
        poll = await one_of_two.try_reserve_idle([second])

    assert [PROBE_SECONDS, 0, 0, 0] == [reservation.wait for reservation in waits]
    assert not poll.granted


async def test_scripts_missing_in_the_store_are_loaded_again(own: Server) -> None:
    async with with_fallback(own) as shared:
        own.client.script_flush()

        assert (10, 9, False) == await read_remaining(shared)


@requirement("common-195")
async def test_windows_survive_a_restart_of_the_gateway(own: Server) -> None:
    async with with_fallback(own) as shared:
        await read_remaining(shared)
    async with with_fallback(own, is_new=False) as shared:
        assert (10, 8, False) == await read_remaining(shared)


@requirement("common-202")
async def test_installations_are_counted_separately(own: Server) -> None:
    async with with_fallback(own) as one, with_fallback(own, installation="two") as other:
        await read_remaining(one)

        assert (10, 9, False) == await read_remaining(other)


@requirement("common-194")
async def test_processes_with_different_clocks_share_one_budget(own: Server) -> None:
    async with with_fallback(own, clock=ShiftedClock(3600)) as one, with_fallback(own) as other:
        reservations = [await shared.reserve([NOTES], 100) for shared in (one, other) * 6]

    assert 10 == len([reservation for reservation in reservations if reservation.wait == 0])
    assert 59 < reservations[-1].wait <= 60


async def test_a_reservation_continues_locally_if_its_store_fails(own: Server) -> None:
    async with with_fallback(own) as shared, with_fallback(own, is_new=False) as other:
        await other.reserve([ResolvedCharge(NOTES.name, MINUTE, 10)], 0)
        reservation = await shared.reserve([NOTES], 100)
        own.stop()

        assert 0 == await reservation.confirm()
        reservation.record_end(responded=True)
        reservation.release()


@requirement("common-196")
async def test_requests_counted_by_the_store_count_against_the_share(own: Server) -> None:
    async with with_fallback(own) as shared:
        await asyncio.gather(*(shared.reserve([NOTES], 0) for _ in range(5)))
        own.stop()

        assert 50 < (await shared.reserve([NOTES], 0)).wait


@requirement("common-196")
async def test_use_of_the_share_is_reported_to_the_recovered_store(own: Server) -> None:
    async with with_fallback(own) as shared:
        own.client.script_flush()
        shared.enter_degraded_mode(StoreUnavailable("for a moment"))
        meanwhile = [await read_remaining(shared), await read_remaining(shared)]
        await shared.reserve([NOTES], 0)
        await until(lambda: is_available(shared))

        assert [(5, 4, True), (5, 3, True)] == meanwhile
        assert (10, 7, False) == await read_remaining(shared)
        assert 9 == (await shared.peek(NOTES)).remaining


async def test_a_request_waiting_for_the_share_returns_to_the_recovered_store(own: Server) -> None:
    async with with_fallback(own) as shared:
        shared.enter_degraded_mode(StoreUnavailable("for a moment"))
        await shared.reserve([ResolvedCharge(NOTES.name, MINUTE, 5)], 0)
        reservation = await shared.reserve([NOTES], 100)
        meanwhile = reservation.wait
        await until(lambda: is_available(shared))

        assert PROBE_SECONDS == meanwhile
        assert 0 == await reservation.confirm()
        assert 4 == (await shared.peek(NOTES)).remaining


async def test_a_reservation_keeps_its_position_during_a_brief_outage(own: Server) -> None:
    async with with_fallback(own) as shared:
        await shared.reserve([ResolvedCharge(NOTES.name, MINUTE, 10)], 0)
        reservation = await shared.reserve([NOTES], 100)
        shared.enter_degraded_mode(StoreUnavailable("for a moment"))
        meanwhile = await reservation.confirm()
        await until(lambda: is_available(shared))
        afterwards = await reservation.confirm()

        assert PROBE_SECONDS == meanwhile
        assert 40 < afterwards <= 60
        assert 2 == own.client.zcard(f"{PREFIX}{{notes}}:{NOTES.name}:queue"), "the process and its request"


class FrozenClock(StoreClock):
    """A clock that advances by the next of ``pauses`` at each reading."""

    def __init__(self, server: Server, *pauses: float) -> None:
        self.pauses: list[float] = []
        self.while_paused: Callable[[], None] = lambda: None
        super().__init__(server)
        self.pauses = list(pauses)

    def now(self) -> float:
        if self.pauses and (seconds := self.pauses.pop(0)):
            self.at += seconds
            self.while_paused()
        return self.at


def use_budget(server: Server, key: str) -> None:
    """Use all of a budget 65 seconds after the start."""
    server.client.zadd(f"{key}:entries", {"g99:10": (NOON + 65) * 1_000_000})
    server.client.hincrby(f"{key}:facts", "sum", 10)


@pytest.mark.parametrize("how", ["reserve", "reserve_if_spare"])
async def test_a_process_frozen_before_the_response_counts_from_its_resumption(
    valkey_of_tests: Server, how: str
) -> None:
    clock = FrozenClock(valkey_of_tests, 0, 40)
    async with store_of(valkey_of_tests, clock) as store:
        reservation = await (store.reserve([NOTES], 0) if how == "reserve" else store.try_reserve_idle([NOTES]))
        clock.at += 30

        assert (True, 0) == (reservation.granted, reservation.wait)
        assert 9 == (await store.peek(NOTES)).remaining


@pytest.mark.parametrize(("how", "expected"), [("reserve", (True, 55)), ("reserve_if_spare", (False, 55))])
async def test_a_process_frozen_until_its_window_is_used_does_not_send(
    valkey_of_tests: Server, how: str, expected: tuple[bool, float]
) -> None:
    clock = FrozenClock(valkey_of_tests, 0, 70)
    async with store_of(valkey_of_tests, clock) as store:
        clock.while_paused = partial(use_budget, valkey_of_tests, f"{store.prefix}{{notes}}:{NOTES.name}")
        reservation = await (store.reserve([NOTES], 0) if how == "reserve" else store.try_reserve_idle([NOTES]))

    assert expected == (reservation.granted, reservation.wait)


async def test_requests_granted_by_a_hanging_store_are_counted_now(
    valkey_of_tests: Server,
) -> None:
    clock = StoreClock(valkey_of_tests)
    async with store_of(valkey_of_tests, clock) as store:
        reservation = await store.reserve([ResolvedCharge(NOTES.name, MINUTE, 10)], 0)
        # The request was sent that long ago, and its response arrived as soon as the process continued.
        reservation.queried_at -= 20
        reservation.record_end(responded=True)
        waiting = await store.reserve([NOTES], 100)
        clock.at += 1

        assert (60, 59) == (waiting.wait, await waiting.confirm())


async def test_a_reservation_with_a_lost_response_is_released(valkey_of_tests: Server) -> None:
    clock = StoreClock(valkey_of_tests)
    async with store_of(valkey_of_tests, clock) as store:
        leaving = asyncio.ensure_future(store.reserve([NOTES], 100))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await store.peek(KEY)

        assert 10 == (await store.peek(NOTES)).remaining


async def test_a_blocked_budget_remains_blocked_during_an_outage(own: Server) -> None:
    async with with_fallback(own) as shared:
        await shared.block([NOTES], 30)
        own.stop()

        assert 29 < (await shared.reserve([NOTES], 0)).wait <= 30


@pytest.mark.parametrize(
    ("limit", "processes", "share"), [(100, 2, (25, 10)), (3, 4, (1, 10 / 0.375)), (1, 1, (1, 20))]
)
async def test_a_share_is_never_less_than_one_request(
    own: Server, limit: int, processes: int, share: tuple[float, float]
) -> None:
    async with with_fallback(own, processes=processes) as shared:
        budget = shared._local_charge(ResolvedCharge("upstream:notes:all:x", Budget(limit, 10))).budget

    assert share == (budget.limit, budget.per_seconds)


@requirement("common-203")
async def test_every_key_in_the_store_expires(own: Server) -> None:
    async with with_fallback(own) as shared:
        (await shared.reserve([NOTES], 10)).record_end(responded=True)
        await read_remaining(shared)
        async with shared.lock("page"):
            names = [name for name in own.client.scan_iter() if not name.endswith((b"began", b"turns"))]
            for_ever = [name for name in names if own.client.ttl(name) == -1]

    assert 6 == len(names)
    assert [] == for_ever


# Leases


@requirement("common-201")
async def test_one_process_at_a_time_locks_an_object(own: Server) -> None:
    async with with_fallback(own) as one, with_fallback(own, is_new=False) as other:
        async with one.lock("page"):
            with pytest.raises(UpstreamConflict):
                await other.lock("page").__aenter__()
        async with other.lock("page") as lease:
            assert lease is not None
            lease.check()


@requirement("common-201")
async def test_a_process_frozen_beyond_its_lease_sends_nothing_more(own: Server) -> None:
    clock = AheadClock()
    async with with_fallback(own, clock=clock) as shared, shared.lock("page") as lease:
        assert lease is not None
        lease.check()
        clock.ahead += LEASE_SECONDS
        with pytest.raises(UpstreamConflict, match="has expired"):
            lease.check()


@requirement("common-201")
async def test_without_the_store_only_a_single_process_can_lock_an_object(own: Server) -> None:
    own.stop()
    async with with_fallback(own) as alone, with_fallback(own, processes=2) as one_of_two:
        async with alone.lock("page") as lease:
            assert lease is None
        with pytest.raises(SharedStoreUnavailable, match="nothing was sent"):
            await one_of_two.lock("page").__aenter__()


async def test_the_largest_request_of_recently_used_budgets_is_tracked(own: Server) -> None:
    own.stop()
    async with with_fallback(own) as shared:
        await shared.block(
            [ResolvedCharge(f"account {number}", Budget(10, 1), 5) for number in range(MAX_TRACKED_BUDGETS + 5)], 0
        )

        assert MAX_TRACKED_BUDGETS == len(shared._max_units)
        assert "account 4" not in shared._max_units
