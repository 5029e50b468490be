"""The context of an emulator: clock, randomness, knobs, request log and faults."""

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from aiohttp import web

from workspace_sandbox.kit.clock import Clock, ControllableClock
from workspace_sandbox.kit.faults import Fault, FaultKind, read_tokens
from workspace_sandbox.kit.request_log import RequestLog
from workspace_sandbox.kit.state.random_ids import ReproducibleRandom

MAX_LOG_ENTRIES = 100_000
"""Maximum number of recorded requests per emulator. The oldest are dropped first."""

_delay: ContextVar[Fault | None] = ContextVar("delay", default=None)
"""The fault that delays the current request."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request to an emulator, and the status of its response. It is None if the connection was aborted."""

    at: float
    method: str
    path: str
    status: int | None


class EmulatorContext:
    """The context of an emulator: clock, randomness, knobs, request log, faults and URLs."""

    def __init__(self, clock: Clock, **knobs: Any) -> None:
        self.clock = clock
        self.random = ReproducibleRandom(0)
        self.salt = ""
        """A salt that makes identifiers unique to this sandbox.

        Without it, the same steps create the same identifiers.
        """

        self._reset_count = 0
        self._request_ids = Random("requests")
        self.default_knobs = {"limits": True, "lie": "", **knobs}
        self.knobs = dict(self.default_knobs)
        self.addresses: dict[str, str] = {}
        self.request_log: RequestLog[RecordedRequest] = RequestLog(MAX_LOG_ENTRIES)
        self.faults: list[Fault] = []
        self.change_count = 0
        """Number of requests and control operations that may have changed the emulator."""

        self.requests_in_progress = 0
        """Number of requests in progress, including those of disconnected clients."""

        self._delays: set[asyncio.Future[None]] = set()

    def now(self) -> float:
        """Return the time in seconds since the Unix epoch."""
        return self.clock.now()

    def reset(self) -> None:
        """Clear the request log and faults, and reset the knobs and the random generator."""
        self.random = ReproducibleRandom(0)
        self._request_ids = Random("requests")
        self.knobs = dict(self.default_knobs)
        self.request_log.clear()
        self.clear_faults()

    def reseed_ids(self) -> None:
        """Make identifiers of new objects differ from all previous ones. Existing objects keep theirs."""
        self._reset_count += 1
        self.random.reseed(f"{self.salt} {self._reset_count}")

    def request_id(self) -> str:
        """Return an identifier of a request, or of something that a read creates, such as a cursor.

        It has its own generator, so that reads do not change the identifiers of the objects that later writes create.
        """
        return str(UUID(int=self._request_ids.getrandbits(128), version=4))

    def clear_faults(self) -> None:
        """Remove all faults, and continue the requests that they delay."""
        self.faults.clear()
        for delay in list(self._delays):
            # Tests control faults from another thread than the one that serves.
            delay.get_loop().call_soon_threadsafe(delay.cancel)

    async def simulate_work(self, seconds: float) -> None:
        """Simulate work for *seconds*. If the sandbox's clock is stopped, the machine's clock is used."""
        stands_still = isinstance(self.clock, ControllableClock) and self.clock.frozen
        await (asyncio.sleep(seconds) if stands_still else self.clock.sleep(seconds))

    async def wait_for_fault(self, fault: Fault, seconds: float) -> None:
        """Wait for *fault* for *seconds*, or until the faults are removed."""
        # The fault may have been removed since it matched.
        if not any(current is fault for current in self.faults):
            return
        delay = asyncio.ensure_future(self.clock.sleep(seconds))
        self._delays.add(delay)
        try:
            await asyncio.wait([delay])
        finally:
            self._delays.discard(delay)
            delay.cancel()

    def delay_request(self, fault: Fault) -> None:
        """Delay the current request by *fault* until ``wait_if_delayed``."""
        _delay.set(fault)

    async def wait_if_delayed(self) -> None:
        """Wait if a fault delays the request, which was received and counted but not processed yet."""
        fault = _delay.get()
        if fault is not None:
            _delay.set(None)
            await self.wait_for_fault(fault, fault.seconds)

    async def next_fault(self, request: web.Request) -> Fault | None:
        """Return the first fault that occurs on *request*, and consume one occurrence."""
        if not self.faults:
            return None
        tokens = await read_tokens(request) if any(fault.token for fault in self.faults) else ()
        return self.fault_for(request.method, request.path, tokens)

    def fault_for(
        self, method: str, path: str, tokens: Iterable[str] = (), *, kind: FaultKind | None = None
    ) -> Fault | None:
        """Return the first fault, of one *kind* if given, that occurs on such a request, and consume one occurrence."""
        occurring = (
            fault
            for fault in self.faults
            if kind in {None, fault.fault} and fault.matches(method, path, tokens) and fault.consume()
        )
        return next(occurring, None)
