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
_pool = BytesIO()
"""Random bytes asked for in one go, since asking the system for ten costs as much as asking for thousands."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]


def ulid(milliseconds: int | None = None) -> str:
    """26 characters of Crockford's base 32: 48 bits of time, then 80 random bits. Source: github.com/ulid/spec."""
    milliseconds = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    number = (milliseconds << 80) | int.from_bytes(_random(10), "big")
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


def _random(size: int) -> bytes:
    taken = _pool.read(size)
    if len(taken) < size:
        _pool.seek(0)
        _pool.write(os.urandom(POOL_BYTES))
        _pool.seek(0)
        taken = _pool.read(size)
    return taken


def run_id() -> RunId:
    """A new identifier of a call."""
    return RunId(f"run_{ulid()}")
