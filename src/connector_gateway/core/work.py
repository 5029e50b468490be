"""Carrying one operation out: what it may use, and what to do when the outcome of a write is in doubt."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.core.connections import Connection
from connector_gateway.core.cursors import Cursors
from connector_gateway.core.envelope import Envelope, Status
from connector_gateway.core.idempotency import Claim, First
from connector_gateway.core.runs import Run
from connector_gateway.kit.call import Attempt, Call, Exclusive
from connector_gateway.kit.errors import Doubt, GatewayError, OutcomeUnknown
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.shapes import Listing, Page, Params, Position, Result, json_pieces

UNBOUND = {"cursor", "limit"}
"""Parameters that may change from page to page."""

AnyResult = Result | Page[Any] | Listing[Any]


@dataclass
class Scratch:
    """The notebook of a call without an idempotency key: nobody will ask for it after a crash."""

    progress: dict[str, Any] = field(default_factory=dict)

    async def note(self, **progress: Any) -> None:
        """Add to the progress."""
        self.progress |= progress

    async def intend(self, **progress: Any) -> None:
        """Add what is about to be tried."""
        self.progress |= progress


@dataclass(slots=True)
class Work:
    """One operation with everything it needs."""

    operation: AnyOperation
    params: Params
    run: Run
    connection: Connection
    call: Call[Any]
    cursors: Cursors
    grace_seconds: float
    settle_seconds: float

    async def read(self) -> Envelope:
        """The envelope of an operation that changes nothing."""
        return self._envelope(await self.operation.perform(self.call, self.params))

    async def write(self) -> Envelope:
        """The envelope of a write that nobody will repeat under a key."""
        return self._envelope(await self._attempt(self.call.clock.now()))

    async def write_once(self, claim: Claim) -> Envelope:
        """The envelope of the write that *claim* is for; the claim knows afterwards how it ended."""
        self.call.notebook = claim
        result = await self._settle(claim)
        try:
            if result is None:
                result = await self._attempt(claim.started_at)
            envelope = self._envelope(result)
            await claim.finish(envelope.status, b"".join(envelope.data))
        except GatewayError as error:
            doubt = error.doubt or ("failed" if claim.begun else None)
            await (claim.doubt(doubt) if doubt else claim.release())
            raise
        except BaseException:
            await claim.doubt("interrupted")
            raise
        return envelope

    def replay(self, first: First) -> Envelope:
        """The envelope of a first result, given again."""
        status: Status = "partial" if first.status == "partial" else "ok"
        return Envelope(
            self.run.run_id, self.connection.connector, status, [first.data], paged=self.operation.pages, replayed=True
        )

    async def _attempt(self, started_at: float) -> AnyResult:
        """Perform; if the outcome is in doubt, look upstream before saying so."""
        try:
            result: AnyResult = await self.operation.perform(self.call, self.params)
        except GatewayError as error:
            if error.doubt is None or self.operation.recover is None:
                raise
            attempt = Attempt(started_at, self.call.clock.now(), dict(self.call.notebook.progress), error.doubt)
            found = await self._look_after(attempt)
            if found is None:
                raise
            return found
        return result

    async def _look_after(self, attempt: Attempt) -> AnyResult | None:
        """What *attempt* has made; None when nothing is found, or looking fails as well."""
        try:
            return await self._look(attempt)
        except GatewayError:
            return None

    async def _look(self, attempt: Attempt) -> AnyResult | None:
        if self.operation.recover is None:
            raise OutcomeUnknown("Whether an earlier attempt did the work is not known.", doubt=attempt.doubt)
        found: AnyResult | None = await self.operation.recover(self.call, self.params, attempt)
        return found

    async def _settle(self, claim: Claim) -> AnyResult | None:
        """What the earlier attempt of *claim* has made; None once it is certain that it made nothing."""
        if claim.earlier is None:
            return None
        try:
            found = await self._look(claim.earlier)
            wait = claim.earlier.doubted_at + self._settles_after(claim.earlier.doubt) - self.call.clock.now()
            if found is None and wait > self.grace_seconds:
                raise OutcomeUnknown(
                    "An earlier attempt with this key may still be carried out by the application.", retry_after=wait
                )
            if found is None and wait > 0:
                await self.call.clock.sleep(wait)
                found = await self._look(claim.earlier)
        except BaseException:
            await claim.put_back()
            raise
        if found is not None and self.run.idempotency:
            self.run.idempotency["outcome"] = "recovered"
        return found

    def _settles_after(self, doubt: Doubt) -> float:
        """Seconds after which a request in doubt is either done or never will be."""
        if doubt == "silent":
            return self.settle_seconds
        return self.grace_seconds if doubt in {"cut", "interrupted"} else 0.0

    def _envelope(self, result: AnyResult) -> Envelope:
        run_id, connector = self.run.run_id, self.connection.connector
        if isinstance(result, Page):
            cursor = None if result.position is None else self._cursor(result.position)
            items = json_pieces(result.items)
            return Envelope(run_id, connector, "ok", items, paged=True, next_cursor=cursor, warnings=result.warnings)
        if isinstance(result, Listing):
            return Envelope(run_id, connector, "ok", json_pieces(result.items))
        return Envelope(run_id, connector, "ok" if result.complete else "partial", json_pieces(result))

    def _cursor(self, position: Position) -> str:
        return self.cursors.issue(position, *binding(self.connection, self.operation, self.params))


def binding(connection: Connection, operation: AnyOperation, params: Params) -> tuple[Any, ...]:
    """What a cursor holds for: another page of the same list."""
    return (
        connection.connection_id,
        connection.connector,
        operation.name,
        params.model_dump(mode="json", exclude=UNBOUND),
    )


def exclusive_to(connection: Connection, hold: Exclusive) -> Exclusive:
    """*hold*, with names that are the account's own."""

    def exclusive(name: str) -> AbstractAsyncContextManager[None]:
        return hold(f"{connection.connector}:{connection.account}:{name}")

    return exclusive
