"""The real gateway on a real socket, and a readable client."""

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from json import dumps, loads
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
import uvicorn.server
from sqlalchemy import delete
from urllib3 import BaseHTTPResponse, PoolManager

from connector_gateway.app import App
from connector_gateway.cli.installation_settings import emulator_settings
from connector_gateway.cli.serve.server import server
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.access.keys import KeyScope
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.settings import Settings
from connector_gateway.storage.shared.interface import UPSTREAM
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.sql import tables
from harness.databases import sqlite_in
from harness.openapi_check import check_details, check_response
from harness.secret_leaks import LEAKS, Overheard
from harness.wait import wait_until
from workspace_sandbox.sandbox import Sandbox

T = TypeVar("T")
MOST_AT_ONCE = 100
"""The calls of one caller."""

IDLE_SECONDS = 600
"""Longer than any silence of a caller."""

OPERATOR = "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU"
FAST = {
    "GATEWAY_WATCH": "off",
    "GATEWAY_GRACE_SECONDS": "0.15",
    "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "1",
}
"""Settings that avoid waits in tests, and keep polls out of journals.

Budgets are large unless a test is about pacing.
"""

WIDE = "100000/1"
BACKOFF_SECONDS = 0.001
SETTLE_SECONDS = "0.3"
"""Twice the grace time: the first call has an unknown outcome, and an immediate repeat waits and writes."""


class _Hurried:
    """Replaces the sleep of uvicorn, which checks ten times per second for its shutdown, and then sleeps once more."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Hurried()  # type: ignore[assignment, attr-defined]  # what it has imported


GENERAL = [("place", "request"), ("parameter", "connection_id"), ("header", "Authorization")]
"""Locations that only repeat the code of an error."""


@dataclass(frozen=True)
class Reply:
    """A response of the gateway."""

    status: int
    headers: httpx.Headers
    body: Any

    @property
    def data(self) -> Any:
        """The ``data`` of a success. Raises for an error, with its body."""
        assert 200 == self.status, self.body
        return self.body["data"]

    @property
    def code(self) -> str:
        """The code of an error. Raises for a success."""
        assert self.status >= 400, self.body
        code: str = self.body["error"]["code"]
        return code

    @property
    def details(self) -> list[dict[str, Any]]:
        """The details of an error."""
        details: list[dict[str, Any]] = self.body["error"]["details"]
        return details

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The details of an error without its code, and without a location that all errors of that code have."""
        codes = {detail["code"] for detail in self.details if "code" in detail}
        assert codes <= {self.code}, self.body
        shared = [("code", self.code), *GENERAL]
        details = [{name: value for name, value in one.items() if (name, value) not in shared} for one in self.details]
        return [detail for detail in details if detail]


def parse_reply(status: int, headers: list[tuple[str, str]], body: bytes) -> Reply:
    """Parse a response."""
    named = httpx.Headers(headers)
    is_json = named.get("content-type", "").endswith(("/json", "+json"))
    return Reply(status, named, loads(body) if is_json else body)


@dataclass
class Gateway:
    """A caller of the gateway: a key, and a connection per connector that is added to every call."""

    base_url: str
    app: App
    sandbox: Sandbox
    key: str
    workspace_id: WorkspaceId
    connections: dict[str, str]
    loop: asyncio.AbstractEventLoop
    http: httpx.Client = field(repr=False, default_factory=lambda: httpx.Client(timeout=60))
    pool: PoolManager = field(repr=False, default_factory=lambda: PoolManager(maxsize=MOST_AT_ONCE, timeout=60))
    """The client of calls, which takes half of the time of an httpx client."""

    opened: ExitStack = field(repr=False, default_factory=ExitStack)
    """Closed together with the gateway."""

    def get(self, path: str, /, **query: Any) -> Reply:
        """Send ``GET /v1/connectors{path}``."""
        return self.request("GET", f"/v1/connectors{path}", params=self._with_connection(path, query))

    def pages(self, path: str, /, **query: Any) -> list[Reply]:
        """Return the replies for every page of a list."""
        pages = [self.get(path, **query)]
        while cursor := pages[-1].body["next_cursor"]:
            pages.append(self.get(path, **query | {"cursor": cursor}))
        return pages

    def items(self, path: str, /, **query: Any) -> list[dict[str, Any]]:
        """Return the items of every page of a list."""
        return [item for page in self.pages(path, **query) for item in page.data]

    def post(self, path: str, /, headers: Mapping[str, str] | None = None, **body: Any) -> Reply:
        """Send ``POST /v1/connectors{path}``."""
        return self.request("POST", f"/v1/connectors{path}", json=self._with_connection(path, body), headers=headers)

    def patch(self, path: str, /, headers: Mapping[str, str] | None = None, **body: Any) -> Reply:
        """Send ``PATCH /v1/connectors{path}``."""
        return self.request("PATCH", f"/v1/connectors{path}", json=self._with_connection(path, body), headers=headers)

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        *,
        params: Any = None,
        json: Any = None,
        content: Any = None,
    ) -> Reply:
        """Send a request, with this caller's key unless *headers* override it."""
        sent = {"Authorization": f"Bearer {self.key}"} | dict(headers or {})
        address = self.base_url + path + (f"?{httpx.QueryParams(params)}" if params else "")
        response = self._sent(method, address, sent, json, content)
        reply = parse_reply(response.status, list(response.headers.items()), response.data)
        if method != "HEAD":
            check_response(method, path, reply.status, reply.headers, reply.body)
            check_details(reply.status, reply.body)
        return reply

    def operator(self, method: str, path: str, **more: Any) -> Reply:
        """Send a management request with the operator's token."""
        return self.request(method, path, headers={"Authorization": f"Bearer {OPERATOR}"}, **more)

    def with_key(self, scope: KeyScope = "read_write", **more: Any) -> "Gateway":
        """Return the same caller with a new key of its workspace."""
        key = self.run(self.app.keys.create(self.workspace_id, scope, **more))["key"]
        return replace(self, key=key)

    def for_caller_of(self, caller: "Gateway") -> "Gateway":
        """Return this gateway with the key and connections of *caller*, which it knows as well."""
        return replace(self, key=caller.key, workspace_id=caller.workspace_id, connections=caller.connections)

    def together(self, *calls: Callable[[], T]) -> list[T]:
        """Run *calls* concurrently, and return their results."""
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(lambda call: call(), calls))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run *coroutine* on the gateway's loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    # The vendors: received requests and injected faults

    def journal(self, connector: str) -> Sequence[tuple[str, str, int | None]]:
        """Return method, path and status of the vendor requests since the last ``clear``."""
        return [(seen.method, seen.path, seen.status) for seen in self.sandbox.emulators[connector].context.request_log]

    def clear(self, connector: str) -> None:
        """Clear journal and faults, unblock budgets, and reset the knobs with limits off.

        What a fault still holds up goes on and is waited for, so that it is in no later journal.
        """
        stage = self.sandbox.emulators[connector].context
        stage.clear_faults()
        wait_until(lambda: not stage.requests_in_progress)
        stage.request_log.clear()
        stage.knobs.update({**stage.default_knobs, "limits": False})
        self.run(self._open_budgets(connector))

    def forget_writes(self) -> None:
        """Delete the ownership of objects, since the reset vendor issues the same identifiers again."""

        async def forget() -> None:
            await self.app.database.write(lambda db: db.execute(delete(tables.owned)).rowcount)
            await self.app.database.write(lambda db: db.execute(delete(tables.changed)).rowcount)

        self.run(forget())

    async def _open_budgets(self, connector: str) -> None:
        """Unblock the budgets that errors have blocked."""
        if isinstance(self.app._shared, LocalCounters):
            self.app._shared.unblock(f"{UPSTREAM}:{connector}:")

    def fault(self, connector: str, **options: Any) -> None:
        """Inject a fault into the next matching vendor request (see the control route)."""
        self._control(connector, "faults", options)

    def knob(self, connector: str, **knobs: Any) -> None:
        """Set knobs of the emulator."""
        self._control(connector, "knobs", knobs)

    def act(self, connector: str, **action: Any) -> Any:
        """Perform a user action at the vendor."""
        return self._control(connector, "act", action)

    def revoke(self, connector: str) -> None:
        """Revoke the authorisation."""
        self._control(connector, "revoke", {})

    def authorise(self, connector: str) -> None:
        """Restore the authorisation."""
        self._control(connector, "authorise", {})

    def examples(self, connector: str) -> dict[str, Any]:
        """Return identifiers of seeded objects."""
        return self.sandbox.emulators[connector].examples()

    def _control(self, connector: str, what: str, body: Mapping[str, Any]) -> Any:
        reply = self._sent("POST", f"{self.sandbox.address}/_control/{connector}/{what}", {}, dict(body))
        assert 200 == reply.status, reply.data
        return loads(reply.data)

    def _sent(
        self, method: str, address: str, headers: Mapping[str, str], json: Any, content: Any = None
    ) -> BaseHTTPResponse:
        if json is not None:
            content = dumps(json, ensure_ascii=False, allow_nan=False).encode()
            headers = {"Content-Type": "application/json", **headers}
        return self.pool.request(method, address, content, headers=headers, redirect=False, retries=False)

    def _with_connection(self, path: str, values: dict[str, Any]) -> dict[str, Any]:
        connector = path.split("/")[1]
        if "connection_id" in values or connector not in self.connections:
            return values
        return {"connection_id": self.connections[connector]} | values


@contextmanager
def run_gateway(
    sandbox: Sandbox,
    folder: Path,
    *,
    connectors: Mapping[str, AnyConnector] = CONNECTORS,
    database_url: str | None = None,
    files: PublicFileFetcher | None = None,
    alone: bool = True,
    port: int = 0,
    **settings: str,
) -> Iterator[Gateway]:
    """Run a gateway in front of *sandbox*, with a workspace, a key with a high limit and the connections.

    One that is not *alone* may share its database with another. One whose *port* is given has an address that others
    can be told before it is started.
    """
    environment = {
        "GATEWAY_DATABASE_URL": database_url or sqlite_in(folder),
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_OPERATOR_TOKEN": OPERATOR,
    }
    budgets = {f"GATEWAY_{name.upper()}_BUDGET": WIDE for name in connectors}
    settling = {f"GATEWAY_{name.upper()}_SETTLE_SECONDS": SETTLE_SECONDS for name in connectors}
    if port:
        environment["GATEWAY_BASE_URL"] = f"http://127.0.0.1:{port}"
    read = Settings.read(
        environment | settings_for(sandbox, connectors) | budgets | settling | FAST | settings, connectors
    )
    read = replace(read, timeouts=replace(read.timeouts, backoff_seconds=BACKOFF_SECONDS))
    app = App(read, connectors=connectors, files=files, single_instance=alone)
    LEAKS.learn([OPERATOR], "the operator token")
    LEAKS.learn((one.client.client_secret for one in read.connectors.values() if one.client), "a secret of a client")
    running = server(cast(Any, Overheard(app.http())), "127.0.0.1", port)
    # A call that is sent while the gateway closes an idle connection gets no response.
    running.config.timeout_keep_alive = IDLE_SECONDS
    thread = threading.Thread(target=running.run, name="gateway", daemon=True)
    thread.start()
    try:
        wait_until(lambda: running.started or not thread.is_alive())
        assert running.started, "the gateway did not start"
        port = running.servers[0].sockets[0].getsockname()[1]
        loop = running.servers[0].get_loop()
        gateway = _caller(f"http://127.0.0.1:{port}", app, sandbox, loop, connectors)
        with gateway.http, gateway.pool, gateway.opened:
            yield gateway
    finally:
        running.should_exit = True
        thread.join(60)
        variables = [line for ending in ("", "-wal") for line in LEAKS.stored(folder / f"gateway.db{ending}")]
    assert [] == variables


def settings_for(sandbox: Sandbox, connectors: Collection[str] = tuple(CONNECTORS)) -> dict[str, str]:
    """Return the settings that direct a gateway to the emulators of *sandbox*."""
    described = sandbox.describe()
    upstreams = {name: one for name, one in described["upstreams"].items() if name in connectors}
    return emulator_settings(upstreams, described["clients"])


def _caller(
    base_url: str, app: App, sandbox: Sandbox, loop: asyncio.AbstractEventLoop, connectors: Mapping[str, Any]
) -> Gateway:
    async def prepare() -> tuple[WorkspaceId, str, dict[str, str]]:
        workspace_id = WorkspaceId((await app.workspaces.create("tests", "paid"))["workspace_id"])
        key = (await app.keys.create(workspace_id, "read_write", calls_per_minute=1_000_000))["key"]
        connections = {
            name: (await app.connections.create(workspace_id, name, emulator.credentials()))["connection_id"]
            for name, emulator in sandbox.emulators.items()
            if name in connectors
        }
        return workspace_id, key, connections

    workspace_id, key, connections = asyncio.run_coroutine_threadsafe(prepare(), loop).result(60)
    return Gateway(base_url, app, sandbox, key, workspace_id, connections, loop)


Restarting = Callable[[], AbstractContextManager[Gateway]]
"""Starts a gateway on the same state with empty caches each time it is called."""


def restartable_gateway(sandbox: Sandbox, folder: Path, **more: Any) -> Restarting:
    """Return a function that restarts a gateway on the state in *folder*, with the key and connections of the first."""
    first: list[Gateway] = []

    @contextmanager
    def start() -> Iterator[Gateway]:
        with run_gateway(sandbox, folder, **more) as gateway:
            first.append(gateway)
            yield gateway.for_caller_of(first[0])

    return start
