"""A process of the gateway that can be killed, frozen and restarted, and its responses to callers."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pydantic_core import from_json, to_json

from connector_gateway.app import App
from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from connector_gateway.storage.sql.database import Database
from harness.clocks import NOON
from simulation.failing_storage import Storage, attach
from simulation.vendors import CALL, Vendors
from simulation.virtual_time_loop import HOST, later, simulated_loop

Note = Callable[..., None]
LONGEST_WORK_SECONDS = 0.004


class WallClock:
    """The wall clock of one machine, which can be set forward and back."""

    def __init__(self) -> None:
        self.skew = 0.0

    def now(self) -> float:
        return NOON + self.skew + asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class SteadyTime(WallClock):
    """The clock of a process, with the offset of the wall clock at its start."""

    def __init__(self, skew: float) -> None:
        super().__init__()
        self.skew = skew


def steady_time() -> float:
    """The database's clock, which is always correct."""
    return NOON + asyncio.get_running_loop().time()


@dataclass(frozen=True)
class Reply:
    """A response to a caller. The status is 0 if the connection broke."""

    status: int
    body: Any = None

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.body["error"]["code"]) if self.status >= 400 else ""

    @property
    def undecided(self) -> bool:
        """Whether the outcome of the write is permanently unknown."""
        details = self.body["error"].get("details") or ()
        return any(detail.keys() & {"changed_since", "other_account", "restored"} for detail in details)

    @property
    def run_id(self) -> str | None:
        return self.body.get("run_id") if self.status else None

    @property
    def summary(self) -> str:
        """The response in one or two words."""
        return {0: "cut", 200: "200"}.get(self.status, f"{self.status} {self.code}")


BROKEN = Reply(0)


@dataclass
class Process:
    """One process: the application, its clock, and its state."""

    name: str
    settings: Settings
    storage: Storage
    vendors: Vendors
    random: Random
    note: Note
    files: Any = None
    clock: WallClock = field(default_factory=WallClock)
    crash_after: int | None = None
    """The number of further moves (a commit, a request, a response) until it dies."""

    alive: bool = False
    frozen: bool = False
    generation: int = 0

    def __post_init__(self) -> None:
        self._paused: list[asyncio.Handle] = []
        self.died: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Set when it was killed."""

    async def start(self) -> None:
        """Start like the command, and wait until it is ready."""
        self.generation += 1
        self.alive, self.frozen, self._paused = True, False, []
        host = Incarnation(self)
        self.died = asyncio.get_running_loop().create_future()
        self._context = contextvars.copy_context()
        self._context.run(HOST.set, host)
        loop = asyncio.get_running_loop()
        self.app = App(
            self.settings,
            clock=self.clock,
            steady=SteadyTime(self.clock.skew),
            database=Database(self.settings.database_url, seconds=self.settings.storage_seconds, clock=steady_time),
            monotonic=loop.time,
            single_instance=False,
            files=self.files,
            transport=self.vendors.transport(host, self.settings.upstream_timeout_seconds),
        )
        attach(self.app.database, self.storage)
        self._http = self.app.http()
        self._closing = asyncio.get_running_loop().create_future()
        opened = asyncio.get_running_loop().create_future()
        self._living = asyncio.get_running_loop().create_task(self._live(opened), context=self._context)
        await asyncio.wait([opened, self.died, self._living], return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            self.kill()

    async def _live(self, opened: asyncio.Future[None]) -> None:
        async with self._http.lifespan():
            opened.set_result(None)
            await self._closing

    async def stop(self) -> None:
        """Shut down as after SIGTERM with no running call."""
        self._closing.set_result(None)
        await asyncio.wait([self._living, self.died], return_when=asyncio.FIRST_COMPLETED)
        self.alive = False

    def kill(self) -> None:
        """``kill -9``: none of its code runs again."""
        if self.alive:
            self.alive = False
            self.note("dies", self.name)
            self.died.set_result(None)

    def freeze(self, seconds: float) -> None:
        """Freeze for a while, like a suspended machine, and then continue."""
        if self.alive and not self.frozen:
            self.frozen = True
            self.note("freezes", self.name, seconds)
            later(seconds, self._thaw, self.generation)

    def _thaw(self, generation: int) -> None:
        if self.alive and self.frozen and generation == self.generation:
            self.frozen = False
            self.note("wakes", self.name)
            paused, self._paused = self._paused, []
            for handle in paused:
                simulated_loop()._ready.append(handle)

    def move(self) -> None:
        """Count a move, which can kill the process."""
        if self.crash_after is not None:
            self.crash_after -= 1
            if self.crash_after <= 0:
                self.crash_after = None
                self.kill()

    async def call(self, method: str, path: str, headers: Mapping[str, str], body: Any = None) -> Reply:
        """Return the response of this process to a request. Cancelling disconnects in the middle."""
        if not self.alive:
            return BROKEN
        loop, died = asyncio.get_running_loop(), self.died
        context = self._context.copy()
        context.run(CALL.set, CALL.get())
        serving = loop.create_task(self._serve(method, path, headers, body), context=context)
        ending: list[asyncio.Future[Any]] = [serving, died]
        try:
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            serving.cancel()
            raise
        if died.done() or serving.cancelled() or serving.exception():
            return BROKEN
        return serving.result()

    async def apart(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run *work* within this process, unless it is dead or dies meanwhile."""
        if not self.alive:
            work.close()
            return
        serving = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        await asyncio.wait([serving, self.died], return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and not serving.cancelled():
            serving.result()

    async def _serve(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Reply:
        content = b"" if body is None else to_json(body)
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        plain, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": plain,
            "raw_path": plain.encode(),
            "query_string": query.encode(),
            "headers": [*raw, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))],
            "http_version": "1.1",
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        messages = [{"type": "http.request", "body": content, "more_body": False}]
        answered: list[Any] = []

        async def receive() -> Any:
            if messages:
                return messages.pop()
            return await asyncio.get_running_loop().create_future()

        async def send(message: Any) -> None:
            answered.append(message)

        await self._http(scope, receive, send)
        status = next(part["status"] for part in answered if part["type"] == "http.response.start")
        content = b"".join(part.get("body", b"") for part in answered if part["type"] == "http.response.body")
        return Reply(status, from_json(content) if content else {})


class Incarnation:
    """One life of a process: after a kill, a new one starts, and no code of the old one runs."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.name = process.name
        self._generation = process.generation

    @property
    def alive(self) -> bool:
        return self.process.alive and self.process.generation == self._generation

    def take(self, handle: asyncio.Handle) -> bool:
        """Run the code of a live process; store it while frozen."""
        process = self.process
        if not process.alive or process.generation != self._generation:
            return False
        if process.frozen:
            process._paused.append(handle)
            return False
        return True

    def move(self) -> bool:
        """Count a move. Returns True if the process survives it."""
        if self.alive:
            self.process.move()
        return self.alive

    def work(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Run *function* soon, and return its result a little later, like a thread."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        later(self._lag() + self.process.storage.delay(), self._run, done, function, arguments)
        return done

    def _run(self, done: asyncio.Future[Any], function: Callable[..., Any], arguments: Any) -> None:
        if not self.move() or done.cancelled():
            return
        try:
            result, error = function(*arguments), None
        except Exception as raised:  # noqa: BLE001  # whoever waits for the work gets it
            result, error = None, raised
        if self.move():
            later(self._lag(), _settle, done, result, error)

    def _lag(self) -> float:
        return self.process.random.random() * LONGEST_WORK_SECONDS


def _settle(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)


def settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings of *environment*."""
    return Settings.read(environment, CONNECTORS)
