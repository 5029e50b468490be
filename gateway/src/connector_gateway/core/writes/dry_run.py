"""Dry runs of writes: the requests that a write would send, and the values that it would cast.

A dry run takes the path of every write. ``UpstreamClient`` withholds only the requests that would change something,
which are recorded. A withheld step gets an assumed response if others follow, because they are reported too.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from connector_gateway.core.calls.prepared_call import AnyResult, PreparedCall, ReadOnlySteps, object_scope
from connector_gateway.core.calls.response_envelope import Envelope
from connector_gateway.core.writes.created_objects_by_write import CreatedObjectOwners
from connector_gateway.kit.context import CachedLookup, ConnectionCache
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.models import CastValue, DryRunResult, Result, WithheldRequest
from connector_gateway.kit.upstream.client import DryRunStop, Request
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, WriteStep

J = TypeVar("J")
T = TypeVar("T")

MAX_BODY_BYTES = 256 * 1024
"""Larger bodies are reported by size only, because they contain files, which the caller has."""


class _NoMoreSteps(Exception):  # not an error: no step follows this one
    """The last step was recorded."""


class CacheOverlay:
    """A view of a connection's cache in which the values stored by the dry run are visible to the dry run only."""

    def __init__(self, memory: ConnectionCache) -> None:
        self._memory = memory
        self._stored: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        """Return the value cached under *name*, or None."""
        return self._stored[name] if name in self._stored else self._memory.get(name)

    def put(self, name: str, value: Any, seconds: float) -> None:  # noqa: ARG002  # a dry run is shorter than any
        """Store *value* for this call."""
        self._stored[name] = value

    def forget(self, name: str) -> None:
        """Discard the value for this call."""
        self._stored[name] = None

    async def get_or_load(self, lookup: CachedLookup[T], outdated: T | None) -> T:
        """Return the cached value unless it is *outdated*. A newly loaded value is cached for all calls."""
        self._stored.pop(lookup.name, None)
        return await self._memory.get_or_load(lookup, outdated)


class DryRun:
    """One write, carried out without sending anything that changes data."""

    def __init__(self, work: PreparedCall, owners: CreatedObjectOwners) -> None:
        self._work = work
        self._owners = owners
        self._requests: list[WithheldRequest] = []
        self._casts: dict[str, CastValue] = {}
        self._notified: list[str] = []

    async def perform(self) -> Envelope:
        """Return an envelope with the requests and casts of the write. Raises the errors that the write would raise."""
        work, call = self._work, self._work.ctx
        call.steps, call.cache = self, CacheOverlay(call.cache)
        result: AnyResult | None = None
        try:
            with suppress(_NoMoreSteps):
                result = await work.operation.handler(call, work.params)
        finally:
            # As after a write, break the reference cycle, which only the garbage collector would free.
            call.steps = ReadOnlySteps()
        failed_parts = result.failed_parts if isinstance(result, Result) else ()
        report = DryRunResult(
            requests=self._requests,
            casts=list(self._casts.values()),
            refused=list(failed_parts),
            notifies=list(dict.fromkeys(self._notified)),
        )
        envelope = work.envelope(report)
        envelope.dry_run = True
        # Redact, because the vendor's data may contain secrets, for example in a schema or in an object's text.
        envelope.data = [to_json(work.run.redaction.value(report.model_dump(mode="json")))]
        return envelope

    async def plan(self, make: Callable[[], Awaitable[J]]) -> J:
        """Return the result of *make* as JSON."""
        planned: J = from_json(encode_json(await make()))
        return planned

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Record the request of *step* and return its assumed response. The dry run ends after the last step."""
        normalized: StepInput = from_json(encode_json(intent))
        try:
            return await step.send(self._work.ctx, normalized, "" if step.object_kind else ulid())
        except DryRunStop as withheld:
            preview = step.preview(normalized) if step.preview else None
            self._requests.append(_to_withheld_request(step.name, withheld.request, preview))
            self._notified += step.notifies(normalized)
        if step.dry_run_result is None:
            raise _NoMoreSteps
        return step.dry_run_result(normalized)

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """Record the request of *step*. Errors of the vendor cannot be predicted."""
        return await self.step(step, intent)

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Do nothing, because nothing was done."""

    async def before_first_request(self) -> None:
        """Do nothing, because a dry run takes no claim."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Return True if the write would take over the object that an interrupted call has created."""
        run_id, scope = self._work.run.run_id, object_scope(self._work, step, intent)
        (content,) = step.content_keys(intent)
        row = self._owners.new_row(f"{run_id}.0", scope, step.object_kind, content, run_id, keyed=False)
        return await self._owners.is_orphaned(row, object_id)

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Record how values were cast. If a value is cast several times, the last cast counts."""
        for cast in make():
            self._casts[cast.parameter] = CastValue(
                parameter=cast.parameter, type=cast.type, given=cast.given, written=cast.written
            )
            if cast.names_people:
                self._notified += _texts(cast.given)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in *value*."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _to_withheld_request(step: str, request: Request, preview: Mapping[str, Any] | None) -> WithheldRequest:
    query = urlsplit(request.url).query
    path = f"{request.path}?{query}" if query else request.path
    content = request.body or b""
    is_json = request.headers.get("Content-Type", "").startswith("application/json") and len(content) <= MAX_BODY_BYTES
    body = from_json(content) if is_json and preview is None else None
    return WithheldRequest(
        step=step, method=request.method, path=path, body=body, body_bytes=len(content), preview=preview
    )
