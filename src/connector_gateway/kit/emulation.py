"""What every vendor stand-in is built from.

An emulator speaks its vendor's wire on ports of its own and knows nothing of the gateway.
It gets a ``Stage``: a clock, repeatable randomness, knobs, and the journal and faults that testers steer it by.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Literal, Protocol

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from connector_gateway.kit.clock import Clock

JOURNAL_LENGTH = 100_000
"""Exchanges kept per emulator; the oldest fall out first."""

MAX_REQUEST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request that reached an emulator, and the status it was answered with (none if cut)."""

    at: float
    method: str
    path: str
    status: int | None


FaultKind = Literal["status", "delay", "drop_before", "drop_after", "garbage", "slow_body"]


@dataclass(slots=True)
class Fault:
    """Something that goes wrong with the next ``times`` requests that match.

    ``status`` answers with ``status``, ``headers`` and ``body`` and writes nothing.
    ``delay`` waits ``seconds``, then serves as usual, even when the caller has gone.
    ``drop_before`` cuts the connection and writes nothing; ``drop_after`` serves, then cuts before the answer.
    ``garbage`` serves, then answers with something that is not JSON.
    ``slow_body`` serves, then lets the body trickle over ``seconds``.
    """

    fault: FaultKind
    times: int = 1
    method: str | None = None
    path: str = "/"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = ""
    seconds: float = 0.0

    def matches(self, request: web.Request) -> bool:
        """Whether *request* is one of those this fault is for."""
        return self.times > 0 and self.method in {None, request.method} and request.path.startswith(self.path)

    def answer(self) -> web.Response:
        """The answer of a ``status`` fault."""
        if isinstance(self.body, str):
            return web.Response(status=self.status, headers=self.headers, text=self.body)
        return web.json_response(self.body, status=self.status, headers=self.headers)


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


class Emulator(Protocol):
    """A stateful stand-in for one vendor."""

    knobs: ClassVar[Mapping[str, Any]]
    """The knobs it has beside ``limits``, with their first values."""

    stage: Stage

    def __init__(self, stage: Stage) -> None: ...

    def applications(self) -> Mapping[str, web.Application]:
        """A new application per host name, in the order of their ports; the first is ``base``."""
        ...

    def reset(self) -> None:
        """Return to the seed, with nothing revoked."""
        ...

    def credentials(self) -> dict[str, str]:
        """What a client needs to be let in, by the vendor's names (``token``, ``key`` …)."""
        ...

    def examples(self) -> dict[str, Any]:
        """Identifiers of seeded objects worth trying."""
        ...

    def revoke(self) -> None:
        """Withdraw the authorisation of ``credentials``, as the user would in the application."""
        ...

    def authorise(self) -> None:
        """Grant it again."""
        ...

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a person would do in the application; unknown keys are ignored, a bad action is a ``ValueError``."""
        ...


class Refused(Exception):
    """Ends a request with the vendor's own refusal, from wherever in the emulator it is found out."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(response.status)
        self.response = response


def application(routes: Iterable[web.AbstractRouteDef], *middlewares: Middleware) -> web.Application:
    """An application of *routes*; the *middlewares* run in order around every request, unknown routes included."""
    made = web.Application(middlewares=middlewares, client_max_size=MAX_REQUEST_BYTES)
    made.add_routes(routes)
    return made


def staged(stage: Stage, application: web.Application) -> web.Application:
    """*application* with the stage's faults and journal in front of everything else it does."""

    @web.middleware
    async def play(request: web.Request, handler: Handler) -> web.StreamResponse:
        at = stage.clock.now()
        fault = stage.next_fault(request)
        response = await _perform(stage, fault, request, handler)
        stage.journal.append(Exchange(at, request.method, request.path, response.status if response else None))
        if response is None or (fault and fault.fault == "drop_after"):
            return _cut(request)
        if fault and fault.fault == "garbage":
            return web.Response(status=response.status, body=b'{"broken": <html>\xff', content_type="application/json")
        if fault and fault.fault == "slow_body":
            return await _trickle(stage, fault, request, response)
        return response

    application.middlewares.insert(0, play)
    return application


async def _perform(
    stage: Stage, fault: Fault | None, request: web.Request, handler: Handler
) -> web.StreamResponse | None:
    if fault and fault.fault == "drop_before":
        return None
    if fault and fault.fault == "status":
        return fault.answer()
    if fault and fault.fault == "delay":
        await request.read()
        await stage.clock.sleep(fault.seconds)
    try:
        return await handler(request)
    except Refused as refused:
        return refused.response


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError


async def _trickle(
    stage: Stage, fault: Fault, request: web.Request, response: web.StreamResponse
) -> web.StreamResponse:
    body = response.body if isinstance(response, web.Response) and isinstance(response.body, bytes) else b""
    slow = web.StreamResponse(status=response.status, headers={"Content-Type": response.content_type})
    await slow.prepare(request)
    steps = 20
    for step in range(steps):
        await slow.write(body[step * len(body) // steps : (step + 1) * len(body) // steps])
        await stage.clock.sleep(fault.seconds / steps)
    await slow.write_eof()
    return slow


class SlidingWindow:
    """At most ``limit`` units in any ``per_seconds``, as a strict vendor counts."""

    def __init__(self, limit: float, per_seconds: float) -> None:
        self.limit = limit
        self.per_seconds = per_seconds
        self._spent: deque[tuple[float, float]] = deque()
        self._sum = 0.0

    def take(self, now: float, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        self._forget(now)
        if self._sum + units <= self.limit:
            self._spent.append((now, units))
            self._sum += units
            return 0.0
        missing = self._sum + units - self.limit
        for at, spent in self._spent:
            missing -= spent
            if missing <= 0:
                return at + self.per_seconds - now
        return self.per_seconds

    def remaining(self, now: float) -> float:
        """Units that could be spent now."""
        self._forget(now)
        return self.limit - self._sum

    def _forget(self, now: float) -> None:
        while self._spent and self._spent[0][0] <= now - self.per_seconds:
            self._sum -= self._spent.popleft()[1]


class TokenBucket:
    """``rate`` units a second on average, with at most ``burst`` saved up."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._level = burst
        self._at: float | None = None

    def take(self, now: float, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        elapsed = 0.0 if self._at is None else now - self._at
        self._level = min(self.burst, self._level + elapsed * self.rate)
        self._at = now
        if self._level >= units:
            self._level -= units
            return 0.0
        return (units - self._level) / self.rate
