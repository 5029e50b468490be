"""The composition root, which builds and connects all objects of an installation."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.routing import Route, Router

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.access.agent_oauth import Agents
from connector_gateway.core.access.audit_trail import Audit
from connector_gateway.core.access.keys import ApiKeys
from connector_gateway.core.access.operators import Operators
from connector_gateway.core.access.rate_limit import KeyRateLimiter
from connector_gateway.core.access.sessions import Sessions
from connector_gateway.core.access.workspaces import Workspaces
from connector_gateway.core.access.wrong_token_throttle import TokenThrottle
from connector_gateway.core.background_jobs import JobRunner
from connector_gateway.core.backlog_metrics import BacklogMonitor
from connector_gateway.core.call_executor import CallExecutor
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.calls.download_links import DownloadLinkSigner
from connector_gateway.core.calls.passthrough import operation_names
from connector_gateway.core.calls.write_confirmation_tokens import Confirmations
from connector_gateway.core.connections import (
    AccountLookup,
    ConnectionLifecycle,
    ConnectionStore,
    ConnectLinks,
    ConsentFlow,
    IdleTokenRefresher,
    TokenEndpointClient,
    TokenRefresher,
    UsableConnections,
    Vault,
)
from connector_gateway.core.connector_config import with_events
from connector_gateway.core.events.backup_restore_gaps import BackupRestoreGapRecorder
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.events.inbound_hook_secrets import HookVerification
from connector_gateway.core.events.inbound_hooks import InboundHooks
from connector_gateway.core.events.polling import PollScheduler
from connector_gateway.core.events.watch_lifecycle import WatchLifecycle
from connector_gateway.core.events.watches import WatchStore
from connector_gateway.core.heartbeats import ProcessHeartbeats
from connector_gateway.core.history.retention import RunRetention
from connector_gateway.core.history.run_filters import event_types
from connector_gateway.core.history.runs import RunStore
from connector_gateway.core.onboarding_checklist import read_onboarding_checklist
from connector_gateway.core.outbound_webhooks.delivery_positions import DeliveryPositions, mark_due
from connector_gateway.core.outbound_webhooks.delivery_worker import DeliveryWorker
from connector_gateway.core.outbound_webhooks.sender import WebhookSender
from connector_gateway.core.outbound_webhooks.subscriptions import Webhooks
from connector_gateway.core.pacing.budget_usage import UsageTracker
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.core.secrets.missing_key_check import check_decryptable
from connector_gateway.core.secrets.rotation import SecretRotation
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.core.writes.backup_restore_detection import BackupRestoreDetector, get_or_create_installation
from connector_gateway.core.writes.created_objects_by_write import CreatedObjectOwners
from connector_gateway.core.writes.idempotency import Claims
from connector_gateway.core.writes.in_doubt_resolution import InDoubtResolver
from connector_gateway.core.writes.stale_change_detection import ChangeLog
from connector_gateway.core.writes.write_executor import WriteExecutor
from connector_gateway.http import AccessLogMiddleware, AsgiApp, Service, application
from connector_gateway.http.agents import resource_metadata_url
from connector_gateway.http.api.routes import ApiContext
from connector_gateway.http.asgi import Check
from connector_gateway.http.console import LINK, SIGN_IN
from connector_gateway.http.openapi.examples import RECORDED, Values
from connector_gateway.http.pages import Pages
from connector_gateway.http.server.client_ip import ForwardedClient
from connector_gateway.http.server.connection_limits import ClientConnections
from connector_gateway.http.server.metrics import Metrics, MetricSources, ProcessMetrics
from connector_gateway.http.server.worker_metrics import WorkerMetrics
from connector_gateway.kit.clock import Clock, MonotonicClock, SystemClock, monotonic_seconds
from connector_gateway.kit.identifiers import ProcessId, ulid
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.management.request import Management
from connector_gateway.mcp.endpoint import McpEndpoint
from connector_gateway.settings import Settings
from connector_gateway.storage.shared.interface import SharedState
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.shared.unavailable_store import FallbackCounters
from connector_gateway.storage.sql.backup_restore_witness import FileWitness, Witness
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.engines import database_file
from connector_gateway.storage.sql.sqlite_files import FileLock

if TYPE_CHECKING:
    from connector_gateway.http.server.tracing import Tracing


class App:
    """An installation, with one object of each service.

    Unless it is a *single_instance*, several can be opened on one database, as tests do. *clock* also replaces the
    monotonic clock, which measures durations, and the database's clock.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        connectors: Mapping[str, AnyConnector] = CONNECTORS,
        clock: Clock | None = None,
        steady: Clock | None = None,
        files: PublicFileFetcher | None = None,
        database: Database | None = None,
        monotonic: Callable[[], float] = monotonic_seconds,
        single_instance: bool = True,
        transport: Transport | None = None,
        peers: WorkerMetrics | None = None,
    ) -> None:
        self.settings = settings
        self._peers = peers
        self.clock = clock or SystemClock()
        self._steady = steady or clock or MonotonicClock()
        self.database = database or Database(
            settings.database_url, seconds=settings.storage_seconds, clock=clock.now if clock else None
        )
        self.shutdown = Shutdown()
        self.clients = ClientConnections(settings.clients)
        # Several processes are allowed if they share counters and a database server.
        single_instance = single_instance and (settings.shared_url is None or self.database.embedded)
        file = database_file(self.database.url) if single_instance and self.database.embedded else None
        self._lock = FileLock(file) if file is not None else nullcontext()
        secrets = SecretKeys(settings.secret_keys, settings.decrypt_only_keys)
        process_id = ProcessId(f"proc_{ulid()}")
        self.workspaces = Workspaces(self.database, self.clock)
        self.keys = ApiKeys(
            self.database,
            self.clock,
            self._steady,
            operations=operation_names(connectors.values()),
            quota=settings.quotas.keys,
        )
        self._vault = Vault(secrets)
        self.audit = Audit(self.database, self._vault, self.clock)
        self.operators = Operators(self.database, settings.operator_token, self.clock, self._steady)
        self._shared = self._new_shared()
        self._tracing = self._new_tracing()
        self._transport = transport or self._new_transport()
        self._tokens = TokenEndpointClient(settings.connectors, self._transport, self._shared, self._steady)
        self.connections = self._new_connections(connectors)
        self._connect_links = ConnectLinks(self.database, self.clock, settings.base_url)
        self._accounts = self._new_account_lookup()
        self.connection_setup = self._new_connection_setup()
        self._idle_refresher = IdleTokenRefresher(
            self.database,
            self._vault,
            self._token_refresher,
            self.clock,
            processes=lambda: self._processes.count,
        )
        self.rotation = SecretRotation(self.database, self._vault)
        self.runs = RunStore(self.database, process_id, self.clock, self.shutdown, steady=self._steady)
        self._connectors = connectors
        self._cursors = CursorSigner(secrets)
        self._links = DownloadLinkSigner(secrets, settings.download_base, settings.link_seconds, self.clock)
        self._files = files or PublicFileFetcher(settings.upstream_timeout_seconds, settings.max_file_bytes)
        self._limits = KeyRateLimiter(self._shared)
        self._usage = UsageTracker(self._shared, self._steady)
        self._sessions = Sessions(
            self.database, secrets, settings.operator_token, self.clock, settings.console_idle_seconds
        )
        self._claims = Claims(self.database, process_id, self._steady, self.shutdown)
        self._owners = CreatedObjectOwners(self.database, process_id)
        self._change_log = ChangeLog(self.database)
        self._feed = Feed(self.database, self._vault, self.clock, mark_due, self._steady)
        lost_events = BackupRestoreGapRecorder(self.database, self._feed, self.runs)
        self.restores = BackupRestoreDetector(self.database, self._new_witnesses(), lost_events.record)
        self._watches = WatchStore(self.database, process_id)
        self._connectors_with_events = with_events(settings.connectors)
        self.hooks = self._new_hooks(HookVerification(self.database, secrets, settings.base_url, self.clock))
        self._sender = WebhookSender(private=settings.private_webhooks)
        self._positions = DeliveryPositions(self.database)
        self.webhooks = Webhooks(
            self.database,
            self._vault,
            self._sender,
            self.clock,
            event_types(self._connectors),
            quota=settings.quotas.webhooks,
        )
        self.delivery_worker = self._new_delivery_worker()
        self._processes = self._new_process_heartbeats(process_id, monotonic, single_instance=single_instance)
        self._jobs = self._new_job_runner()

    def _new_tracing(self) -> "Tracing | None":
        if self.settings.traces_url is None:
            return None
        from connector_gateway.http.server.tracing import Tracing  # noqa: PLC0415  # an optional extra, which is slow to import

        return Tracing(self.settings.traces_url)

    def _new_transport(self) -> Transport:
        seconds = self.settings.upstream_timeout_seconds
        return self._tracing.transport(seconds) if self._tracing else Transport(seconds)

    def _new_shared(self) -> SharedState:
        memory = LocalCounters(self._steady, self.settings.timeouts)
        if self.settings.shared_url is None:
            return memory
        from connector_gateway.storage.shared import valkey  # noqa: PLC0415  # its driver is slow to import

        store = valkey.ValkeyCounters(
            self.settings.shared_url,
            self._steady,
            seconds=valkey.TIMEOUT_SECONDS,
            queue_seconds=self.settings.timeouts.queue_seconds,
            connectors=list(self.settings.connectors),
        )
        return FallbackCounters(store, memory, self._steady, lambda: self._processes.count)

    def _new_witnesses(self) -> list[Witness]:
        """Return the records outside the database that reveal that it was restored from a backup."""
        file = database_file(self.database.url) if self.database.embedded else None
        witnesses: list[Witness] = [] if file is None else [FileWitness(file)]
        return [*witnesses, self._shared] if isinstance(self._shared, FallbackCounters) else witnesses

    def _new_connections(self, connectors: Mapping[str, AnyConnector]) -> ConnectionStore:
        changes = WatchLifecycle(connectors, self.clock, self.database.time)
        self._token_refresher = TokenRefresher(
            self.database, self._vault, self._tokens, changes, self.clock, steady=self._steady
        )
        return ConnectionStore(
            self.database,
            self._vault,
            connectors,
            self.clock,
            changes,
            token_refresher=self._token_refresher,
            steady=self._steady,
            quota=self.settings.quotas.connections,
        )

    def _new_account_lookup(self) -> AccountLookup:
        return AccountLookup(
            connectors=self.settings.connectors,
            shared=self._shared,
            transport=self._transport,
            clock=self._steady,
            timeouts=self.settings.timeouts,
            time=self.database.time,
        )

    def _new_connection_setup(self) -> ConnectionLifecycle:
        return ConnectionLifecycle(
            database=self.database,
            connections=self.connections,
            links=self._connect_links,
            tokens=self._tokens,
            accounts=self._accounts,
        )

    def _new_consent_flow(self) -> ConsentFlow:
        return ConsentFlow(
            database=self.database,
            vault=self._vault,
            connections=self.connections,
            links=self._connect_links,
            tokens=self._tokens,
            accounts=self._accounts,
            clock=self.clock,
            base_url=self.settings.base_url,
            quotas=self.settings.quotas,
        )

    async def sign_in_link(self, address: str) -> str:
        """Return a link to the console at *address* that signs in once, within ten minutes."""
        return f"{address}{SIGN_IN}?{LINK}={await self._sessions.create_link()}"

    async def retry_upstream(self) -> None:
        """Clear all vendor-requested delays, except those in a shared store."""
        if isinstance(self._shared, LocalCounters):
            self._shared.unblock()
        await self._watches.retry()

    def defer_polls(self) -> None:
        """Defer polls until ``start_polls``, and reserve the budgets for calls."""
        self._watches.enabled.clear()

    def start_polls(self) -> None:
        """Resume polls after ``defer_polls``."""
        self._watches.enabled.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open the database, the shared store and the transport to vendors, for commands."""
        async with self.database, self._open_shared_store(), self._transport:
            yield

    @asynccontextmanager
    async def _open_shared_store(self) -> AsyncIterator[None]:
        """Open the shared store, if there is one."""
        if not isinstance(self._shared, FallbackCounters):
            yield
            return
        installation_id, new = await get_or_create_installation(self.database)
        async with self._shared.open(installation_id, is_new=new):
            yield

    def _new_hooks(self, verification: HookVerification) -> InboundHooks:
        return InboundHooks(
            database=self.database,
            vault=self._vault,
            watches=self._watches,
            feed=self._feed,
            connections=self.connections,
            connectors=self._connectors_with_events,
            clock=self.clock,
            verification=verification,
        )

    def _new_delivery_worker(self) -> DeliveryWorker:
        return DeliveryWorker(
            positions=self._positions,
            webhooks=self.webhooks,
            sender=self._sender,
            runs=self.runs,
            vault=self._vault,
            connectors=self._connectors,
            clock=self.clock,
        )

    def _new_process_heartbeats(
        self, process_id: ProcessId, monotonic: Callable[[], float], *, single_instance: bool
    ) -> ProcessHeartbeats:
        return ProcessHeartbeats(
            self.database,
            process_id,
            self.clock,
            runs=self.runs,
            claims=self._claims,
            single_instance=single_instance,
            shutdown=self.shutdown,
            jobs=(
                self.restores.count_epoch,
                self.runs.rejected_calls.commit,
                self._shared.evict_idle,
                self.audit.commit,
            ),
            monotonic=monotonic,
        )

    def _new_job_runner(self) -> JobRunner:
        retention = RunRetention(self.database, self.clock, self.settings.keep_runs_days)
        jobs = (
            retention.purge_runs,
            retention.purge_rate_limited,
            self._claims.purge,
            self._owners.purge,
            self._change_log.purge,
        )
        rare_jobs = (
            self._feed.purge,
            self._connect_links.purge,
            self._sessions.purge,
            self._positions.purge,
            self.keys.last_used.store_last_used,
            self.connections.last_used.store_last_used,
            *([self._agents.purge] if self.settings.agent_oauth else ()),
        )
        return JobRunner(self._steady, always=jobs, rare=rare_jobs, wait_until_idle=self.database.wait_until_idle)

    def http(self, example_values: Values = RECORDED) -> AsgiApp:
        """Return the HTTP service, whose lifespan opens and closes everything. Examples use *example_values*."""
        executor = self._new_call_executor()
        poll_scheduler = self._new_poll_scheduler(executor)
        metrics = Metrics(
            self.runs.vendor_changes,
            self.clients.rejections,
            self._shared,
            self._new_process_metrics(executor, poll_scheduler),
        )
        api_context = ApiContext(
            executor,
            self.keys,
            self._limits,
            metrics,
            self.shutdown,
            throttle=TokenThrottle(self._steady),
            max_body_bytes=self.settings.max_body_bytes,
        )
        service = Service(
            self._connectors,
            api_context,
            self.management,
            self.hooks,
            self._new_consent_flow(),
            self.clock,
            metrics,
            self._new_checks(),
            self._shared,
            self.clients,
            self.settings.metrics_token,
            self.settings.base_url,
            self.settings.download_path,
            self._feed,
            self._usage,
            self._sessions,
            self._new_mcp_endpoint(api_context),
            partial(read_onboarding_checklist, self.database),
            example_values,
            self._peers,
            self.settings.admin_port,
            partial(self._agent_routes, api_context) if self.settings.agent_oauth else lambda _: (),
        )
        app = application(service, partial(self._lifespan, poll_scheduler, metrics))
        return self._wrap(app)

    def _new_mcp_endpoint(self, edge: ApiContext) -> McpEndpoint:
        """Return the MCP endpoint. If clients are authorised with OAuth, it accepts their tokens too."""
        url, selector = self.settings.base_url, UsableConnections(self.database)
        if not self.settings.agent_oauth:
            return McpEndpoint(edge, selector, self.runs, self._connectors, url)
        challenge = f'Bearer resource_metadata="{resource_metadata_url(url)}", scope="read write"'.encode()
        edge = replace(edge, keys=self._agents)
        return McpEndpoint(edge, selector, self.runs, self._connectors, url, challenge=challenge)

    @cached_property
    def _agents(self) -> Agents:
        return Agents(self.database, self.keys, self.clock, self._steady)

    def _agent_routes(self, edge: ApiContext, pages: Pages) -> Sequence[Route]:
        # The package for the protocol is slow to import.
        routes: Sequence[Route] = import_module("connector_gateway.http.agents.routes").agent_routes(
            edge,
            agents=self._agents,
            audit=self.audit,
            signer=CursorSigner(SecretKeys(self.settings.secret_keys), "agents"),
            selector=UsableConnections(self.database),
            connectors=self._connectors,
            pages=pages,
            clock=self.clock,
            base_url=self.settings.base_url,
            files=self._files,
        )
        return routes

    def _wrap(self, app: AsgiApp) -> AsgiApp:
        """Wrap *app* in middleware for tracing, the access log and forwarded client IPs."""
        if self._tracing is not None:
            app = self._tracing.middleware(app)
        if self.settings.access_log:
            app = AccessLogMiddleware(app)
        proxies, header = self.settings.trusted_proxies, self.settings.forwarded_header
        return ForwardedClient(app, proxies, header) if proxies else app

    def _new_process_metrics(self, executor: CallExecutor, poll_scheduler: PollScheduler) -> ProcessMetrics:
        return ProcessMetrics(
            MetricSources(
                usage=self._usage,
                transport=self._transport,
                database=self.database,
                clients=self.clients,
                backlogs=BacklogMonitor(self.database, self._steady),
                calls_in_progress=lambda: executor.active_calls,
                results={
                    "gateway_hook_deliveries": self.hooks.results,
                    "gateway_polls": poll_scheduler.results,
                    "gateway_token_refreshes": self._token_refresher.results,
                    "gateway_webhook_attempts": self.delivery_worker.results,
                },
            )
        )

    def _new_checks(self) -> dict[str, Check]:
        checks: dict[str, Check] = {"database": self._processes.prove_writable}
        return checks | ({"shared_store": self._shared.check} if isinstance(self._shared, FallbackCounters) else {})

    @property
    def management(self) -> Management:
        """The services that management routes use."""
        return Management(
            self._connectors,
            self.workspaces,
            self.keys,
            self.connections,
            self.connection_setup,
            self.runs,
            self.hooks,
            self.webhooks,
            self._cursors,
            self.operators,
            self.audit,
            self.settings.agent_oauth,
        )

    @asynccontextmanager
    async def _lifespan(self, poll_scheduler: PollScheduler, metrics: Metrics, _: Router) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            # The order matters: nothing is opened while another process uses the database, and polls and deletes start
            # only after the first heartbeat.
            await stack.enter_async_context(self._lock)
            stack.callback(self.database.dispose)
            await self._processes.wait_until_single()
            await stack.enter_async_context(self.database)
            await check_decryptable(self.database, self._vault)
            await stack.enter_async_context(self._open_shared_store())
            await stack.enter_async_context(self._transport)
            await stack.enter_async_context(self.restores)
            await stack.enter_async_context(self._processes)
            await stack.enter_async_context(self._jobs)
            await stack.enter_async_context(JobRunner(self._steady, always=[self._idle_refresher.refresh_idle_tokens]))
            if self.settings.watch:
                await stack.enter_async_context(poll_scheduler)
                await stack.enter_async_context(self.delivery_worker)
            if self._peers is not None:
                await stack.enter_async_context(self._peers.serve_peers(metrics))
            yield

    def _new_poll_scheduler(self, executor: CallExecutor) -> PollScheduler:
        return PollScheduler(
            database=self.database,
            watches=self._watches,
            feed=self._feed,
            connections=self.connections,
            runs=self.runs,
            processes=self._processes,
            connectors=self._connectors_with_events,
            client=executor.poll_client,
            clock=self.clock,
        )

    def _new_call_executor(self) -> CallExecutor:
        return CallExecutor(
            connectors=self.settings.connectors,
            runs=self.runs,
            limits=self._limits,
            connections=self.connections,
            connection_setup=self.connection_setup,
            write_protocol=WriteExecutor(
                database=self.database,
                claims=self._claims,
                owners=self._owners,
                change_log=self._change_log,
                vault=self._vault,
                restores=self.restores,
                resolver=InDoubtResolver(
                    self.database, self._owners, self._steady, self.settings.timeouts.grace_seconds
                ),
            ),
            cursors=self._cursors,
            confirmations=Confirmations(
                CursorSigner(SecretKeys(self.settings.secret_keys), "confirmations"), self.clock
            ),
            links=self._links,
            files=self._files,
            shared=self._shared,
            transport=self._transport,
            clock=self._steady,
            timeouts=self.settings.timeouts,
            max_calls=self.settings.max_calls,
            max_buffered_bytes=self.settings.clients.held_bytes,
            events=self._feed,
            time=self.database.time,
            fence=self._processes.fence,
            processes=lambda: self._processes.count,
            shutdown=self.shutdown,
            usage=self._usage,
        )
