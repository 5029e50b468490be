"""What an emulator is given to play with: time, chance, knobs, and the journal and faults that testers steer it by."""

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.clock import Clock
from workspace_sandbox.kit.faults import Fault

JOURNAL_LENGTH = 100_000
"""Exchanges kept per emulator; the oldest fall out first."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request that reached an emulator, and the status it was answered with (none if cut)."""

    at: float
    method: str
    path: str
    status: int | None


class Stage:
    """Where an emulator plays: clock, randomness, knobs, journal, faults and its own addresses."""

    def __init__(self, clock: Clock, **knobs: Any) -> None:
        self.clock = clock
        self.random = Random(0)
        self.default_knobs = {"limits": True, **knobs}
        self.knobs = dict(self.default_knobs)
        self.addresses: dict[str, str] = {}
        self.journal: deque[Exchange] = deque(maxlen=JOURNAL_LENGTH)
        self.faults: list[Fault] = []

    def reset(self) -> None:
        """Forget journal and faults, put the knobs back, and start the same random sequence again."""
        self.random = Random(0)
        self.knobs = dict(self.default_knobs)
        self.journal.clear()
        self.faults.clear()

    def next_fault(self, request: web.Request) -> Fault | None:
        """The first fault meant for *request*, spent once by asking."""
        for fault in self.faults:
            if fault.matches(request):
                fault.times -= 1
                return fault
        return None
