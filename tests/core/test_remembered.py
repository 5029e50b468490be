"""What is looked up once for many calls, and trusted for three seconds."""

import asyncio
from dataclasses import dataclass, field

import pytest

from connector_gateway.core import remembered
from connector_gateway.core.remembered import REMEMBER_SECONDS, Remembered
from harness.clocks import HandClock


@dataclass
class Library:
    """Answers when it is told to, and counts how often it is asked."""

    shelves: dict[str, str | None] = field(default_factory=lambda: {"name": "first"})
    asked: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def look_up(self, name: str) -> str | None:
        self.asked += 1
        self.arrived.set()
        found = self.shelves[name]
        await self.open.wait()
        return found

    async def arrival(self) -> None:
        await self.arrived.wait()
        self.arrived.clear()


@pytest.fixture
def library() -> Library:
    made = Library()
    made.open.set()
    return made


@pytest.fixture
def known(clock: HandClock) -> Remembered[str, str]:
    return Remembered(clock)


async def test_what_was_found_or_was_not_is_looked_up_once_in_three_seconds(
    known: Remembered[str, str], library: Library, clock: HandClock
) -> None:
    library.shelves["nothing"] = None
    for _ in range(3):
        assert ("first", None) == (
            await known.get("name", library.look_up),
            await known.get("nothing", library.look_up),
        )
    asked = library.asked
    library.shelves["name"] = "second"
    clock.at += REMEMBER_SECONDS + 0.1

    assert (2, "second") == (asked, await known.get("name", library.look_up))


async def test_those_who_ask_at_the_same_time_share_one_look_up(
    known: Remembered[str, str], library: Library, clock: HandClock
) -> None:
    await known.get("name", library.look_up)
    clock.at += REMEMBER_SECONDS + 0.1
    library.open.clear()
    waiting = [asyncio.create_task(known.get("name", library.look_up)) for _ in range(48)]
    await asyncio.sleep(0)
    library.open.set()

    assert ["first"] * 48 == await asyncio.gather(*waiting)
    assert 2 == library.asked


async def test_whoever_gives_up_waiting_leaves_the_others_their_answer(
    known: Remembered[str, str], library: Library
) -> None:
    library.open.clear()
    first, second = (asyncio.create_task(known.get("name", library.look_up)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    library.open.set()

    assert "first" == await second
    assert (True, 1) == (first.cancelled(), library.asked)


async def test_what_is_forgotten_during_a_look_up_is_looked_up_again(
    known: Remembered[str, str], library: Library
) -> None:
    library.open.clear()
    before = asyncio.create_task(known.get("name", library.look_up))
    await library.arrival()
    library.shelves["name"] = "second"
    known.forget("name")
    after = asyncio.create_task(known.get("name", library.look_up))
    await library.arrival()
    library.open.set()

    assert ("first", "second") == (await before, await after)
    assert "second" == await known.get("name", library.look_up)


async def test_a_look_up_that_hangs_is_not_waited_for_by_those_who_come_three_seconds_later(
    known: Remembered[str, str], library: Library, clock: HandClock
) -> None:
    library.open.clear()
    hanging = asyncio.create_task(known.get("name", library.look_up))
    await library.arrival()
    library.shelves["name"] = "second"
    clock.at += REMEMBER_SECONDS + 0.1
    later = asyncio.create_task(known.get("name", library.look_up))
    await library.arrival()
    library.open.set()

    assert ("first", "second") == (await hanging, await later)
    assert "second" == await known.get("name", library.look_up)


async def test_a_look_up_that_fails_is_not_remembered(known: Remembered[str, str], library: Library) -> None:
    with pytest.raises(KeyError):
        await known.get("new", library.look_up)
    library.shelves["new"] = "here now"

    assert "here now" == await known.get("new", library.look_up)


async def test_only_so_much_is_remembered(
    known: Remembered[str, str], library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MOST", 2)
    for name in ("name", "second", "third"):
        library.shelves.setdefault(name, name)
        await known.get(name, library.look_up)
    await known.get("third", library.look_up)
    asked = library.asked
    await known.get("name", library.look_up)

    assert (3, 4) == (asked, library.asked)
