"""Histories of one write: every fault at every request, with a key and without."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multidict import CIMultiDict

from connector_gateway.connector_check.emulated_vendor import CROWD, Fault, SentRequest
from connector_gateway.connector_check.history_runner import FIRST, History, Phase, Subject
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.upstream.pool import UpstreamResponse

KEY = "check-1"
OTHER, STRANGER = "other", "stranger"

PAGE = b"<html><head><title>Moved</title></head><body><h1>Moved</h1><hr>nginx</body></html>"
INCOMPLETE = b'{"id": "'
OTHER_API = b'{"fault": {"faultstring": "Not now", "detail": {"errorcode": "policies.Rejected"}}}'

SHAPES: Mapping[str, bytes] = {
    "a web page": PAGE,
    "an unknown JSON object": OTHER_API,
    "incomplete JSON": INCOMPLETE,
}
"""Bodies that no vendor's API returns for a success."""

UNPROVEN: Sequence[tuple[int, str, bytes]] = (
    (302, "an empty body", b""),
    (400, "a web page", PAGE),
    (404, "another API's error", OTHER_API),
    (409, "an empty body", b""),
    (502, "a web page", PAGE),
)
"""Responses that a proxy may send after the vendor has carried out the request."""


@dataclass(frozen=True)
class WriteHistory:
    """A planned history of a write."""

    situation: str
    """The events, as the end of a sentence."""

    phases: Sequence[Phase]
    faults: Mapping[tuple[str, int], Fault] = field(default_factory=dict)
    crash_at: tuple[tuple[str, int], bool] | None = None
    keyed: bool = True


@dataclass(frozen=True)
class WriteSubject:
    """A write, and its requests without faults."""

    subject: Subject
    operation: AnyOperation
    requests: Sequence[SentRequest]

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of its first example."""
        return self.subject.arguments(self.operation)

    @property
    def steps(self) -> Sequence[SentRequest]:
        """The requests of its steps."""
        return [one for one in self.requests if one.step]

    def count(self, step_name: str) -> int:
        """Return the number of times that a step is carried out."""
        return max(1, sum(one.step_name == step_name for one in self.requests))

    def creates(self, request: SentRequest) -> bool:
        """Return True if the step of *request* adds something, so that an equal state proves nothing."""
        if request.step is None:
            return False
        sets_state = self.operation.overwrites or self.operation.idempotent
        return bool(request.step.object_kind) or not sets_state

    # The phases of histories

    async def repeat(self, history: History) -> None:
        """Call with the key until the response is final, and then once more."""
        await history.repeat(self.operation, self.arguments, key=KEY)
        await history.call(self.operation, self.arguments, key=KEY)

    async def call(self, history: History) -> None:
        """Call once with the key."""
        await history.call(self.operation, self.arguments, key=KEY)

    async def call_without_key(self, history: History) -> None:
        """Call once without a key."""
        await history.call(self.operation, self.arguments)

    async def call_twice(self, history: History) -> None:
        """Call twice at the same time with one key, and then until the response is final."""
        await asyncio.gather(*(history.call(self.operation, self.arguments, key=KEY) for _ in range(2)))
        await self.repeat(history)

    async def call_as_stranger(self, history: History) -> None:
        """Create an equal object as another client of the vendor."""
        await history.call(self.operation, self.arguments, key="stranger-1", caller=STRANGER)

    @property
    def similar_arguments(self) -> Iterator[Mapping[str, Any]]:
        """Arguments for the same target, each with one text that differs. The vendor may reject some."""
        for name, value in self.arguments.items():
            altered = _alter(value)
            if altered != value and name not in self.operation.target_names:
                yield {**self.arguments, name: altered}

    async def call_as_similar_strangers(self, history: History) -> None:
        """Create objects as other clients, each of which differs from this write's object in one argument."""
        for arguments in self.similar_arguments:
            await history.call(self.operation, arguments, caller=STRANGER)

    async def call_as_crowd(self, history: History) -> None:
        """Create many objects as other clients, which differ from this write's object in one argument."""
        for arguments in self.similar_arguments:
            reply = await history.call(self.operation, arguments, caller=CROWD)
            if reply.is_ok:
                return

    async def overwrite(self, history: History) -> None:
        """Call, then make the later change of another call, and repeat the first."""
        later = self.subject.arguments(self.operation, 1)
        await history.call(self.operation, self.arguments, key=KEY)
        await history.repeat(self.operation, later, key="check-2", caller=OTHER)
        await self.repeat(history)


def plan(write: WriteSubject, seed: int) -> Iterator[WriteHistory]:
    """Yield the histories of a write. Of the unusual responses, each seed has others."""
    repeated = [Phase(write.repeat)]
    yield WriteHistory("after a success", repeated)
    yield WriteHistory("of two calls with one key at the same time", [Phase(write.call_twice)])
    for request in write.requests:
        yield from _plan_request(write, request)
    for request in write.steps:
        yield from _plan_step(write, request)
        yield from _plan_responses(request, repeated, seed)


def _plan_request(write: WriteSubject, request: SentRequest) -> Iterator[WriteHistory]:
    """Yield histories with a fault of any request."""
    number, repeated = request.number, [Phase(write.repeat)]
    at = {(FIRST, number)}
    what = describe(request)
    yield WriteHistory(f"when {what} was lost", repeated, dict.fromkeys(at, Fault(served=False)))
    restarted = [Phase(write.call), Phase(write.repeat)]
    yield WriteHistory(f"when the gateway was killed before {what}", restarted, crash_at=(request.place, False))
    if request.step:
        yield WriteHistory(f"when the gateway was killed after {what}", restarted, crash_at=(request.place, True))


def _plan_step(write: WriteSubject, request: SentRequest) -> Iterator[WriteHistory]:
    """Yield histories with a fault of a request that changes something."""
    repeated, alone = [Phase(write.repeat)], [Phase(write.call_without_key)]
    at, what = (FIRST, request.number), describe(request)
    lost, unanswered = {at: Fault(served=False)}, {at: Fault(served=True)}
    yield WriteHistory(f"when the response to {what} was lost", repeated, unanswered)
    yield WriteHistory(f"without a key, when {what} was lost", alone, lost, keyed=False)
    yield WriteHistory(f"without a key, when the response to {what} was lost", alone, unanswered, keyed=False)
    late = Fault(served=True, delay_seconds=0.8 * write.subject.connector.settle_seconds)
    yield WriteHistory(f"when {what} was carried out late", repeated, {at: late})
    failure = get_failure(write.subject)
    answered = f"when {what} was carried out and answered with the vendor's internal error"
    yield WriteHistory(answered, repeated, {at: Fault(served=True, response=failure)})
    if write.creates(request):
        yield from _plan_strangers(write, request)
    elif write.operation.overwrites and len(write.operation.examples) > 1:
        overwritten = [Phase(write.overwrite)]
        yield WriteHistory(f"when {what} was lost and another call changed the object", overwritten, lost)
        answered = f"when the response to {what} was lost and another call changed the object"
        yield WriteHistory(answered, overwritten, unanswered)


def _plan_responses(request: SentRequest, repeated: Sequence[Phase], seed: int) -> Iterator[WriteHistory]:
    """Yield histories in which a proxy or a defect replaces the response."""
    at, what = (FIRST, request.number), describe(request)
    for number, (shape, body) in enumerate(SHAPES.items()):
        served = (number + seed) % 3 == 0
        fault = Fault(served, create_response(200, body))
        done = "carried out" if served else "not carried out"
        yield WriteHistory(f"when {what} was {done} and answered with 200 and {shape}", repeated, {at: fault})
    for number in (2 * seed, 2 * seed + 1):
        status, name, body = UNPROVEN[number % len(UNPROVEN)]
        answered = f"when {what} was carried out and answered with {status} and {name}"
        yield WriteHistory(answered, repeated, {at: Fault(served=True, response=create_response(status, body))})


def _plan_strangers(write: WriteSubject, request: SentRequest) -> Iterator[WriteHistory]:
    """Yield histories in which other clients of the vendor create similar or equal objects, or many."""
    lost = {(FIRST, request.number): Fault(served=False)}
    stranger = Phase(write.call_as_stranger, "elsewhere")
    what = describe(request)
    similar = Phase(write.call_as_similar_strangers, "elsewhere")
    differs = f"when {what} was lost and other clients created objects that differ in one argument"
    yield WriteHistory(differs, [Phase(write.call), similar, Phase(write.repeat)], lost)
    before = f"when {what} was lost and another client had created an equal object before"
    yield WriteHistory(before, [stranger, Phase(write.repeat, pause_seconds=600)], lost)
    crowd = Phase(write.call_as_crowd, "elsewhere")
    crowded = f"when the gateway was killed after {what}, and other clients created more objects than fit on a page"
    phases = [crowd, Phase(write.call), crowd, Phase(write.repeat)]
    yield WriteHistory(crowded, phases, crash_at=(request.place, True))
    if request.step and not request.step.object_kind:
        after = f"when {what} was lost and another client created an equal object afterwards"
        yield WriteHistory(after, [Phase(write.call), stranger, Phase(write.repeat)], lost)


def _alter(value: Any) -> Any:
    """Return *value* with a change in its first text, or unchanged if it has none. Other URLs can mean the same."""
    if isinstance(value, str):
        return value if "://" in value else f"{value} too"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, item in items:
        altered = _alter(item)
        if altered != item:
            changed = value.copy()
            changed[place] = altered
            return changed
    return value


def describe(request: SentRequest) -> str:
    """Return a request for a sentence."""
    return f"request {request.number + 1} ({request.method} {request.path})"


def get_failure(subject: Subject) -> UpstreamResponse:
    """Return the vendor's response to an internal error."""
    emulator = subject.vendor.emulator
    response = emulator.errors.failed().response(emulator.context)
    return UpstreamResponse(response.status, CIMultiDict(response.headers), bytes(response.body or b""))


def create_response(status: int, body: bytes) -> UpstreamResponse:
    """Return a response that the vendor's application does not send."""
    kind = "application/json" if body.startswith(b"{") else "text/html"
    return UpstreamResponse(status, CIMultiDict({"Content-Type": kind}), body)
