"""The sandbox's clock, and the limits and times that depend on it."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from harness.clocks import NOON, LoopClock, ManualClock, run_in_virtual_time
from sandbox.tests.notes.notes_client import me
from workspace_sandbox import APPLICATIONS, Sandbox
from workspace_sandbox.kit.clock import ControllableClock, has_passed

REQUESTS = {
    "notes": "/v1/users/me",
    "boards": "/1/members/me",
    "mail": "/gmail/v1/users/me/profile",
    "chat": "/api/conversations.list",
    "crm": "/crm/v3/owners",
    "tables": "/v0/{base_id}/{table}",
}
"""A request to each application that its budgets do not allow very often."""


def statuses(sandbox: Sandbox, name: str) -> Iterator[int]:
    """Yield the status of one request to an application after another."""
    emulator = sandbox.emulators[name]
    credentials = emulator.credentials()
    path = REQUESTS[name].format(**emulator.examples())
    query = {"key": credentials["key"], "token": credentials["token"]} if "key" in credentials else {}
    bearer = {"Authorization": f"Bearer {credentials['token']}", "Notion-Version": "2026-03-11"}
    headers = {} if query else bearer
    with httpx.Client(base_url=emulator.context.addresses["base"], params=query, headers=headers) as client:
        while True:
            yield client.get(path).status_code


def test_a_frozen_clock_can_be_advanced(control: httpx.Client) -> None:
    control.post("/clock", json={"now": "2027-01-01T00:00:00Z", "frozen": True})

    clock = control.post("/clock", json={"advance_seconds": 90.5}).json()

    assert {"now": 1_798_761_690.5, "at": "2027-01-01T00:01:30.500Z", "frozen": True, "steered": True} == clock
    assert clock == control.get("/clock").json()


def test_a_clock_continues_from_the_set_time(control: httpx.Client) -> None:
    control.post("/clock", json={"now": 1_900_000_000, "frozen": True})

    clock = control.post("/clock", json={"frozen": False}).json()

    assert 1_900_000_000 <= clock["now"] < 1_900_000_060
    assert not clock["frozen"]


@pytest.mark.parametrize("way", [("/clock", {"machine": True}), ("/reset", {})], ids=str)
def test_a_clock_returns_to_machine_time(control: httpx.Client, way: tuple[str, dict[str, bool]]) -> None:
    control.post("/clock", json={"advance_seconds": 86_400, "frozen": True})

    control.post(way[0], json=way[1])

    assert not control.get("/clock").json()["steered"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"advance": 5}, "Unknown field 'advance'; did you mean advance_seconds?"),
        ({"now": "noon"}, "now must be seconds since 1970, or a timestamp"),
        ({"now": "2027-01-01T00:00:00"}, "now must name its time zone"),
        ({"now": 1e12}, "now must be before the year 9999."),
        ({"advance_seconds": -1}, "advance_seconds must be a non-negative number."),
        ({"frozen": "yes"}, "frozen must be true or false."),
    ],
    ids=str,
)
def test_invalid_clock_settings_are_rejected(control: httpx.Client, settings: dict[str, object], expected: str) -> None:
    reply = control.post("/clock", json=settings)

    assert 400 == reply.status_code
    assert reply.json()["error"].startswith(expected)


def test_budgets_refill_by_the_clock(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/clock", json={"frozen": True})
    spent = [me(sandbox).status_code for _ in range(11)]

    control.post("/clock", json={"advance_seconds": 1})

    assert [*[200] * 10, 429] == spent
    assert 200 == me(sandbox).status_code


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_clock_set_back_releases_later_charges(sandbox: Sandbox, control: httpx.Client, name: str) -> None:
    control.post("/mail/knobs", json={"units_per_minute": 20, "throttle": "retry_after_429"})
    control.post("/crm/knobs", json={"burst_limit": 20})
    control.post("/clock", json={"advance_seconds": 3600, "frozen": True})
    answered = statuses(sandbox, name)
    throttled = next(status for status in answered if status != 200)

    control.post("/clock", json={"machine": True})

    assert (429, 200) == (throttled, next(answered))


def test_the_date_header_matches_the_emulator_clock(sandbox: Sandbox, control: httpx.Client) -> None:
    control.post("/clock", json={"now": "2027-01-01T00:00:00Z", "frozen": True})

    assert "Fri, 01 Jan 2027 00:00:00 GMT" == me(sandbox).headers["Date"]


def test_a_period_ends_at_its_end_or_before_its_start() -> None:
    assert [True, False, False, True] == [has_passed(30, 100.0, now) for now in (98.9, 99.1, 129.0, 130.0)]


def test_a_clock_set_back_lengthens_no_wait() -> None:
    async def story() -> float:
        clock = ControllableClock(LoopClock())
        clock.set(NOON + 3600)
        waiting = asyncio.create_task(clock.sleep(30))
        await asyncio.sleep(10)
        clock.release()
        await waiting
        return clock.now()

    assert NOON + 30 == run_in_virtual_time(story())


def test_waiters_wake_when_the_clock_is_advanced() -> None:
    async def story() -> float:
        clock = ControllableClock(LoopClock())
        clock.freeze()
        waiting = asyncio.create_task(clock.sleep(600))
        await asyncio.sleep(1000)
        assert not waiting.done()
        clock.set(clock.now() + 600)
        await waiting
        return clock.now()

    assert NOON + 600 == run_in_virtual_time(story())


def test_waiting_follows_the_underlying_clock() -> None:
    async def story() -> float:
        clock = ControllableClock(ManualClock())
        clock.set(NOON + 60)
        await clock.sleep(30)
        await clock.sleep(-1)
        return clock.now()

    assert NOON + 90 == run_in_virtual_time(story())
