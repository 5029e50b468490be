"""What is held in memory of large answers of third parties, counted over all calls (decision 48)."""

import asyncio
from typing import Protocol, Self

from msgspec import Struct

from connector_gateway.kit.errors import Overloaded

LARGE_BYTES = 256 * 1024
"""Answers up to this size are bounded by the number of calls; what is larger is counted by itself."""

RETRY_AFTER_SECONDS = 2
"""A call that holds much ends soon, most of the time."""


class MemoryBudget:
    """Lets all calls together hold so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._free = most_bytes

    def reserve(self, size_bytes: int, *, refusable: bool = True) -> None:
        """Count so much more; ``Overloaded`` where that is too much, unless it cannot be refused."""
        if refusable and size_bytes > self._free:
            raise Overloaded(
                "Calls under way hold as much as this service has memory for.", retry_after=RETRY_AFTER_SECONDS
            )
        self._free -= size_bytes

    def release(self, size_bytes: int) -> None:
        """Count so much less."""
        self._free += size_bytes


class MemoryReservation(Struct):
    """What one call holds; it is given back where the context ends."""

    total: MemoryBudget
    _kept: int = 0
    _largest: int = 0
    _turn: asyncio.Lock | None = None

    @property
    def large_response(self) -> asyncio.Lock:
        """Held while a large answer arrives: a call reads one at a time, however many it has asked for."""
        # Few calls ever need it.
        self._turn = self._turn or asyncio.Lock()
        return self._turn

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.total.release(self._kept)
        self._kept = self._largest = 0

    def keep(self, size_bytes: int, *, refusable: bool = True) -> None:
        """Count what is kept until the call ends; ``Overloaded`` where all calls together keep too much."""
        self.total.reserve(size_bytes, refusable=refusable)
        self._kept += size_bytes

    def count_response(self, size_bytes: int, *, refusable: bool = True) -> None:
        """Count an answer that was read whole: a call works on one after the other, so only the largest counts."""
        self.keep(max(0, size_bytes - self._largest), refusable=refusable)
        self._largest = max(self._largest, size_bytes)


class ResponseMeter(Protocol):
    """Counts an answer while it arrives."""

    @property
    def large_response(self) -> asyncio.Lock:
        """Held while a large answer arrives."""

    def count_response(self, size_bytes: int) -> None:
        """Count an answer that was read so far."""


class WriteResponseMeter(Struct, frozen=True):
    """Counts the answer to a write for *holding*: it may be what is too much for others, but is not refused itself.

    What was to be done is done, so that a refusal would only leave a doubt.
    """

    holding: MemoryReservation

    @property
    def large_response(self) -> asyncio.Lock:
        """That of the call."""
        return self.holding.large_response

    def count_response(self, size_bytes: int) -> None:
        """Count an answer that was read so far."""
        self.holding.count_response(size_bytes, refusable=False)


def unmetered() -> MemoryReservation:
    """For what is not part of a call, and happens rarely or one at a time."""
    return MemoryReservation(MemoryBudget(2**62))
