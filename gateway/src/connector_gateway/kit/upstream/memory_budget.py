"""The memory that large upstream responses occupy, counted over all calls."""

import asyncio
from typing import Protocol, Self

from msgspec import Struct

from connector_gateway.kit.errors import Overloaded

LARGE_BYTES = 256 * 1024
"""The size up to which responses are not counted, because the number of calls limits them."""

RETRY_AFTER_SECONDS = 2
"""Seconds. Most calls that reserve much memory finish soon."""


class MemoryBudget:
    """The memory that all calls may reserve together."""

    def __init__(self, max_bytes: int) -> None:
        self._free = max_bytes

    def reserve(self, size_bytes: int, *, rejectable: bool = True) -> None:
        """Reserve *size_bytes*. Raises ``Overloaded`` if a *rejectable* reservation exceeds the budget."""
        if rejectable and size_bytes > self._free:
            raise Overloaded(
                "The calls in progress use all the memory that this service reserves for them.",
                retry_after=RETRY_AFTER_SECONDS,
            )
        self._free -= size_bytes

    def release(self, size_bytes: int) -> None:
        """Release *size_bytes*."""
        self._free += size_bytes


class MemoryReservation(Struct):
    """The memory that one call reserves, released at the end of the context."""

    total: MemoryBudget
    _reserved: int = 0
    _largest: int = 0
    _lock: asyncio.Lock | None = None

    @property
    def large_response(self) -> asyncio.Lock:
        """A lock held while a large response arrives.

        A call reads one at a time, even if it sent several requests.
        """
        # Created on demand, because few calls need it.
        self._lock = self._lock or asyncio.Lock()
        return self._lock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.total.release(self._reserved)
        self._reserved = self._largest = 0

    def reserve(self, size_bytes: int, *, rejectable: bool = True) -> None:
        """Reserve memory until the call ends. Raises ``Overloaded`` if all calls together would exceed the budget."""
        self.total.reserve(size_bytes, rejectable=rejectable)
        self._reserved += size_bytes

    def count_response(self, size_bytes: int, *, rejectable: bool = True) -> None:
        """Count a response that is read completely. Only the largest counts, because a call processes one at a time."""
        self.reserve(max(0, size_bytes - self._largest), rejectable=rejectable)
        self._largest = max(self._largest, size_bytes)


class ResponseMeter(Protocol):
    """Counts the bytes of a response while it arrives."""

    @property
    def large_response(self) -> asyncio.Lock:
        """A lock held while a large response arrives."""

    def count_response(self, size_bytes: int) -> None:
        """Count a response of which *size_bytes* have been read."""


class WriteResponseMeter(Struct, frozen=True):
    """Counts the response to a write against *holding* without ever rejecting it.

    The write has been carried out, so an error would only leave it in doubt.
    """

    holding: MemoryReservation

    @property
    def large_response(self) -> asyncio.Lock:
        """The lock of the call."""
        return self.holding.large_response

    def count_response(self, size_bytes: int) -> None:
        """Count a response of which *size_bytes* have been read."""
        self.holding.count_response(size_bytes, rejectable=False)


def unmetered() -> MemoryReservation:
    """Return an unlimited reservation, for requests outside of calls, which are rare or sent one at a time."""
    return MemoryReservation(MemoryBudget(2**62))
