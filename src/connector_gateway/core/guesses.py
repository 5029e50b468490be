"""Guesses at the operator token: a minute's worth is free, then each wrong one waits, and few may wait at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import InvalidApiKey, RateLimited

FREE = 60
"""Wrong tokens from one address that cost nothing; one comes back each second. Programs are started before their
settings are right, and several people may be behind one address."""

PAUSE_SECONDS = 1.0
MAX_WAITING = 10
"""Wrong tokens from one address that wait at once; further tokens are not looked at. So many can be tried a second."""

MAX_ADDRESSES = 10_000
"""Addresses that are remembered; the one that guessed longest ago makes room."""


@dataclass(slots=True)
class _Guessing:
    """What an address has left, as of an instant, and how many of its wrong tokens wait."""

    free: float
    at: float
    waiting: int = 0


class Guesses:
    """Slows down who guesses, by the address that it comes from. Durations are by *clock*, a steady one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._guessing: dict[str, _Guessing] = {}

    @asynccontextmanager
    async def slowed(self, address: str) -> AsyncIterator[None]:
        """Look at a token from *address* inside; where it is wrong, ``InvalidApiKey``, that takes its time."""
        known = self._guessing.get(address)
        if known is not None and known.waiting >= MAX_WAITING:
            raise RateLimited("Too many wrong tokens come from this address.", retry_after=PAUSE_SECONDS)
        try:
            yield
        except InvalidApiKey:
            await self._miss(address)
            raise

    async def _miss(self, address: str) -> None:
        """Count a wrong token, and wait where there were too many."""
        now, guessing = self._clock.now(), self._guessing.pop(address, None)
        guessing = guessing or _Guessing(FREE, now)
        guessing.free, guessing.at = min(FREE, guessing.free + now - guessing.at), now
        if len(self._guessing) >= MAX_ADDRESSES:
            del self._guessing[next(iter(self._guessing))]
        self._guessing[address] = guessing
        if guessing.free >= 1:
            guessing.free -= 1
            return
        guessing.waiting += 1
        try:
            await self._clock.sleep(PAUSE_SECONDS)
        finally:
            guessing.waiting -= 1
            guessing.at = self._clock.now()
