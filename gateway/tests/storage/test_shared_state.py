"""Shared counters, windows and reservations, the same in memory and in Valkey."""

from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.budget_queue import SILENT_SECONDS
from connector_gateway.storage.shared.interface import CallPosition, ResolvedCharge, SharedCounters, StoredReservation
from connector_gateway.storage.shared.local_counters import LocalCounters
from harness.clocks import ManualClock
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

MINUTE = Budget(3, 60)


@pytest.fixture(params=["memory", "valkey"])
def clock(request: pytest.FixtureRequest) -> ManualClock:
    if request.param == "memory":
        return ManualClock()
    return StoreClock(request.getfixturevalue("valkey_of_tests"))


@pytest.fixture
async def shared(clock: ManualClock, request: pytest.FixtureRequest) -> AsyncIterator[SharedCounters]:
    if not isinstance(clock, StoreClock):
        yield LocalCounters(clock)
        return
    async with store_of(request.getfixturevalue("valkey_of_tests"), clock) as store:
        yield store


def charge(name: str = "key:1", units: float = 1) -> ResolvedCharge:
    return ResolvedCharge(name, MINUTE, units)


async def test_consuming_reduces_the_allowance_then_returns_a_wait(shared: SharedCounters, clock: ManualClock) -> None:
    left = [(await shared.consume(charge())).remaining for _ in range(3)]
    clock.at += 20
    rejected = await shared.consume(charge())

    assert [2, 1, 0] == left
    assert (3, 0, 40.0) == (rejected.limit, rejected.remaining, rejected.retry_after)


@requirement("common-72")
async def test_rejected_requests_do_not_count(shared: SharedCounters, clock: ManualClock) -> None:
    for _ in range(10):
        await shared.consume(charge())
    clock.at += 60

    assert 2 == (await shared.consume(charge())).remaining


async def test_peeking_consumes_nothing(shared: SharedCounters, clock: ManualClock) -> None:
    looked = [(await shared.peek(charge())).remaining for _ in range(5)]

    assert [3] * 5 == looked
    assert 0 == (await shared.peek(charge())).retry_after


async def test_names_are_counted_separately(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.consume(charge("key:1", 3))

    assert 2 == (await shared.consume(charge("key:2"))).remaining


async def test_a_reservation_applies_to_all_budgets_together(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.consume(charge("upstream:notes:a", 3))
    clock.at += 10
    reservation = await shared.reserve([charge("upstream:notes:a"), charge("upstream:notes:b")], 100)

    before = [(await shared.peek(charge(f"upstream:notes:{name}"))).remaining for name in "ab"]
    reservation_wait = reservation.wait
    clock.at += reservation_wait
    confirmed = await reservation.confirm()

    assert (50, 0) == (reservation_wait, confirmed)
    assert [0, 3] == before
    assert [2, 2] == [(await shared.peek(charge(f"upstream:notes:{name}"))).remaining for name in "ab"]


async def test_a_reservation_after_the_deadline_consumes_nothing(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.consume(charge("upstream:notes:a", 3))
    reservation = await shared.reserve([charge("upstream:notes:a"), charge("upstream:notes:b")], 59)

    assert (60, False) == (reservation.wait, reservation.granted)
    assert 3 == (await shared.peek(charge("upstream:notes:b"))).remaining


async def test_a_released_reservation_is_available_to_others(shared: SharedCounters, clock: ManualClock) -> None:
    reservation = await shared.reserve([charge("upstream:notes:a", 3)], 0)
    reservation.release()

    assert 0 == (await shared.reserve([charge("upstream:notes:a", 3)], 0)).wait


async def test_a_reservation_is_confirmed_at_its_time(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.consume(charge("upstream:notes:a", 3))
    reservation = await shared.reserve([charge("upstream:notes:a")], 100)
    clock.at += reservation.wait

    assert 0 == await reservation.confirm()


async def test_a_blocked_budget_grants_nothing_until_the_block_ends(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.block([charge("upstream:notes:a")], 30)
    await shared.block([charge("upstream:notes:a")], 10)

    assert 30 == (await shared.reserve([charge("upstream:notes:a")], 100)).wait
    assert 0 == (await shared.reserve([charge("upstream:notes:b")], 100)).wait


async def test_an_idle_reservation_leaves_headroom_for_a_request(shared: SharedCounters, clock: ManualClock) -> None:
    reservations = [await shared.try_reserve_idle([charge("upstream:notes:a")]) for _ in range(3)]

    assert [True, True, False] == [reservation.granted for reservation in reservations]
    assert 60 == reservations[2].wait
    assert 1 == (await shared.peek(charge("upstream:notes:a"))).remaining


async def test_an_idle_reservation_leaves_a_fifth_of_large_budgets(shared: SharedCounters, clock: ManualClock) -> None:
    one = ResolvedCharge("upstream:notes:a", Budget(20, 60), 1)
    reservations = [await shared.try_reserve_idle([one]) for _ in range(17)]

    assert [True] * 16 + [False] == [reservation.granted for reservation in reservations]
    assert [0] * 4 == [(await shared.reserve([one], 0)).wait for _ in range(4)]


async def test_a_small_request_of_a_later_call_does_not_precede_a_large_one(
    shared: SharedCounters, clock: ManualClock
) -> None:
    await shared.consume(charge("upstream:notes:a", 2))
    large = await shared.reserve([charge("upstream:notes:a", 3)], 100)
    small = await shared.reserve([charge("upstream:notes:a", 1)], 100)
    clock.at += 60
    early, gone, later = [await reservation.confirm() for reservation in (small, large, small)]

    assert early > 0
    assert (0, 60) == (gone, later)


async def test_the_next_request_of_a_call_precedes_those_of_later_calls(
    shared: SharedCounters, clock: ManualClock
) -> None:
    running, name = CallPosition(clock.at - 5), "upstream:notes:a"
    await shared.reserve([charge(name, 3)], 0, running)
    later = [await shared.reserve([charge(name)], 1000, CallPosition(clock.at - ago)) for ago in (1, 2)]
    next_request = await shared.reserve([charge(name, 3)], 1000, running)
    clock.at += 60
    early = [await reservation.confirm() for reservation in later]
    gone = await next_request.confirm()
    clock.at += 60

    assert [60, 60] == early
    assert 0 == gone
    assert [0, 0] == [await reservation.confirm() for reservation in reversed(later)]


async def test_the_wait_includes_further_requests_of_earlier_calls(shared: SharedCounters, clock: ManualClock) -> None:
    name = "upstream:notes:a"
    costly = ResolvedCharge(name, MINUTE, 1, expected_units=3)
    in_progress = [await shared.reserve([costly], 0) for _ in range(3)]
    queued = await shared.reserve([costly], 1000)
    rejected = await shared.reserve([charge(name)], 200)
    clock.at += 0.8
    after_the_calls = await shared.reserve([charge(name)], 0)

    assert [0, 0, 0] == [reservation.wait for reservation in in_progress]
    # Nine units of the calls in progress, then the four of the queued call.
    assert (240, 300) == (queued.wait, rejected.wait)
    # Nothing more was heard of the calls in progress.
    assert 119.2 == round(after_the_calls.wait, 3)


async def test_requests_of_one_call_that_wait_together_are_expected_once(
    shared: SharedCounters, clock: ManualClock
) -> None:
    name, call = "upstream:notes:a", CallPosition(clock.at)
    await shared.consume(charge(name, 3))
    for further in (2, 1, 0):
        await shared.reserve([ResolvedCharge(name, MINUTE, 1, expected_units=further)], 1000, call)

    assert 120 == (await shared.reserve([charge(name)], 0)).wait


async def test_all_requests_of_a_new_call_must_leave_accepted_ones_that_arrived_later_in_time(
    shared: SharedCounters, clock: ManualClock
) -> None:
    name, further = "upstream:notes:a", ResolvedCharge("upstream:notes:a", MINUTE, 1, expected_units=3)
    await shared.consume(charge(name, 3))
    earlier, later = CallPosition(clock.at - 1), CallPosition(clock.at + 1)
    accepted = await shared.reserve([charge(name)], 100)
    first = await shared.reserve([further], 100, earlier)
    last = await shared.reserve([further], 100, later)

    # The five requests would take two minutes, the last three of them behind all others.
    assert (True, False, True) == (accepted.granted, first.granted, last.granted)
    assert 120 == first.wait


@requirement("common-236")
async def test_a_call_that_waits_for_another_one_holds_its_place(shared: SharedCounters, clock: ManualClock) -> None:
    name, call, rejected = "upstream:notes:a", CallPosition(clock.at), CallPosition(clock.at)
    expected = ResolvedCharge(name, MINUTE, 1, expected_units=3)
    await shared.consume(charge(name, 3))

    too_late = await shared.hold_place([expected], 59, rejected)
    in_time = await shared.hold_place([expected], 60, call)
    behind = [await shared.reserve([charge(name)], 1000)]
    clock.at += 0.5
    shared.leave_place([expected], call)
    behind.append(await shared.reserve([charge(name)], 1000))
    resumed = await shared.reserve([charge(name, 3)], 60, call)
    clock.at += 59.5

    assert (60, 0) == (too_late, in_time)
    assert [120, 119.5] == [reservation.wait for reservation in behind]
    assert [60, 60, 0] == [await reservation.confirm() for reservation in (*behind, resumed)]


async def test_a_call_that_left_its_place_is_expected_for_a_moment(shared: SharedCounters, clock: ManualClock) -> None:
    name, places = "upstream:notes:a", [CallPosition(clock.at) for _ in range(2)]
    expected, nothing = [ResolvedCharge(name, MINUTE, 1, expected_units=units) for units in (3, 0)]
    await shared.consume(charge(name, 3))
    for place in places:
        await shared.hold_place([expected], 1000, place)
    shared.leave_place([nothing], places[0])
    shared.leave_place([expected], places[1])
    waits = [(await shared.reserve([charge(name)], 0)).wait]
    clock.at += SILENT_SECONDS + 0.1
    waits.append((await shared.reserve([charge(name)], 0)).wait)

    assert [120, 59.2] == [round(wait, 3) for wait in waits]


async def test_a_released_request_gives_its_place_to_the_next(shared: SharedCounters, clock: ManualClock) -> None:
    name = "upstream:notes:a"
    await shared.consume(charge(name, 3))
    first, second = [await shared.reserve([charge(name, 3)], 1000) for _ in range(2)]
    clock.at += 60
    before = await second.confirm()
    first.release()

    assert (60, 0) == (before, await second.confirm())


async def test_a_sent_request_counts_even_if_it_does_not_fit(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.consume(charge("upstream:notes:a", 2))
    await shared.count_sent([charge("upstream:notes:a", 2)])

    assert 60 == (await shared.reserve([charge("upstream:notes:a", 2)], 0)).wait


async def test_a_late_request_delays_later_ones(shared: SharedCounters, clock: ManualClock) -> None:
    await shared.reserve([charge("upstream:notes:a", 3)], 0)
    first = await shared.reserve([charge("upstream:notes:a", 3)], 100)
    second = await shared.reserve([charge("upstream:notes:a", 3)], 200)
    clock.at += 70
    gone = await first.confirm()
    clock.at += 50

    assert 0 == gone
    assert 10 == round(await second.confirm(), 3)


async def test_a_request_counts_from_its_latest_possible_arrival(shared: SharedCounters, clock: ManualClock) -> None:
    reservation = await shared.reserve([charge("upstream:notes:a", 3)], 0)
    clock.at += 20
    reservation.record_end(responded=True)
    clock.at += 1

    assert 59 == round((await shared.reserve([charge("upstream:notes:a")], 100)).wait, 3)


async def test_a_late_request_counts_from_sending_before_its_response(
    shared: SharedCounters, clock: ManualClock
) -> None:
    reservations = [await shared.reserve([charge("upstream:notes:a")], 0) for _ in range(3)]
    for reservation in reservations[:2]:
        reservation.begin_sending()
    clock.at += 25
    reservations[2].begin_sending()
    # Commands reach the store in order, so it knows by now.
    await shared.peek(charge("upstream:notes:a"))
    clock.at += 35
    following = [await shared.reserve([charge("upstream:notes:a")], 100) for _ in range(3)]

    assert [0, 0, 25] == [round(reservation.wait, 3) for reservation in following]


async def test_an_unused_reservation_is_renewed_behind_sent_ones(shared: SharedCounters, clock: ManualClock) -> None:
    reservation = await shared.reserve([charge("upstream:notes:a")], 0)
    at_once = reservation.begin_sending()
    clock.at += 61
    await shared.reserve([charge("upstream:notes:a", 3)], 0)

    assert (True, False) == (at_once, reservation.begin_sending())
    assert 60 == round(await reservation.confirm(), 3)


async def test_a_renewed_reservation_counts_once_from_its_new_time(shared: SharedCounters, clock: ManualClock) -> None:
    reservation = await shared.reserve([charge("upstream:notes:a", 2)], 0)
    clock.at += 40
    gone = await reservation.confirm()
    clock.at += 30

    assert (0, True) == (gone, reservation.begin_sending())
    assert 1 == (await shared.peek(charge("upstream:notes:a"))).remaining


async def test_a_request_without_units_never_waits(shared: SharedCounters, clock: ManualClock) -> None:
    reservation = await shared.reserve([], -1)
    reservation.record_end(responded=True)
    reservation.release()

    assert (0, True) == (reservation.wait, reservation.granted)


async def test_an_idle_budget_is_charged_together_with_a_new_one(shared: SharedCounters, clock: ManualClock) -> None:
    (await shared.reserve([charge("upstream:notes:a")], 0)).release()
    await shared.peek(charge("key:1"))
    await shared.reserve([charge("upstream:notes:a"), charge("upstream:notes:b")], 0)

    assert 2 == (await shared.peek(charge("upstream:notes:a"))).remaining


STEPS = ("reserve", "reserve", "both", "spend", "spare", "confirm", "release", "time", "time", "close")


class Replay:
    """The steps performed on a store, and its results."""

    def __init__(self, shared: SharedCounters, clock: ManualClock) -> None:
        self._shared = shared
        self._clock = clock
        self._reservations: list[StoredReservation] = []
        self._calls: list[CallPosition] = []
        self.results: list[tuple[str, float]] = []

    async def run(self, steps: Iterable[tuple[str, int]]) -> None:
        for kind, number in steps:
            await self.step(kind, number)

    async def step(self, kind: str, number: int) -> None:
        units = float(number % 3 + 1)
        a = ResolvedCharge("upstream:notes:a", MINUTE, units, expected_units=number // 4)
        b = ResolvedCharge("upstream:notes:b", Budget(5, 10), units, expected_units=number // 6)
        if kind == "spend":
            allowance = await self._shared.consume(charge("key:1", units))
            self._record(f"{kind} {allowance.remaining}", allowance.retry_after)
        elif kind == "spare":
            self._record_reservation(await self._shared.try_reserve_idle([b]))
        elif kind in {"reserve", "both"}:
            position = (
                CallPosition(self._clock.at - 2.5 * (number % 4)) if number % 2 or not self._calls else self._calls[-1]
            )
            self._calls.append(position)
            charges = [a, b] if kind == "both" else [a]
            self._record_reservation(await self._shared.reserve(charges, number * 20.0, position))
        elif kind == "time":
            self._clock.at += number * 2
        elif kind == "close":
            await self._shared.block([b], number)
        elif self._reservations:
            await self._use(self._reservations[number % len(self._reservations)], kind)

    async def _use(self, reservation: StoredReservation, kind: str) -> None:
        self._reservations.remove(reservation)
        if kind == "release":
            reservation.release()
        elif reservation.wait > 0:
            self._record(kind, await reservation.confirm())

    def _record_reservation(self, reservation: StoredReservation) -> None:
        self._record(str(reservation.granted), reservation.wait)
        if reservation.granted:
            self._reservations.append(reservation)

    def _record(self, what: str, seconds: float) -> None:
        self.results.append((what, round(seconds, 3)))


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 12)), min_size=5, max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_both_stores_return_the_same_results(valkey_of_tests: Server, steps: list[tuple[str, int]]) -> None:
    by_hand, of_store = ManualClock(), StoreClock(valkey_of_tests)
    async with store_of(valkey_of_tests, of_store) as store:
        in_memory, in_store = Replay(LocalCounters(by_hand), by_hand), Replay(store, of_store)
        await in_memory.run(steps)
        await in_store.run(steps)

    assert in_memory.results == in_store.results
