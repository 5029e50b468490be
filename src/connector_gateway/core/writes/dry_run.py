"""A write that ends before anything is sent: the requests that it would send, and every value that it would cast.

It goes the way of every write. Only where a request that changes something would leave (``Upstream``), it is withheld
and noted; a step with others behind it is given an assumed answer, so that these are shown too (decision 66).
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from connector_gateway.core.calls.envelope import Envelope
from connector_gateway.core.calls.prepared_operation import AnyResult, PreparedOperation, ReadOnlySteps, scope_of
from connector_gateway.core.writes.ownership import ObjectOwnership
from connector_gateway.kit.context import CachedLookup, ConnectionCache
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.shapes import CastValue, DryRunResult, Result, WithheldRequest
from connector_gateway.kit.upstream.client import DryRunStop, Request
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, WriteStep

J = TypeVar("J")
T = TypeVar("T")

MAX_BODY_BYTES = 256 * 1024
"""Larger bodies are told by their size only: they hold files, which the caller knows."""


class _NoMoreSteps(Exception):  # not an error: nothing is sent behind this step
    """The last step was noted."""


class CacheOverlay:
    """A connection's memory, in which what the dry run notes itself is seen by nobody else."""

    def __init__(self, memory: ConnectionCache) -> None:
        self._memory = memory
        self._noted: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """What was remembered under *name*, or None."""
        return self._noted[name] if name in self._noted else self._memory.get(name)

    def put(self, name: str, value: Any, seconds: float) -> None:  # noqa: ARG002  # a dry run is shorter than any
        """Remember *value* for this call."""
        self._noted[name] = value

    def forget(self, name: str) -> None:
        """Forget it for this call."""
        self._noted[name] = None

    async def get_or_load(self, wanted: CachedLookup[T], outdated: T | None) -> T:
        """The remembered value, unless it is *outdated*; what is looked up may be remembered for all."""
        self._noted.pop(wanted.name, None)
        return await self._memory.get_or_load(wanted, outdated)


class DryRun:
    """One write, carried out as far as possible without changing anything."""

    def __init__(self, work: PreparedOperation, owners: ObjectOwnership) -> None:
        self._work = work
        self._owners = owners
        self._requests: list[WithheldRequest] = []
        self._casts: dict[str, CastValue] = {}

    async def perform(self) -> Envelope:
        """The envelope that tells what the write would do; a refusal is raised as the write would raise it."""
        work, call = self._work, self._work.call
        call.steps, call.memory = self, CacheOverlay(call.memory)
        result: AnyResult | None = None
        try:
            with suppress(_NoMoreSteps):
                result = await work.operation.handler(call, work.params)
        finally:
            # As after a write: neither holds the other any more (decision 82).
            call.steps = ReadOnlySteps()
        refused = result.failed_parts if isinstance(result, Result) else ()
        shown = DryRunResult(requests=self._requests, casts=list(self._casts.values()), refused=list(refused))
        envelope = work.envelope(shown)
        envelope.dry_run = True
        # The third party's words may be in what was read: in a schema, in the text of an object.
        envelope.data = [to_json(work.run.redaction.value(shown.model_dump(mode="json")))]
        return envelope

    async def plan(self, make: Callable[[], Awaitable[J]]) -> J:
        """What *make* returns, as JSON."""
        planned: J = from_json(encode_json(await make()))
        return planned

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Note the request of *step*, and go on as if it had been answered; after the last step the dry run ends."""
        kept: StepInput = from_json(encode_json(intent))
        try:
            return await step.send(self._work.call, kept, "" if step.object_kind else ulid())
        except DryRunStop as withheld:
            self._requests.append(_shown(step.name, withheld.request))
        if step.dry_run_result is None:
            raise _NoMoreSteps
        return step.dry_run_result(kept)

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """The same: what would be refused upstream is not known."""
        return await self.step(step, intent)

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Do nothing: nothing was done."""

    async def before_first_request(self) -> None:
        """Do nothing: anything may be asked."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Whether the write would take over what an interrupted call left."""
        run_id, scope = self._work.run.run_id, scope_of(self._work, step, intent)
        (content,) = step.content_keys(intent)
        row = self._owners.row(f"{run_id}.0", scope, step.object_kind, content, run_id, keyed=False)
        return await self._owners.is_orphaned(row, object_id)

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Note how values were cast; of a value that is cast again the last cast counts."""
        for cast in make():
            self._casts[cast.parameter] = CastValue(
                parameter=cast.parameter, type=cast.type, given=cast.given, written=cast.written
            )


def _shown(step: str, request: Request) -> WithheldRequest:
    query = urlsplit(request.url).query
    path = f"{request.path}?{query}" if query else request.path
    sent = request.body or b""
    is_json = request.headers.get("Content-Type", "").startswith("application/json") and len(sent) <= MAX_BODY_BYTES
    body = from_json(sent) if is_json else None
    return WithheldRequest(step=step, method=request.method, path=path, body=body, body_bytes=len(sent))
