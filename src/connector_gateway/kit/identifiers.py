"""Identifiers: one type per kind, time-sortable and unguessable where we mint them."""

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
"""Random bytes asked for in one go, since asking the system for ten costs as much as asking for thousands."""

TAIL = 13
"""Random characters of each identifier, of five bits each."""

MOST = 32 * 1024
"""How many numbers are written in the three characters between the millisecond and the tail."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_FIVE_BITS = bytes(_ALPHABET[byte % 32].encode()[0] for byte in range(256))
"""What makes characters of random bytes, each of the 32 as likely as the others."""


class UlidGenerator:
    """Makes identifiers of the millisecond, a number that grows within it, and random characters.

    They are put together from text, since a number of 128 bits costs five times as much to make and to write, which was
    a fiftieth of a call (decision 45).
    """

    def __init__(self) -> None:
        self._pool = ""
        self._used = 0
        self._millisecond = 0
        self._first_pairs = (-1, "")
        """The millisecond without its last ten bits, and the characters that tell it."""

        self._head = ""
        self._number = 0
        self._starts: Iterator[int] = iter(())
        """Random numbers of 16 bits."""

    def next(self) -> str:
        """The next one, which sorts behind all before it."""
        millisecond = time.time_ns() // 1_000_000
        if millisecond > self._millisecond:
            self._begin(millisecond)
        self._number += 1
        if self._number == MOST:
            self._begin(self._millisecond + 1)
        number, tail = self._number, self._random()
        return f"{self._head}{_ALPHABET[number >> 10]}{_PAIRS[number & 1023]}{tail}"

    def _begin(self, millisecond: int) -> None:
        self._millisecond = millisecond
        high = millisecond >> 10
        # At a thousand calls a second each has a millisecond of its own: only the last pair is new (decision 73).
        if high != self._first_pairs[0]:
            self._first_pairs = high, "".join([_PAIRS[(high >> shift) & 1023] for shift in range(30, -1, -10)])
        self._head = self._first_pairs[1] + _PAIRS[millisecond & 1023]
        # Half of the numbers are left for those that are made in the same millisecond.
        self._number = self._start() % (MOST // 2)

    def _start(self) -> int:
        for start in self._starts:
            return start
        self._starts = iter(array("H", os.urandom(POOL_BYTES)))
        return next(self._starts)

    def _random(self) -> str:
        start = self._used
        if start + TAIL > len(self._pool):
            self._pool = os.urandom(POOL_BYTES).translate(_FIVE_BITS).decode()
            start = 0
        self._used = start + TAIL
        return self._pool[start : self._used]


_mint = UlidGenerator()


def ulid(number: int | None = None) -> str:
    """26 characters of Crockford's base 32 that sort by time, or *number* in them. Source: github.com/ulid/spec."""
    if number is None:
        return _mint.next()
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def run_id() -> RunId:
    """A new identifier of a call."""
    return RunId(f"run_{ulid()}")
