"""Identifiers: one type per kind, time-sortable and unguessable where we mint them."""

import os
import time
from io import BytesIO
from typing import NewType

RunId = NewType("RunId", str)
ConnectionId = NewType("ConnectionId", str)
WorkspaceId = NewType("WorkspaceId", str)
KeyId = NewType("KeyId", str)
ProcessId = NewType("ProcessId", str)

POOL_BYTES = 4096
"""Random bytes asked for in one go, since asking the system for ten costs as much as asking for thousands."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]


class _Mint:
    """Makes numbers of 48 bits of time and 80 random bits, each larger than the one before."""

    def __init__(self) -> None:
        self._pool = BytesIO()
        self._last = 0

    def next(self) -> int:
        """The next number; within one millisecond it grows by a random step."""
        number = (time.time_ns() // 1_000_000 << 80) | self._random(10)
        if number <= self._last:
            number = self._last + 1 + self._random(8)
        self._last = number
        return number

    def _random(self, size: int) -> int:
        taken = self._pool.read(size)
        if len(taken) < size:
            self._pool = BytesIO(os.urandom(POOL_BYTES))
            taken = self._pool.read(size)
        return int.from_bytes(taken, "big")


_mint = _Mint()


def ulid(number: int | None = None) -> str:
    """26 characters of Crockford's base 32, later ones sorting later. Source: github.com/ulid/spec.

    They stand for *number*, where given, of 128 bits.
    """
    number = _mint.next() if number is None else number
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def run_id() -> RunId:
    """A new identifier of a call."""
    return RunId(f"run_{ulid()}")
