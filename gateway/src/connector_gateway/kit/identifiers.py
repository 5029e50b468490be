"""Identifiers: one type per kind. Those that the gateway creates are time-sortable and unguessable."""

import os
import time
from array import array
from collections.abc import Iterator
from typing import NewType

RunId = NewType("RunId", str)
ConnectionId = NewType("ConnectionId", str)
WorkspaceId = NewType("WorkspaceId", str)
KeyId = NewType("KeyId", str)
ProcessId = NewType("ProcessId", str)

POOL_BYTES = 4096
"""Random bytes read in one system call, because reading ten costs as much as reading thousands."""

TAIL_LENGTH = 13
"""The number of random characters in each identifier, of five bits each."""

MAX_PER_MILLISECOND = 32 * 1024
"""The number of values of the three characters between the millisecond and the tail."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_FIVE_BITS = bytes(_ALPHABET[byte % 32].encode()[0] for byte in range(256))
"""The table that translates random bytes to characters, all 32 with equal probability."""


class UlidGenerator:
    """Generates identifiers from the millisecond, a number that grows within it, and random characters.

    They are assembled as text, because creating and formatting a number of 128 bits costs five times as much, which was
    a fiftieth of a call.
    """

    def __init__(self) -> None:
        self._pool = ""
        self._used = 0
        self._millisecond = 0
        self._first_pairs = (-1, "")
        """The millisecond without its last ten bits, and its characters."""

        self._head = ""
        self._number = 0
        self._starts: Iterator[int] = iter(())
        """Random numbers of 16 bits."""

    def next(self) -> str:
        """Return the next identifier, which sorts after all earlier ones."""
        millisecond = time.time_ns() // 1_000_000
        if millisecond > self._millisecond:
            self._begin(millisecond)
        self._number += 1
        if self._number == MAX_PER_MILLISECOND:
            self._begin(self._millisecond + 1)
        number, tail = self._number, self._random()
        return f"{self._head}{_ALPHABET[number >> 10]}{_PAIRS[number & 1023]}{tail}"

    def _begin(self, millisecond: int) -> None:
        self._millisecond = millisecond
        high = millisecond >> 10
        # At a thousand calls a second, each call has its own millisecond, and only the last pair changes.
        if high != self._first_pairs[0]:
            self._first_pairs = high, "".join([_PAIRS[(high >> shift) & 1023] for shift in range(30, -1, -10)])
        self._head = self._first_pairs[1] + _PAIRS[millisecond & 1023]
        # The upper half of the numbers is reserved for further identifiers of this millisecond.
        self._number = self._start() % (MAX_PER_MILLISECOND // 2)

    def _start(self) -> int:
        for start in self._starts:
            return start
        self._starts = iter(array("H", os.urandom(POOL_BYTES)))
        return next(self._starts)

    def _random(self) -> str:
        start = self._used
        if start + TAIL_LENGTH > len(self._pool):
            self._pool = os.urandom(POOL_BYTES).translate(_FIVE_BITS).decode()
            start = 0
        self._used = start + TAIL_LENGTH
        return self._pool[start : self._used]


_ulid_generator = UlidGenerator()


def ulid(number: int | None = None) -> str:
    """Return 26 characters of Crockford's base 32 that sort by time, or that encode *number*.

    Source: github.com/ulid/spec.
    """
    if number is None:
        return _ulid_generator.next()
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def new_run_id() -> RunId:
    """Return a new run identifier."""
    return RunId(f"run_{ulid()}")
