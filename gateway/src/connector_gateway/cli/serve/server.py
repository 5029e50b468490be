"""The HTTP server process: uvicorn with structured logs, early binding and graceful shutdown."""

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

from connector_gateway.cli.control_char_escaping import escape_control_chars
from connector_gateway.cli.serve.worker_channel import SupervisorChannel
from connector_gateway.core.history.runs import CURRENT_RUN
from connector_gateway.http import AsgiApp
from connector_gateway.http.server.http11 import ClientProtocol
from connector_gateway.kit.task_cancellation import cancel_and_wait
from connector_gateway.kit.upstream.redaction import redact


class LogOutput:
    """Standard output that ignores write errors, such as a full disk.

    Otherwise a call would fail because its error could not be logged.
    """

    @staticmethod
    def write(text: str) -> int:
        """Write *text*, ignoring errors."""
        with suppress(OSError):
            return sys.stdout.write(text)
        return 0

    @staticmethod
    def flush() -> None:
        """Flush the output, ignoring errors."""
        with suppress(OSError):
            sys.stdout.flush()


def render_for_people(_: WrappedLogger, __: str, line: EventDict) -> str:
    """Render a log line as local time, level, event and fields, with tracebacks below."""
    at = datetime.fromisoformat(line.pop("timestamp")).astimezone()
    level, event, traceback = line.pop("level"), line.pop("event"), line.pop("exception", None)
    facts = (f"{name}={escape_control_chars(str(value))}" for name, value in line.items())
    text = "  ".join([f"{at:%H:%M:%S}", f"{level:7}", escape_control_chars(str(event)), *facts])
    return text if traceback is None else "\n    ".join([text, *map(escape_control_chars, str(traceback).splitlines())])


STOP_SECONDS = 30.0
"""Seconds that calls in progress may take to finish after SIGTERM."""

CLOSE = (b"connection", b"close")

CANCELLED_SECONDS = 5.0
"""Seconds that cancelled calls have to record their outcome and respond."""

GC_THRESHOLD = 10_000
"""The number of new objects that triggers a garbage collection.

With Python's default of 700, calls in progress are traversed repeatedly, which took a tenth of their time. Objects
without reference cycles are freed without it.
"""


MAX_ACCEPT_ITERATIONS = 1_000
"""Iterations of the event loop in which a draining process accepts pending connections."""

PORTS = click.IntRange(0, 65_535)
"""Valid ports to listen on. 0 selects any free port."""


Ready = Callable[[], Awaitable[None]]


class PortInUse(Exception):
    """The address cannot be bound. The message is a sentence with the reason."""


class GatewayServer(uvicorn.Server):
    """A uvicorn server that supports draining, and exempts startup objects from garbage collection.

    It binds its port before opening other resources, and closes them after the last response.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        application: AsgiApp,
        ready: Ready | None,
        channel: SupervisorChannel | None = None,
        retire_seconds: float = 0.0,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._channel = channel
        self._retire_seconds = retire_seconds
        self._retire_task: asyncio.Task[None] | None = None
        self._drain_deadline: float | None = None
        """The event-loop time until which open connections may be used after the process was retired."""

        self._listening: list[socket.socket] = []
        self._application = application
        self._shutdown = application.shutdown

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until stopped."""
        self._listening = sockets or bind(self.config.host, self.config.port)
        try:
            async with self._supervised(), self._application.lifespan(), self._application.clients:
                await super().serve(self._listening)
                await self._drain_cancelled()
        finally:
            if self._retire_task is not None:
                await cancel_and_wait(self._retire_task)
            for one in self._listening:
                one.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Shut down gracefully on SIGTERM and SIGINT, and immediately on a second SIGINT.

        A second SIGTERM has no effect, since both the supervisor and a process manager may send one.
        """
        if _in_main_thread():
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, self.handle_exit, signal.SIGINT, None)
            loop.add_signal_handler(signal.SIGTERM, self._handle_sigterm)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Reject requests that wait for a rate limit, and shut down."""
        self._shutdown.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then exempt long-lived objects from garbage collection."""
        await super().startup(sockets)
        if _in_main_thread():
            # A collection would take a tenth of the start, and find little: imports leave hardly any garbage.
            gc.freeze()
            gc.set_threshold(GC_THRESHOLD)
        if self._ready is not None:
            await self._ready()
        if self._channel is not None:
            self._channel.send_ready()

    async def on_tick(self, counter: int) -> bool:
        """Return True if the server should exit, which the application can also decide."""
        self.should_exit = self.should_exit or self._shutdown.started or self._is_drained()
        return await super().on_tick(counter)

    def _handle_sigterm(self) -> None:
        """Shut down, after a draining period if one is configured."""
        if not self._retire_seconds or not self.started:
            self.handle_exit(signal.SIGTERM, None)
        elif self._retire_task is None:
            self._retire_task = asyncio.create_task(self._retire(), name="retirement")

    async def _retire(self) -> None:
        """Report not ready, continue to accept calls for the draining period, and then stop accepting."""
        self._shutdown.start_draining()
        self._close_keepalive()
        await asyncio.sleep(self._retire_seconds)
        await self._accept_waiting()
        self._drain_connections()

    async def _accept_waiting(self) -> None:
        """Accept the pending connections, which closing the socket would reset."""
        waiting = select.poll()
        for one in self._listening:
            waiting.register(one, select.POLLIN)
        # Limited, since new clients may keep connecting.
        for _ in range(MAX_ACCEPT_ITERATIONS):
            if not waiting.poll(0):
                return
            await asyncio.sleep(0)

    def _supervised(self) -> AbstractAsyncContextManager[None]:
        """Return the context of the supervisor channel, if there is one."""
        if self._channel is None:
            return nullcontext()
        return self._channel.open(
            retire=self._drain_connections, on_supervisor_exit=partial(self.handle_exit, signal.SIGTERM, None)
        )

    def _drain_connections(self) -> None:
        """Stop accepting connections, finish the open ones with their next response, and exit when all are closed.

        Idle connections stay open until their timeout, since a request may already be in transit.
        """
        if not self.started:
            self.handle_exit(signal.SIGTERM, None)
            return
        for one in self.servers:
            one.close()
        self._close_keepalive()
        self._drain_deadline = asyncio.get_running_loop().time() + (self.config.timeout_graceful_shutdown or 0)

    def _close_keepalive(self) -> None:
        """Send ``Connection: close`` with the next response on every connection."""
        if CLOSE not in self.config.encoded_headers:
            self.config.encoded_headers.append(CLOSE)
            self.server_state.default_headers = [*self.server_state.default_headers, CLOSE]
        for connection in cast("set[ClientProtocol]", self.server_state.connections):
            connection.close_after_response()

    def _is_drained(self) -> bool:
        if self._drain_deadline is None:
            return False
        if asyncio.get_running_loop().time() < self._drain_deadline:
            return not self.server_state.connections
        # The calls have already had their grace period.
        self.config.timeout_graceful_shutdown = 0
        return True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting calls, and wait for those in progress."""
        self._shutdown.start()
        await super().shutdown(sockets)

    async def _drain_cancelled(self) -> None:
        """Wait for cancelled calls to record their outcome and respond. A second Ctrl-C cancels all calls."""
        if self.force_exit:
            for task in self.server_state.tasks:
                task.cancel()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=CANCELLED_SECONDS)


def add_run_id(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return *line* with the ID of the current run, if there is one and the line has none."""
    if (run_id := CURRENT_RUN.get("")) and "run_id" not in line:
        line["run_id"] = run_id
    return line


def redact_secrets(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return *line* without the secrets of the connections that the current task uses."""
    redacted: MutableMapping[str, Any] = redact(dict(line))
    return redacted


def _in_main_thread() -> bool:
    """Return True if the server runs in the main thread. In other threads, as in tests, it changes no process state."""
    return threading.current_thread() is threading.main_thread()


def bind(host: str, port: int, chosen_by: str = "--port") -> list[socket.socket]:
    """Bind sockets at *host* and *port* without listening. Raises ``PortInUse`` if another process listens there."""
    bound: list[socket.socket] = []
    error: OSError | None = None
    for family, address in _resolve(host, port):
        try:
            bound.append(_bind_socket(family, address))
        except OSError as bind_error:
            error = bind_error
            # A name may resolve to IPv6 on a machine without it: one available address is enough.
            if bind_error.errno != errno.EADDRNOTAVAIL:
                break
    if error is None or (bound and error.errno == errno.EADDRNOTAVAIL):
        return bound
    for one in bound:
        one.close()
    if error.errno == errno.EADDRINUSE:
        raise PortInUse(f"Port {port} on {host} is in use; choose another with {chosen_by}.") from error
    raise PortInUse(f"Cannot listen on port {port} of {host}: {error.strerror}.") from error


def _resolve(host: str, port: int) -> Sequence[tuple[int, tuple[object, ...]]]:
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise PortInUse(f"Cannot resolve the host {host}: {error.strerror}.") from error
    return [(family, address) for family, _, _, _, address in results]


def _bind_socket(family: int, address: tuple[object, ...]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Otherwise the port of a process that has just exited would be unavailable for a minute.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 has a separate socket, which cannot be bound alongside a dual-stack socket.
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def server(
    application: AsgiApp,
    host: str,
    port: int,
    stop_seconds: float = STOP_SECONDS,
    *,
    log_level: str = "info",
    ready: Ready | None = None,
    channel: SupervisorChannel | None = None,
    retire_seconds: float = 0.0,
    is_read: bool = False,
) -> GatewayServer:
    """Return a server of *application*, not yet started. Calls in progress have *stop_seconds* to finish.

    *ready* is awaited once calls are accepted. After SIGTERM, the server accepts calls for another *retire_seconds*.
    If the log *is_read* by people, it is formatted for them.
    """
    configure_log(log_level, is_read=is_read)
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        loop="auto",
        http=partial(ClientProtocol, clients=application.clients),  # type: ignore[arg-type]  # called, not subclassed
        interface="asgi3",
        ws="none",
        lifespan="off",
        log_level="error" if log_level == "error" else "warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=stop_seconds,  # type: ignore[arg-type]  # passed to asyncio, which accepts fractions
        backlog=4096,
    )
    return GatewayServer(config, application, ready, channel, retire_seconds)


def configure_log(log_level: str, *, is_read: bool = False) -> None:
    """Configure logging from *log_level* on, as JSON lines, or formatted for people if the log *is_read*."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            add_run_id,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            # After tracebacks are formatted as text.
            redact_secrets,
            render_for_people if is_read else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(log_level),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", LogOutput())),
    )
