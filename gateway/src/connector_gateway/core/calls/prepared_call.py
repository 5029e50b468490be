"""One operation with everything it needs, and the envelope of its result."""

from __future__ import annotations  # evaluating them for the functions that each call defines costs time

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, field
from typing_extensions import override

from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.calls.response_envelope import Envelope, Status
from connector_gateway.core.connections import Connection
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.context import ObjectLock, OperationContext
from connector_gateway.kit.errors import GatewayError, WriteScopeRequired
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from connector_gateway.kit.models import Listing, Page, Params, Position, Result, json_pieces
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, WriteStep
from connector_gateway.storage.shared.interface import SharedState

J = TypeVar("J")

UNBOUND = {"cursor", "limit"}
"""Parameters that are allowed to change from page to page."""

AnyResult = Result | Page[Any] | Listing[Any]


class ReadOnlySteps:
    """The steps of a read-only operation, which has none. Any attempt to write raises ``TypeError``."""

    async def plan(self, make: Callable[[], Awaitable[J]]) -> J:
        """Raise ``TypeError``."""
        raise TypeError(f"A read-only operation cannot plan: {make}")

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Raise ``TypeError``."""
        raise TypeError(f"A read-only operation cannot send a step: {step.name} {intent}")

    try_step = step

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Do nothing, since casts concern written values only."""

    async def before_first_request(self) -> None:
        """Do nothing, since reads need no preparation."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Raise ``TypeError``."""
        raise TypeError(f"A read-only operation cannot adopt an object: {step.name} {intent} {object_id}")

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Raise ``TypeError``."""
        await self.step(step, intent)


class ReaderSteps(ReadOnlySteps):
    """The steps of a call whose key may only read. Any attempt to write raises ``WriteScopeRequired``."""

    @override
    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Raise ``WriteScopeRequired``."""
        raise WriteScopeRequired(f"This key may only read; it may not {step.name}.")


class PreparedCall(Struct):
    """One operation with its parameters, connection and clients."""

    operation: AnyOperation
    params: Params
    run: Run
    connection: Connection
    ctx: OperationContext[Any]
    upstream: UpstreamClient
    cursors: CursorSigner
    connector: AnyConnector
    warnings: list[str | GatewayError] = field(default_factory=list)
    """Sentences, and errors of parts of the call, that are returned although the call succeeded."""

    async def read(self) -> Envelope:
        """Perform a read-only operation and return its envelope."""
        return self.envelope(await self.operation.handler(self.ctx, self.params))

    def envelope(self, result: AnyResult) -> Envelope:
        """Return the envelope of *result*."""
        run_id, connector = self.run.run_id, self.connection.connector
        if isinstance(result, Page):
            cursor = None if result.position is None else self._cursor(result.position)
            items = json_pieces(result.items)
            return Envelope(run_id, connector, "ok", items, paged=True, next_cursor=cursor, warnings=result.warnings)
        if isinstance(result, Listing):
            return Envelope(run_id, connector, "ok", json_pieces(result.items))
        status: Status = "ok" if result.complete else "partial"
        return Envelope(run_id, connector, status, json_pieces(result), warnings=self.warning_texts())

    def warning_texts(self) -> Sequence[str]:
        """Return the redacted warnings. Some of them quote the vendor."""
        return [self.run.redaction.text(self._sentence(warning)) for warning in self.warnings]

    def _sentence(self, warning: str | GatewayError) -> str:
        if isinstance(warning, str):
            return warning
        return f"{warning.message} {resolve_remedy(warning, self.run.surface, [self.connector])}"

    def _cursor(self, position: Position) -> str:
        return self.cursors.issue(position, *cursor_scope(self.connection, self.operation, self.params))


def cursor_scope(connection: Connection, operation: AnyOperation, params: Params) -> tuple[Any, ...]:
    """Return the values to which a cursor is bound, so that it is valid for the same listing only."""
    return (
        connection.connection_id,
        connection.connector,
        operation.name,
        params.model_dump(mode="json", exclude=UNBOUND),
    )


def object_scope(prepared: PreparedCall, step: WriteStep[Any], intent: StepInput) -> str:
    """Return the scope of a step's objects: their identifiers are unique in the connector or in one account of it."""
    account, connector = step.account_scope(intent), prepared.connection.connector
    return f"{connector}/{account}" if account else connector


def object_lock(connection: Connection, shared: SharedState, upstream: UpstreamClient) -> ObjectLock:
    """Return a lock for objects of the connector by name. *upstream* sends no writes after a lock is lost.

    Names do not include the account, because an unknown account could be any account.
    """
    return partial(_lock_object, connection, shared, upstream)


# Not nested in ``object_lock``, because running the decorator in each call took a hundredth of its time.
@asynccontextmanager
async def _lock_object(
    connection: Connection, shared: SharedState, upstream: UpstreamClient, name: str
) -> AsyncIterator[None]:
    if upstream.before_request is not None:
        await upstream.before_request()
    requested_at = upstream.service.clock.now()
    async with shared.lock(f"{connection.connector}:{name}") as lease:
        upstream.locked_seconds += upstream.service.clock.now() - requested_at
        if lease is not None:
            upstream.fence = _check_both(upstream.fence, lease.check)
        yield


def _check_both(first: Callable[[], None], then: Callable[[], None]) -> Callable[[], None]:
    def check() -> None:
        first()
        then()

    return check
