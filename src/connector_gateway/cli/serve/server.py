"""How the application is served: uvicorn, quiet, starting only where it can, and stopping well."""

import asyncio
import errno
import gc
import logging
import select
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import partial
from types import FrameType
from typing import Any, TextIO, cast

import click
import structlog
import uvicorn
from structlog.typing import EventDict, WrappedLogger

from connector_gateway.cli.serve.worker import SupervisorChannel
from connector_gateway.cli.terminal_text import escape_control_chars
from connector_gateway.core.history.runs import UNDER_WAY
from connector_gateway.http import AsgiApp
from connector_gateway.http.server.protocol import ClientProtocol
from connector_gateway.kit.tasks import cancel_and_wait
from connector_gateway.kit.upstream.redaction import hide


class LogOutput:
    """Standard output, which may lie on a full disk; what cannot be written there is dropped.

    Otherwise a call would fail because its failure could not be logged.
    """

    @staticmethod
    def write(text: str) -> int:
        """Write *text*, if that can be done."""
        with suppress(OSError):
            return sys.stdout.write(text)
        return 0

    @staticmethod
    def flush() -> None:
        """Hand on what was written, if that can be done."""
        with suppress(OSError):
            sys.stdout.flush()


def for_people(_: WrappedLogger, __: str, line: EventDict) -> str:
    """Render a line of the log as local time, level, event and what else is known, with tracebacks below."""
    at = datetime.fromisoformat(line.pop("timestamp")).astimezone()
    level, event, traceback = line.pop("level"), line.pop("event"), line.pop("exception", None)
    facts = (f"{name}={escape_control_chars(str(value))}" for name, value in line.items())
    told = "  ".join([f"{at:%H:%M:%S}", f"{level:7}", escape_control_chars(str(event)), *facts])
    return told if traceback is None else "\n    ".join([told, *map(escape_control_chars, str(traceback).splitlines())])


STOP_SECONDS = 30.0
"""How long running calls may take to end after SIGTERM."""

CLOSE = (b"connection", b"close")

LAST_WORDS_SECONDS = 5.0
"""How long those calls that were cut off have to commit how they ended, and to answer."""

COLLECT_FROM = 10_000
"""New objects from which on garbage is looked for: at Python's 700, calls under way are looked through again and again,
which took a tenth of their time; what is no cycle is freed without it."""


MAX_ROUNDS = 1_000
"""Rounds of the event loop in which a process that makes room accepts connections that wait."""

PORTS = click.IntRange(0, 65_535)
"""What can be listened on; 0 is any that is free."""


Ready = Callable[[], Awaitable[None]]


class PortInUse(Exception):
    """The address cannot be listened on; the message says why, in a sentence."""


class GatewayServer(uvicorn.Server):
    """uvicorn's server, which ends quietly, and leaves what was built at the start out of garbage collection.

    It binds its port before anything is opened, and closes the database and the rest after the last answer.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        application: AsgiApp,
        ready: Ready | None,
        line: SupervisorChannel | None = None,
        retire_seconds: float = 0.0,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._line = line
        self._retire_seconds = retire_seconds
        self._retiring: asyncio.Task[None] | None = None
        self._retired_by: float | None = None
        """Until when connections may be answered on, once this process has to make room for another."""

        self._listening: list[socket.socket] = []
        self._application = application
        self._stopping = application.stopping

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        self._listening = sockets or bind(self.config.host, self.config.port)
        try:
            async with self._supervised(), self._application.lifespan(), self._application.clients:
                await super().serve(self._listening)
                await self._drain_cancelled()
        finally:
            if self._retiring is not None:
                await cancel_and_wait(self._retiring)
            for one in self._listening:
                one.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop well on SIGINT, at once on a second one, and on SIGTERM; having been told to stop is no error.

        SIGTERM may come twice without anybody meaning that: from a supervisor, and from what ends the whole group.
        """
        if _has_the_process():
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, self.handle_exit, signal.SIGINT, None)
            loop.add_signal_handler(signal.SIGTERM, self._end)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Refuse those who still wait for their turn, and stop."""
        self._stopping.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then leave what will live as long as the process out of garbage collection."""
        await super().startup(sockets)
        if _has_the_process():
            gc.collect()
            gc.freeze()
            gc.set_threshold(COLLECT_FROM)
        if self._ready is not None:
            await self._ready()
        if self._line is not None:
            self._line.send_ready()

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop, which the application may find out as well."""
        self.should_exit = self.should_exit or self._stopping.begun or self._has_retired()
        return await super().on_tick(counter)

    def _end(self) -> None:
        """Stop, after those who send calls here had time to notice where that is set."""
        if not self._retire_seconds or not self.started:
            self.handle_exit(signal.SIGTERM, None)
        elif self._retiring is None:
            self._retiring = asyncio.create_task(self._retire(), name="retirement")

    async def _retire(self) -> None:
        """Say that this process is to end, go on taking calls for a while, and then take no more."""
        self._stopping.start_draining()
        self._answer_for_the_last_time()
        await asyncio.sleep(self._retire_seconds)
        await self._accept_waiting()
        self._make_room()

    async def _accept_waiting(self) -> None:
        """Let the event loop accept the connections that wait, since the end of the socket resets them."""
        waiting = select.poll()
        for one in self._listening:
            waiting.register(one, select.POLLIN)
        # There may never be none, where others go on connecting.
        for _ in range(MAX_ROUNDS):
            if not waiting.poll(0):
                return
            await asyncio.sleep(0)

    def _supervised(self) -> AbstractAsyncContextManager[None]:
        """The line to the supervisor, where there is one."""
        if self._line is None:
            return nullcontext()
        return self._line.open(retire=self._make_room, left_alone=partial(self.handle_exit, signal.SIGTERM, None))

    def _make_room(self) -> None:
        """Take no more connections, answer on those there are, each for the last time, and stop once all have ended.

        Connections that are idle stay open until their time is over, since a request may be on its way.
        """
        if not self.started:
            self.handle_exit(signal.SIGTERM, None)
            return
        for one in self.servers:
            one.close()
        self._answer_for_the_last_time()
        self._retired_by = asyncio.get_running_loop().time() + (self.config.timeout_graceful_shutdown or 0)

    def _answer_for_the_last_time(self) -> None:
        """Have each connection end with its next answer, and tell so."""
        if CLOSE not in self.config.encoded_headers:
            self.config.encoded_headers.append(CLOSE)
            self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]
        for connection in cast("set[ClientProtocol]", self.server_state.connections):
            connection.close_after_response()

    def _has_retired(self) -> bool:
        if self._retired_by is None:
            return False
        if asyncio.get_running_loop().time() < self._retired_by:
            return not self.server_state.connections
        # Calls had that time; there is no second one.
        self.config.timeout_graceful_shutdown = 0
        return True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more calls, and let those under way end."""
        self._stopping.start()
        await super().shutdown(sockets)

    async def _drain_cancelled(self) -> None:
        """Let calls that were cut off commit how they ended, and answer; after a second Ctrl-C all are cut off."""
        if self.force_exit:
            for task in self.server_state.tasks:
                task.cancel()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_WORDS_SECONDS)


def with_run(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """*line* with the run that it is about, where one is under way and the line does not name one."""
    if (run_id := UNDER_WAY.get("")) and "run_id" not in line:
        line["run_id"] = run_id
    return line


def without_secrets(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return *line* without the secrets of the connections that the present task works for."""
    hidden: MutableMapping[str, Any] = hide(dict(line))
    return hidden


def _has_the_process() -> bool:
    """Whether the process is the server's own; one in another thread, as in a test, leaves the process as it was."""
    return threading.current_thread() is threading.main_thread()


def bind(host: str, port: int, chosen_by: str = "--port") -> list[socket.socket]:
    """Sockets at *host* and *port*, not listening yet; ``PortTaken`` if another process listens there."""
    bound: list[socket.socket] = []
    fault: OSError | None = None
    for family, address in _addresses(host, port):
        try:
            bound.append(_bound(family, address))
        except OSError as refusal:
            fault = refusal
            # A name may stand for IPv6 on a machine without it: one address that can be had is enough.
            if refusal.errno != errno.EADDRNOTAVAIL:
                break
    if fault is None or (bound and fault.errno == errno.EADDRNOTAVAIL):
        return bound
    for one in bound:
        one.close()
    if fault.errno == errno.EADDRINUSE:
        raise PortInUse(f"Port {port} on {host} is in use; choose another with {chosen_by}.") from fault
    raise PortInUse(f"Port {port} on {host} cannot be listened on: {fault.strerror}.") from fault


def _addresses(host: str, port: int) -> Sequence[tuple[int, tuple[object, ...]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as fault:
        raise PortInUse(f"There is no address {host}: {fault.strerror}.") from fault
    return [(family, address) for family, _, _, _, address in found]


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Otherwise the port of a process that has just ended would be taken for a minute.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 has a socket of its own, which could not be bound beside one that takes both.
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def server(
    application: AsgiApp,
    host: str,
    port: int,
    stop_seconds: float = STOP_SECONDS,
    *,
    log_level: str = "info",
    ready: Ready | None = None,
    line: SupervisorChannel | None = None,
    retire_seconds: float = 0.0,
    is_read: bool = False,
) -> GatewayServer:
    """A server of *application*, not yet started; calls under way have *stop_seconds* to end.

    Once calls are taken, *ready* is awaited. Told to end by SIGTERM, it goes on taking calls for *retire_seconds*.
    Its log is written for people if it *is_read* by some.
    """
    configure_log(log_level, is_read=is_read)
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        loop="auto",
        http=partial(ClientProtocol, clients=application.clients),  # type: ignore[arg-type]  # called, never subclassed
        interface="asgi3",
        ws="none",
        lifespan="off",
        log_level="error" if log_level == "error" else "warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=stop_seconds,  # type: ignore[arg-type]  # handed on to asyncio, which takes fractions
        backlog=4096,
    )
    return GatewayServer(config, application, ready, line, retire_seconds)


def configure_log(log_level: str, *, is_read: bool = False) -> None:
    """Log everything from *log_level* on, each as a line of JSON, or as a line for people if the log *is_read*."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            with_run,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            # Behind the tracebacks, which are texts by now.
            without_secrets,
            for_people if is_read else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(log_level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", LogOutput())),
    )
