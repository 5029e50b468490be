"""The path of a call: all surfaces, such as HTTP, MCP and the command line, use ``CallExecutor.call``."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic_core import from_json

from connector_gateway.core.access.keys import NEUTRALISE, Caller
from connector_gateway.core.access.rate_limit import KeyRateLimiter, raise_if_exceeded
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.concurrency import AccountSlotPool, ConcurrencyLimit, Downloads
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.calls.download_links import DownloadLinkSigner
from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.core.calls.prepared_call import (
    PreparedCall,
    ReaderSteps,
    ReadOnlySteps,
    cursor_scope,
    object_lock,
)
from connector_gateway.core.calls.response_envelope import Envelope
from connector_gateway.core.calls.write_confirmation_tokens import Confirmations, confirmed_key
from connector_gateway.core.connections import Connection, ConnectionLifecycle, ConnectionStore
from connector_gateway.core.connections.cache import ConnectionCaches
from connector_gateway.core.connector_config import ConnectorConfig
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.history.run_filters import DOWNLOAD
from connector_gateway.core.history.runs import Run, RunRecorder, RunStore
from connector_gateway.core.pacing.budget_usage import UsageTracker
from connector_gateway.core.pacing.call_costs import CallCost, CallCosts
from connector_gateway.core.pacing.pacer import BackgroundPacer, ConnectionPacer, with_slack
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.core.writes.write_executor import WriteExecutor
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.context import Download, OperationContext
from connector_gateway.kit.errors import ConnectionRevoked, GatewayError, InvalidParameters, LinkNotFound
from connector_gateway.kit.events import Events
from connector_gateway.kit.models import Params, Position
from connector_gateway.kit.operation import UNKNOWN_REQUESTS, AnyOperation
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient
from connector_gateway.kit.upstream.lost_responses import ResponseLosingClient
from connector_gateway.kit.upstream.memory_budget import MemoryBudget, MemoryReservation, unmetered
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.kit.upstream.redaction import activate_redaction
from connector_gateway.storage.shared.interface import SharedState

RECONNECT_REMEDY = "Ask the account's user to open reconnect_url in details and allow the access, then call again."
"""The remedy for a revoked connection if the caller receives a link."""

POLL_TIMEOUTS = Timeouts(queue_seconds=300.0, run_seconds=300.0)
"""Timeouts of polls. They are longer than those of calls, because no caller is waiting."""


@dataclass(eq=False, repr=False, kw_only=True)
class CallExecutor:
    """Performs operations and downloads for callers."""

    connectors: Mapping[str, ConnectorConfig]
    runs: RunStore
    limits: KeyRateLimiter
    connections: ConnectionStore
    connection_setup: ConnectionLifecycle
    write_protocol: WriteExecutor
    cursors: CursorSigner
    confirmations: Confirmations
    links: DownloadLinkSigner
    files: PublicFileFetcher
    shared: SharedState
    transport: Transport
    clock: Clock
    timeouts: Timeouts
    max_calls: int
    max_buffered_bytes: int
    events: Events
    time: Callable[[], float]
    fence: Callable[[], Callable[[], None]]
    processes: Callable[[], int]
    shutdown: Shutdown
    usage: UsageTracker

    def __post_init__(self) -> None:
        self._active_calls = ConcurrencyLimit(self.max_calls)
        self._memory_budget = MemoryBudget(self.max_buffered_bytes)
        self._downloads = Downloads()
        self._caches = ConnectionCaches(self.clock)
        self._costs = CallCosts()
        self._budgets = {name: with_slack(configured.budgets) for name, configured in self.connectors.items()}
        self._account_slots = {
            name: AccountSlotPool(configured.connector.max_concurrent_requests, self.processes)
            for name, configured in self.connectors.items()
            if configured.connector.max_concurrent_requests
        }
        self._services = {
            name: configured.create_service(
                self.transport,
                self.clock,
                self.time,
                partial(self.usage.record_response, name),
                self.runs.vendor_changes.observer(configured.connector).observe,
            )
            for name, configured in self.connectors.items()
        }

    async def call(
        self,
        run: Run,
        caller: Caller,
        connector: str,
        operation: AnyOperation,
        arguments: Arguments,
        *,
        read_body: Callable[[], Awaitable[Body]] | None = None,
    ) -> Envelope:
        """Perform *operation* for *caller* and return its envelope. *read_body* is called after authorisation."""
        arrived_at, connection_id = self.clock.now(), arguments.connection_id
        recording = self.runs.record(
            run, caller.workspace_id, connector, operation.name, connection_id=connection_id, key_id=caller.key_id
        )
        async with recording:
            if run.allowance is None:
                run.allowance = await self.limits.consume(caller)
            # The allowance is stored before the check, because the error response reports it.
            raise_if_exceeded(run.allowance)
            caller.check_allowed(connector, operation)
            if read_body is not None:
                arguments.body = await read_body()
                connection_id = arguments.connection_id
                recording.set_connection(connection_id)
            writes = operation.scope == "write"
            arguments.neutralises_mentions = writes and _neutralises_mentions(run, caller)
            params = arguments.read(operation.params, keyed=writes and operation.keyed)
            if not operation.keyed:
                _check_not_keyed(run, arguments)
            elif run.loses_response:
                _check_may_lose_response(caller, connector, arguments)
            run.parameters = operation.sent_names(params)
            connection = await self.connections.open(caller, connector, connection_id or "")
            cost = self._costs.start(arrived_at, connection.connection_id, operation.name, operation.requests)
            try:
                with self._active_calls, MemoryReservation(self._memory_budget) as reservation:
                    upstream = self._upstream(run, connection, reservation, cost)
                    prepared = self._prepare(run, connection, operation, params, upstream)
                    prepared.ctx.restored = arguments.key is not None and self.write_protocol.restores.lost is not None
                    if not run.dry_run and caller.must_confirm(connector, operation):
                        await self._check_confirmed(prepared, caller, arguments)
                    envelope = await self._perform(prepared, arguments, recording, caller)
            except ConnectionRevoked as error:
                await self.connections.record_status(connection, "revoked")
                if caller.manages_connections:
                    await self._offer_link(connection, error)
                raise
            except GatewayError as error:
                error.attach_subject(vars(params))
                raise
            # The vendor accepted the credentials, so the connection is active. A request of the caller proves nothing,
            # because its response can have any status.
            if connection.status != "active" and run.log.requests and operation.permission is None:
                await self.connections.record_status(connection, "active")
            self._costs.record(cost)
            run.succeed(envelope.status)
            return envelope

    @asynccontextmanager
    async def download(self, run: Run, token: str) -> AsyncIterator[Download]:
        """Open the file of a download URL. Its token is the only credential required."""
        target = self.links.read(token)
        connection = await self.connections.find(target.connection_id)
        configured = None if connection is None else self.connectors.get(connection.connector)
        if connection is None or configured is None or configured.connector.download is None:
            raise LinkNotFound("The connection behind the download link was removed.")
        recording = self.runs.record(
            run, connection.workspace_id, connection.connector, DOWNLOAD, connection_id=connection.connection_id
        )
        cost = self._costs.start(self.clock.now(), connection.connection_id, DOWNLOAD, UNKNOWN_REQUESTS)
        with self._downloads.slot(token, connection.connection_id):
            async with recording:
                await recording.open()
                try:
                    async with configured.connector.download(
                        configured.connector.client(self._upstream(run, connection, cost=cost)), target.content
                    ) as download:
                        run.succeed("ok")
                        yield replace(download, pieces=_track_download(download.pieces, run))
                except ConnectionRevoked:
                    await self.connections.record_status(connection, "revoked")
                    raise

    async def _offer_link(self, connection: Connection, error: ConnectionRevoked) -> None:
        """Add a reconnect link to *error*, for a caller that can manage connections."""
        url = await self.connection_setup.reconnect_url(connection)
        if url is not None:
            error.details.append({"reconnect_url": url})
            error.remedy = RECONNECT_REMEDY

    async def _check_confirmed(self, prepared: PreparedCall, caller: Caller, arguments: Arguments) -> None:
        """Raise ``ConfirmationRequired`` with the dry run, unless the call has a token for exactly its parameters."""
        binding = (
            caller.key_id,
            prepared.connection.connection_id,
            prepared.operation.name,
            prepared.params.model_dump(mode="json"),
            arguments.key and arguments.key.text,
        )
        token = arguments.confirmation
        if token is not None and self.confirmations.is_valid(token, *binding):
            arguments.key = arguments.key or confirmed_key(token)
            return
        envelope = await self.write_protocol.dry_run(prepared)
        dry_run = from_json(b"".join(map(bytes, envelope.data)))
        raise self.confirmations.required(token, dry_run, prepared.connection.connection_id, *binding)

    def _perform(
        self, prepared: PreparedCall, arguments: Arguments, recording: RunRecorder, caller: Caller
    ) -> Awaitable[Envelope]:
        """Perform a read directly, and a write by the write protocol."""
        if prepared.operation.scope == "read":
            return prepared.read()
        if caller.scope == "read":
            prepared.ctx.steps = ReaderSteps()
            return prepared.read()
        return self.write_protocol.write(prepared, arguments, recording, self.timeouts.queue_seconds)

    def _prepare(
        self, run: Run, connection: Connection, operation: AnyOperation, params: Params, upstream: UpstreamClient
    ) -> PreparedCall:
        configured = self.connectors[connection.connector]
        ctx = OperationContext(
            upstream=(
                configured.connector.client(upstream)
                if operation.create_client is None
                else operation.create_client(configured.connector, upstream)
            ),
            connection_id=connection.connection_id,
            account_id=connection.identity.account_id,
            has_oauth_tokens="refresh_token" in connection.stored,
            settings=connection.settings,
            position=self._position(connection, operation, params),
            cache=self._caches.for_connection(
                connection.connection_id, connection.identity.era, upstream.wait_for_lookup
            ),
            steps=ReadOnlySteps(),
            clock=self.clock,
            exclusive=object_lock(connection, self.shared, upstream),
            files=self.files,
            links=self.links.for_connection(connection),
            events=self.events,
            settle_seconds=configured.settle_seconds,
            grace_seconds=self.timeouts.grace_seconds,
            memory_reservation=upstream.memory,
        )
        return PreparedCall(
            operation, params, run, connection, ctx, upstream, self.cursors, configured.connector, ctx.warnings
        )

    def _position(self, connection: Connection, operation: AnyOperation, params: Params) -> Position | None:
        cursor = vars(params).get("cursor")
        return None if cursor is None else self.cursors.read(cursor, *cursor_scope(connection, operation, params))

    @contextmanager
    def poll_client(self, run: Run, connection: Connection) -> Iterator[Any]:
        """Yield the connector's client for one poll. Its requests give way to calls and have longer timeouts."""
        with MemoryReservation(self._memory_budget) as reservation:
            upstream = self._upstream(run, connection, reservation, pacer=BackgroundPacer, timeouts=POLL_TIMEOUTS)
            yield self.connectors[connection.connector].connector.client(upstream)

    def _upstream(
        self,
        run: Run,
        connection: Connection,
        reservation: MemoryReservation | None = None,
        cost: CallCost | None = None,
        *,
        pacer: type[ConnectionPacer] = ConnectionPacer,
        timeouts: Timeouts | None = None,
    ) -> UpstreamClient:
        """Return the authorised client for one run on *connection*. The *cost* of a call contains its arrival."""
        connector = connection.connector
        run.redaction = connection.redaction
        activate_redaction(connection.redaction)
        create_client = ResponseLosingClient if run.loses_response else UpstreamClient
        return create_client(
            self._services[connector],
            connection,
            pacer(
                connector,
                self._budgets[connector],
                connection.account,
                self.shared,
                self.clock,
                shutdown=self.shutdown,
                usage=self.usage,
                connection_id=connection.connection_id,
                cost=cost,
            ),
            timeouts or self.timeouts,
            run.log,
            cost.position.arrived_at if cost and cost.position else None,
            fence=self.fence(),
            memory=reservation or unmetered(),
            dry_run=run.dry_run,
            slots=self._account_slots[connector].for_account(connection.account)
            if connector in self._account_slots
            else None,
        )

    @property
    def active_calls(self) -> int:
        """The number of running calls."""
        return self._active_calls.in_use


def _neutralises_mentions(run: Run, caller: Caller) -> bool:
    """Return True if mentions in the texts of a write must not notify anyone."""
    if run.mentions not in {None, NEUTRALISE}:
        raise InvalidParameters(
            "The preference mentions has only one allowed value.",
            {
                "parameter": "Prefer",
                "value": f"mentions={truncate(run.mentions)}",
                "allowed": [f"mentions={NEUTRALISE}"],
            },
        )
    return NEUTRALISE in {run.mentions, caller.mentions}


def _check_not_keyed(run: Run, arguments: Arguments) -> None:
    """Raise ``InvalidParameters`` for promises that the gateway cannot keep for a request of the caller's own."""
    if arguments.key is not None:
        raise InvalidParameters(
            "This request cannot have an idempotency key, because nothing proves if the vendor has carried it out.",
            {"parameter": "Idempotency-Key", "message": "Not accepted"},
        )
    if run.surface == "http" and run.mentions is not None:
        raise InvalidParameters(
            "The gateway cannot neutralise mentions in a request of your own.",
            {"parameter": "Prefer", "message": "Not accepted", "value": f"mentions={truncate(run.mentions)}"},
        )
    if run.loses_response:
        raise InvalidParameters(
            "A request of your own must not lose its response, because no repeat could resolve it.",
            {"parameter": "Prefer", "message": "Not accepted", "value": "lose-response"},
        )


def _check_may_lose_response(caller: Caller, connector: str, arguments: Arguments) -> None:
    """Raise an error unless *caller* may ask for a lost response, and can resolve it by repeating the call."""
    caller.check_allowed(connector, REQUEST)
    if arguments.key is None:
        raise InvalidParameters(
            "A call that loses a response must have an idempotency key.",
            {"parameter": "Idempotency-Key", "message": "Required by the preference lose-response"},
        )


async def _track_download(pieces: AsyncIterator[bytes], run: Run) -> AsyncIterator[bytes]:
    """Yield *pieces*. *run* counts as interrupted until the last one is consumed."""
    run.status = "interrupted"
    async for piece in pieces:
        yield piece
    run.succeed("ok")
