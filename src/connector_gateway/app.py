"""The one place where objects are built and joined."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.routing import Router

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.connections import Connections, Vault
from connector_gateway.core.cursors import Cursors
from connector_gateway.core.files import Files
from connector_gateway.core.gateway import Gateway
from connector_gateway.core.idempotency import Claims
from connector_gateway.core.keys import Keys
from connector_gateway.core.limits import Limits
from connector_gateway.core.links import Links
from connector_gateway.core.processes import Processes
from connector_gateway.core.runs import Runs
from connector_gateway.core.secrets import SecretKeys
from connector_gateway.core.workspaces import Workspaces
from connector_gateway.http import Service, application
from connector_gateway.http.accounts import Accounts
from connector_gateway.http.metrics import Metrics
from connector_gateway.http.routes import Edge
from connector_gateway.kit.clock import Clock, SystemClock
from connector_gateway.kit.identifiers import ProcessId, ulid
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.transport import Transport
from connector_gateway.settings import DAY_SECONDS, Settings
from connector_gateway.storage.database import Database
from connector_gateway.storage.shared import Memory


class App:
    """An installation: everything there is one of."""

    def __init__(
        self,
        settings: Settings,
        *,
        connectors: Mapping[str, AnyConnector] = CONNECTORS,
        clock: Clock | None = None,
        files: Files | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock or SystemClock()
        self.database = Database(settings.database_url)
        secrets = SecretKeys(settings.secret_keys)
        process_id = ProcessId(f"proc_{ulid()}")
        self.workspaces = Workspaces(self.database, self.clock)
        self.keys = Keys(self.database, self.clock)
        self.connections = Connections(self.database, Vault(secrets), connectors, self.clock)
        self.runs = Runs(self.database, process_id, self.clock)
        self._connectors = connectors
        self._cursors = Cursors(secrets)
        self._links = Links(secrets, settings.download_base, settings.link_seconds, self.clock)
        self._files = files or Files(settings.upstream_timeout_seconds, settings.max_file_bytes)
        self._shared = Memory(self.clock)
        self._limits = Limits(self._shared)
        self._claims = Claims(self.database, process_id, self.clock)
        self._transport = Transport(settings.upstream_timeout_seconds)
        self._processes = Processes(
            self.database,
            process_id,
            self.runs,
            self._claims,
            self.clock,
            keep_runs_seconds=settings.keep_runs_days * DAY_SECONDS,
        )

    def http(self) -> Router:
        """The service over HTTP; what stands behind it is opened and closed with it."""
        metrics = Metrics()
        edge = Edge(
            self._gateway(),
            self.keys,
            self._limits,
            metrics,
            max_body_bytes=self.settings.max_body_bytes,
        )
        accounts = Accounts(
            edge,
            self.workspaces,
            self.keys,
            self.connections,
            self.runs,
            self._cursors,
            self.settings.operator_token,
        )
        service = Service(
            self._connectors,
            edge,
            accounts,
            metrics,
            {"database": self.database.ping},
            self.settings.base_url,
            self.settings.download_path,
        )
        return application(service, self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _: Router) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.database)
            await stack.enter_async_context(self._transport)
            await stack.enter_async_context(self._processes)
            yield

    def _gateway(self) -> Gateway:
        return Gateway(
            sites=self.settings.sites,
            runs=self.runs,
            limits=self._limits,
            connections=self.connections,
            claims=self._claims,
            cursors=self._cursors,
            links=self._links,
            files=self._files,
            shared=self._shared,
            transport=self._transport,
            clock=self.clock,
            patience=self.settings.patience,
            max_calls=self.settings.max_calls,
        )
