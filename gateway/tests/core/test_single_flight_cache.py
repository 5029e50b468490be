"""Look-ups that many calls share, with results that are cached for three seconds."""

import asyncio
from dataclasses import dataclass, field
from functools import partial

import pytest

from connector_gateway.core.single_flight_cache import CACHE_SECONDS, SingleFlight
from harness.clocks import ManualClock


@dataclass
class SlowVendor:
    """Responds when released, and counts its look-ups."""

    shelves: dict[str, str | None] = field(default_factory=lambda: {"name": "first"})
    look_ups: int = 0
    failing: bool = False
    """Whether waiting callers only get an error."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def look_up(self, name: str) -> str | None:
        self.look_ups += 1
        self.arrived.set()
        book = self.shelves[name]
        number = self.look_ups
        await self.open.wait()
        if self.failing and number < self.look_ups:
            raise KeyError(name)
        return book

    async def wait_for_look_up(self) -> None:
        await self.arrived.wait()
        self.arrived.clear()


@pytest.fixture
def vendor() -> SlowVendor:
    shared_library = SlowVendor()
    shared_library.open.set()
    return shared_library


@dataclass
class Reader:
    """Reads the library through a cache that counts time from the start of a look-up."""

    vendor: SlowVendor
    cache: SingleFlight[str, str | None]

    async def read(self, name: str) -> str | None:
        return await self.cache.get(name, partial(self.vendor.look_up, name), CACHE_SECONDS)


@pytest.fixture
def reader(vendor: SlowVendor, clock: ManualClock) -> Reader:
    return Reader(vendor, SingleFlight(clock, 2, from_start=True))


async def test_a_result_or_its_absence_is_looked_up_once_in_three_seconds(
    reader: Reader, vendor: SlowVendor, clock: ManualClock
) -> None:
    vendor.shelves["nothing"] = None
    for _ in range(3):
        assert ("first", None) == (
            await reader.read("name"),
            await reader.read("nothing"),
        )
    look_ups = vendor.look_ups
    vendor.shelves["name"] = "second"
    clock.at += CACHE_SECONDS + 0.1

    assert (2, "second") == (look_ups, await reader.read("name"))


async def test_concurrent_callers_share_one_look_up(reader: Reader, vendor: SlowVendor, clock: ManualClock) -> None:
    await reader.read("name")
    clock.at += CACHE_SECONDS + 0.1
    vendor.open.clear()
    waiting = [asyncio.create_task(reader.read("name")) for _ in range(48)]
    await asyncio.sleep(0)
    vendor.open.set()

    assert ["first"] * 48 == await asyncio.gather(*waiting)
    assert 2 == vendor.look_ups


async def test_a_cancelled_caller_does_not_affect_the_others(reader: Reader, vendor: SlowVendor) -> None:
    vendor.open.clear()
    first, second = (asyncio.create_task(reader.read("name")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    vendor.open.set()

    assert "first" == await second
    assert (True, 1) == (first.cancelled(), vendor.look_ups)


async def test_a_value_dropped_during_its_look_up_is_looked_up_again(reader: Reader, vendor: SlowVendor) -> None:
    vendor.open.clear()
    before = asyncio.create_task(reader.read("name"))
    await vendor.wait_for_look_up()
    vendor.shelves["name"] = "second"
    reader.cache.forget("name")
    after = asyncio.create_task(reader.read("name"))
    await vendor.wait_for_look_up()
    vendor.open.set()

    assert ("first", "second") == (await before, await after)
    assert "second" == await reader.read("name")


async def test_later_callers_skip_a_hanging_look_up(reader: Reader, vendor: SlowVendor, clock: ManualClock) -> None:
    vendor.open.clear()
    hanging = asyncio.create_task(reader.read("name"))
    await vendor.wait_for_look_up()
    vendor.shelves["name"] = "second"
    clock.at += CACHE_SECONDS + 0.1
    later = asyncio.create_task(reader.read("name"))
    await vendor.wait_for_look_up()
    vendor.open.set()

    assert ("first", "second") == (await hanging, await later)
    assert "second" == await reader.read("name")


async def test_a_failed_look_up_is_not_cached(reader: Reader, vendor: SlowVendor) -> None:
    with pytest.raises(KeyError):
        await reader.read("new")
    vendor.shelves["new"] = "here now"

    assert "here now" == await reader.read("new")


async def test_a_late_failure_does_not_affect_the_newer_look_up(reader: Reader, vendor: SlowVendor) -> None:
    vendor.open.clear()
    before = asyncio.create_task(reader.read("name"))
    await vendor.wait_for_look_up()
    vendor.failing = True
    reader.cache.forget("name")
    after = asyncio.create_task(reader.read("name"))
    await vendor.wait_for_look_up()
    vendor.open.set()
    with pytest.raises(KeyError):
        await before

    assert ["first", "first"] == [await after, await reader.read("name")]
    assert 2 == vendor.look_ups


async def test_the_cache_size_is_limited(reader: Reader, vendor: SlowVendor) -> None:
    for name in ("name", "second", "third"):
        vendor.shelves.setdefault(name, name)
        await reader.read(name)
    await reader.read("third")
    look_ups = vendor.look_ups
    await reader.read("name")

    assert (3, 4) == (look_ups, vendor.look_ups)
