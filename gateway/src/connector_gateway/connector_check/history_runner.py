"""A history: calls of one connector through the whole gateway, with faults, in virtual time."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic_core import from_json, to_json
from structlog.testing import capture_logs

from connector_gateway.app import App
from connector_gateway.connector_check.emulated_vendor import (
    CALLER,
    EmulatedTransport,
    EmulatedVendor,
    LoopClock,
    Network,
    SentRequest,
)
from connector_gateway.connector_check.observed_steps import observe
from connector_gateway.connector_check.virtual_time import VirtualTimeLoop
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.settings import Settings
from connector_gateway.storage.sql.database import Database

TIMEOUT_SECONDS = 10.0
BEGIN_SECONDS = 700.0
"""The age of the vendor's default data at the start of a history."""

PATIENCE_SECONDS = 900.0
"""The time within which a caller that repeats a write gets a final response."""

REPEAT_SECONDS = 4.0

FIRST = "first"
"""The caller whose requests have the faults."""

Play = Callable[["History"], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Phase:
    """The life of one gateway process."""

    play: Play
    database: str = "own"
    """The database of the process. Another name stands for a client that this installation knows nothing of."""

    pause_seconds: float = 0.0
    """Seconds before its start."""


@dataclass(frozen=True)
class Reply:
    """A response of the gateway."""

    status: int
    text: str
    """Headers and body."""

    body: Any

    @property
    def is_ok(self) -> bool:
        """Whether the call succeeded."""
        return self.status == 200

    @property
    def code(self) -> str:
        """The code of an error."""
        return "" if self.is_ok else str(self.body["error"]["code"])

    @property
    def is_final(self) -> bool:
        """Whether it is a result, or an error that a repeat with the same key would not change."""
        if self.code == "outcome_unknown":
            return self.is_permanently_unknown
        return self.is_ok or (400 <= self.status < 500 and self.status != 429 and not self.retry_seconds)

    @property
    def is_permanently_unknown(self) -> bool:
        """Whether only the caller can find out what happened."""
        details = self.body["error"].get("details") or () if self.code == "outcome_unknown" else ()
        return any("changed_since" in detail for detail in details)

    @property
    def retry_seconds(self) -> float:
        """The seconds to wait before a repeat."""
        return 0.0 if self.is_ok else float(self.body.get("retry_after") or 0.0)


NO_RESPONSE = Reply(0, "", {"error": {"code": "no_response", "message": "The call did not end."}})


class _Files(PublicFileFetcher):
    """Files behind public URLs, without a network."""

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        """Return the same small file for every URL."""
        del url, keep_bytes
        return RemoteFile("example.txt", "text/plain", 7, b"Example")


@dataclass(frozen=True)
class Subject:
    """The connector to check, its emulator, and an installation with one connection, which every history copies."""

    connector: AnyConnector
    vendor: EmulatedVendor
    folder: Path
    key: str
    connection_id: str
    credentials: Mapping[str, str]
    settings: Settings

    def arguments(self, operation: AnyOperation, number: int = 0) -> Mapping[str, Any]:
        """Return the arguments of an example of *operation*, without a key."""
        example = operation.examples[number](self.vendor.examples)
        return {name: value for name, value in example.items() if name != "idempotency_key"}


@contextmanager
def open_subject(connector: AnyConnector, emulator: type[Any]) -> Iterator[Subject]:
    """Create the installation of a connector, and delete it after the context."""
    observed = observe(connector)
    vendor = EmulatedVendor(observed, emulator)
    with TemporaryDirectory(prefix="connector-check-") as folder:
        settings = Settings.read(
            {
                "GATEWAY_DATABASE_URL": f"sqlite:///{folder}/template.db",
                "GATEWAY_SECRET_KEYS": "a secret that only checks know",
                "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef0123456789abcdef",
                "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
                "GATEWAY_WATCH": "off",
                **{
                    f"GATEWAY_{connector.name.upper()}_{host.upper()}_URL": address
                    for host, address in vendor.emulator.context.addresses.items()
                },
            },
            {connector.name: observed},
        )
        credentials = vendor.emulator.credentials()
        loop = VirtualTimeLoop()
        key, connection_id = loop.run_until_complete(_install(observed, settings, credentials))
        loop.close()
        yield Subject(observed, vendor, Path(folder), key, connection_id, credentials, settings)


async def _install(connector: AnyConnector, settings: Settings, credentials: Mapping[str, str]) -> tuple[str, str]:
    app = App(settings, connectors={connector.name: connector}, clock=LoopClock(), single_instance=False)
    async with app.database:
        workspace = (await app.workspaces.create("check", "paid"))["workspace_id"]
        key = (await app.keys.create(workspace, "read_write", calls_per_minute=100_000))["key"]
        connection = await app.connections.create(workspace, connector.name, credentials)
    return key, connection["connection_id"]


async def _cancel_tasks() -> None:
    """Cancel everything that remains. A task may wait for others while it ends, so it is cancelled again."""
    while remaining := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in remaining:
            task.cancel()
        await asyncio.wait(remaining, timeout=1)


class History:
    """One history of a connector. Each of its phases is the life of one gateway process."""

    _numbers = count()

    def __init__(self, subject: Subject, situation: str, seed: int) -> None:
        self.subject = subject
        self.situation = situation
        """The events, as the end of a sentence."""

        self.seed = seed
        self.vendor = subject.vendor
        self.vendor.reset()
        self.random = Random(f"{seed} {situation}")
        self.network = Network(self.vendor, self.random)
        self.replies: list[tuple[str, Reply]] = []
        """The responses, each with its caller."""

        self.logs: Sequence[Any] = ()
        self.crash_at: tuple[tuple[str, int], bool] | None = None
        """The place of the request at which the process dies, and whether after its response."""

        self._now = BEGIN_SECONDS
        self._folder = subject.folder / str(next(self._numbers))
        self._folder.mkdir()

    @property
    def sent(self) -> Sequence[SentRequest]:
        """The requests to the vendor, in order."""
        return self.network.sent

    def of(self, caller: str) -> Sequence[Reply]:
        """Return the responses to *caller*."""
        return [reply for name, reply in self.replies if name == caller]

    def run(self, *phases: Phase) -> "History":
        """Run *phases*, each with a new process."""
        with capture_logs() as logs:
            for phase in phases:
                self._live(phase)
        self.logs = logs
        return self

    def read_databases(self) -> Iterator[bytes]:
        """Yield the contents of all files of the databases, and delete them."""
        for file in self._folder.iterdir():
            yield file.read_bytes()
        shutil.rmtree(self._folder)

    def _live(self, phase: Phase) -> None:
        loop = VirtualTimeLoop(self._now + phase.pause_seconds)
        loop.set_exception_handler(lambda *_: None)
        try:
            was_killed = loop.run_until_complete(self._run(phase))
            self._now = loop.time()
            files = {file: file.read_bytes() for file in self._folder.iterdir()} if was_killed else {}
        finally:
            loop.run_until_complete(_cancel_tasks())
            loop.close()
        # A killed process writes nothing more.
        for file, content in files.items():
            file.write_bytes(content)

    async def _run(self, phase: Phase) -> bool:
        """Run *phase*, and return True if its process was killed."""
        died = asyncio.get_running_loop().create_future()

        async def die(sent: SentRequest, *, responded: bool) -> None:
            if (sent.place, responded) == self.crash_at and sent.caller == FIRST:
                self.crash_at = None
                died.set_result(None)
                # The call must not go on before the process has ended.
                await asyncio.get_running_loop().create_future()

        self.network.on_send = partial(die, responded=False)
        self.network.on_response = partial(die, responded=True)
        living = asyncio.create_task(self._open(phase))
        await asyncio.wait([died, living], return_when=asyncio.FIRST_COMPLETED)
        if not died.done():
            living.result()
        return died.done()

    async def _open(self, phase: Phase) -> None:
        async with self.vendor.serving(), self._gateway(phase.database) as client:
            self._client = client
            await phase.play(self)

    @asynccontextmanager
    async def _gateway(self, database: str) -> AsyncIterator[httpx2.AsyncClient]:
        subject, clock = self.subject, LoopClock()
        file = self._folder / f"{database}.db"
        if not file.exists():
            shutil.copyfile(subject.folder / "template.db", file)
        settings = replace(subject.settings, database_url=f"sqlite:///{file}")
        app = App(
            settings,
            connectors={subject.connector.name: subject.connector},
            clock=clock,
            database=Database(
                settings.database_url,
                seconds=settings.storage_seconds,
                clock=clock.now,
                # The loop does their work itself.
                readers=ThreadPoolExecutor(1),
                writer=ThreadPoolExecutor(1),
            ),
            monotonic=asyncio.get_running_loop().time,
            single_instance=False,
            files=_Files(2, 1_000_000),
            transport=EmulatedTransport(self.network, TIMEOUT_SECONDS),
        )
        http = app.http()
        async with (
            http.lifespan(),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=http),
                base_url="http://gateway.invalid",
                headers={"Authorization": f"Bearer {subject.key}"},
                timeout=None,
            ) as client,
        ):
            yield client

    # Calls, within a phase

    async def call(
        self, operation: AnyOperation, arguments: Mapping[str, Any], *, key: str | None = None, caller: str = FIRST
    ) -> Reply:
        """Call an operation once."""
        CALLER.set(caller)
        in_path = {name: quote(str(arguments[name]), safe="") for name in operation.path_names}
        values = {name: value for name, value in arguments.items() if name not in in_path}
        values = {"connection_id": self.subject.connection_id, **values}
        path = f"/v1/connectors/{self.subject.connector.name}{operation.path.format(**in_path)}"
        sent: dict[str, Any] = (
            {"params": values} if operation.method in {"GET", "DELETE"} else {"content": to_json(values)}
        )
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                response = await self._client.request(operation.method, path, headers=headers, **sent)
        except TimeoutError:
            reply = NO_RESPONSE
        else:
            text = f"{dict(response.headers)} {response.text}"
            reply = Reply(response.status_code, text, from_json(response.content))
        self.replies.append((caller, reply))
        return reply

    async def repeat(
        self, operation: AnyOperation, arguments: Mapping[str, Any], *, key: str, caller: str = FIRST
    ) -> Reply:
        """Call an operation until the response is final, or the caller's patience ends."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_SECONDS
        while True:
            reply = await self.call(operation, arguments, key=key, caller=caller)
            if reply.is_final or loop.time() > until:
                return reply
            await asyncio.sleep(max(REPEAT_SECONDS, reply.retry_seconds))
