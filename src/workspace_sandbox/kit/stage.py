"""What an emulator is given to play with: time, chance, knobs, and the journal and faults that testers steer it by."""

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from aiohttp import web

from workspace_sandbox.kit.chance import ReproducibleRandom
from workspace_sandbox.kit.clock import Clock, ControllableClock
from workspace_sandbox.kit.faults import Fault, FaultKind, tokens_of
from workspace_sandbox.kit.journal import RequestLog

JOURNAL_LENGTH = 100_000
"""Exchanges kept per emulator; the oldest fall out first."""

_delay: ContextVar[Fault | None] = ContextVar("delay", default=None)
"""What the request that is served now waits for."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request that reached an emulator, and the status it was answered with (none if cut)."""

    at: float
    method: str
    path: str
    status: int | None


class EmulatorContext:
    """Where an emulator plays: clock, randomness, knobs, journal, faults and its own addresses."""

    def __init__(self, clock: Clock, **knobs: Any) -> None:
        self.clock = clock
        self.random = ReproducibleRandom(0)
        self.salt = ""
        """What sets this sandbox apart from others; without it, the same steps make the same identifiers."""

        self._beginnings = 0
        self._request_ids = Random("requests")
        self.default_knobs = {"limits": True, **knobs}
        self.knobs = dict(self.default_knobs)
        self.addresses: dict[str, str] = {}
        self.journal: RequestLog[RecordedRequest] = RequestLog(JOURNAL_LENGTH)
        self.faults: list[Fault] = []
        self.change_count = 0
        """How often something was asked of the emulator, or done to it, by a client or a tester."""

        self.under_way = 0
        """Requests that are being served, also those whose callers have gone."""

        self._delays: set[asyncio.Future[None]] = set()

    def now(self) -> float:
        """Return the time, in seconds since the Unix epoch."""
        return self.clock.now()

    def reset(self) -> None:
        """Forget journal and faults, put the knobs back, and draw as at the first start."""
        self.random = ReproducibleRandom(0)
        self._request_ids = Random("requests")
        self.knobs = dict(self.default_knobs)
        self.journal.clear()
        self.forget_faults()

    def reseed_ids(self) -> None:
        """Give what is made from now on identifiers that nothing had before; what was planted keeps its own."""
        self._beginnings += 1
        self.random.begin_anew(f"{self.salt} {self._beginnings}")

    def request_id(self) -> str:
        """The identifier of a request, drawn apart: what is made does not depend on how much was asked before."""
        return str(UUID(int=self._request_ids.getrandbits(128), version=4))

    def forget_faults(self) -> None:
        """Let everything go right again; requests that a fault holds up go on at once."""
        self.faults.clear()
        for delay in list(self._delays):
            # Tests steer from another thread than the one that serves.
            delay.get_loop().call_soon_threadsafe(delay.cancel)

    async def work(self, seconds: float) -> None:
        """Be at work for so long; where time stands still, by the machine's."""
        stands_still = isinstance(self.clock, ControllableClock) and self.clock.frozen
        await (asyncio.sleep(seconds) if stands_still else self.clock.sleep(seconds))

    async def wait_for_fault(self, fault: Fault, seconds: float) -> None:
        """Let a request wait for *fault*, at most until faults are forgotten."""
        # The fault may have been forgotten between the match and here.
        if not any(known is fault for known in self.faults):
            return
        delay = asyncio.ensure_future(self.clock.sleep(seconds))
        self._delays.add(delay)
        try:
            await asyncio.wait([delay])
        finally:
            self._delays.discard(delay)
            delay.cancel()

    def delay(self, fault: Fault) -> None:
        """Let the request that is served now wait for *fault* once it is ``admitted``."""
        _delay.set(fault)

    async def admitted(self) -> None:
        """Wait if a fault says so: the request has arrived and is counted, and the work for it begins afterwards."""
        fault = _delay.get()
        if fault is not None:
            _delay.set(None)
            await self.wait_for_fault(fault, fault.seconds)

    async def next_fault(self, request: web.Request) -> Fault | None:
        """The first fault that meets *request*, spent once by asking."""
        if not self.faults:
            return None
        tokens = await tokens_of(request) if any(fault.token for fault in self.faults) else ()
        return self.fault_for(request.method, request.path, tokens)

    def fault_for(
        self, method: str, path: str, tokens: Iterable[str] = (), *, kind: FaultKind | None = None
    ) -> Fault | None:
        """The first fault, of any or of one *kind*, that meets such a request, spent once by asking."""
        met = (
            fault
            for fault in self.faults
            if kind in {None, fault.fault} and fault.matches(method, path, tokens) and fault.consume()
        )
        return next(met, None)
