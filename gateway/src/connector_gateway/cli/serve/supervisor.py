"""The supervisor: starts workers on its listening sockets, and restarts those that die."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import structlog

from connector_gateway.cli.serve.worker_channel import READY_BYTE, RETIRE_BYTE, WorkerSpec

HEARTBEAT_TIMEOUT_SECONDS = 30.0
"""Seconds without a heartbeat after which a worker is killed, since it is frozen or its event loop is stuck."""

FINAL_SECONDS = 10.0
"""The minimum time for a worker to record the outcomes of its calls, after the time these had to finish."""

MIN_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 30.0
STABLE_SECONDS = 60.0
"""Seconds after which the restart backoff is reset. If a worker dies sooner, the backoff doubles."""

log = structlog.get_logger()


class Worker:
    """A worker process."""

    def __init__(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        line: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        heartbeat_timeout_seconds: float,
    ) -> None:
        self.number = number
        self.process = process
        self.started_at = monotonic()
        self._reader, self._writer = line
        self._heartbeat_timeout_seconds = heartbeat_timeout_seconds
        self._ready = asyncio.Event()
        self.monitor_task = asyncio.create_task(self._monitor(), name=f"worker {number}")
        """The task that ends with the process and returns its exit status."""

    async def ready(self) -> bool:
        """Wait until the worker accepts calls. Returns False if it has exited.

        There is no time limit, since a migration may take long.
        """
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait((waiting, self.monitor_task), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return self._ready.is_set() and not self.monitor_task.done()

    def retire(self) -> None:
        """Shut down the worker: it accepts no more connections, finishes the open ones, and exits."""
        self._writer.write(RETIRE_BYTE)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker, unless it has exited."""
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def end(self, seconds: float) -> None:
        """Wait for the worker to exit, and kill it after *seconds*."""
        await asyncio.wait((self.monitor_task,), timeout=seconds)
        if not self.monitor_task.done():
            log.error("worker shutdown timed out", worker=self.number, pid=self.process.pid)
            self.send(signal.SIGKILL)
            await self.monitor_task

    async def _monitor(self) -> int:
        with closing(self._writer):
            with suppress(TimeoutError):
                while data := await self._receive():
                    if READY_BYTE in data:
                        self._ready.set()
                # A worker that has closed its channel is about to exit.
                async with asyncio.timeout(self._heartbeat_timeout_seconds):
                    return await self.process.wait()
            log.error("worker heartbeat missed", worker=self.number, pid=self.process.pid)
            self.send(signal.SIGKILL)
            return await self.process.wait()

    async def _receive(self) -> bytes:
        """Return the next heartbeats, or nothing if the channel is closed. Raises ``TimeoutError`` if there are none.

        If the supervisor itself was suspended, one wait expires even if the worker is healthy, so it waits twice.
        """
        with suppress(ConnectionError):
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._reader.read(100), self._heartbeat_timeout_seconds / 2)
            return await asyncio.wait_for(self._reader.read(100), self._heartbeat_timeout_seconds / 2)
        return b""


@dataclass(eq=False, repr=False)
class Supervisor:
    """Runs *count* workers on the sockets *listening* until it is stopped.

    Workers then accept calls for *retire_seconds*, and have *stop_seconds* to finish those in progress. ``command``
    returns the command line for a worker.
    """

    command: Callable[[WorkerSpec], Sequence[str]]
    listening: Sequence[socket.socket]
    count: int
    stop_seconds: float = field(kw_only=True)
    retire_seconds: float = field(kw_only=True, default=0.0)
    ready: Callable[[], None] = field(kw_only=True)
    heartbeat_timeout_seconds: float = field(kw_only=True, default=HEARTBEAT_TIMEOUT_SECONDS)
    final_seconds: float = field(kw_only=True, default=FINAL_SECONDS)

    _serving: dict[int, Worker] = field(init=False, default_factory=dict)
    """The current worker of each number."""

    _workers: set[Worker] = field(init=False, default_factory=set)
    """All running workers, including those that are starting or exiting."""

    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._max_shutdown_seconds = (
            self.retire_seconds + self.stop_seconds + max(self.final_seconds, self.stop_seconds / 2)
        )
        """Seconds that a worker may take to exit: draining, finishing its calls, and recording their outcomes."""

        self._stopped = asyncio.Event()
        self._replacing = asyncio.Lock()

    async def run(self) -> int:
        """Serve until stopped, and return the exit status. It is that of the first worker if that could not start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._spawn(self._replace_all()))
        with TemporaryDirectory(prefix="connector-gateway-") as folder:
            self._folder = Path(folder)
            status = await self._serve()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.gather(*(worker.end(self._max_shutdown_seconds) for worker in self._workers))
            return status

    async def _serve(self) -> int:
        # Start the first worker alone: it migrates the schema, and if it cannot start, no other can.
        first = self._serving[1] = await self._start(1)
        if not await first.ready():
            return 0 if self._stopped.is_set() else await first.monitor_task
        for number in range(2, self.count + 1):
            self._serving[number] = await self._start(number)
        ready = [worker.ready() for worker in self._serving.values()]
        for number in self._serving:
            self._spawn(self._restart_when_dead(number))
        await asyncio.gather(*ready)
        if not self._stopped.is_set():
            self.ready()
        await self._stopped.wait()
        # Otherwise the kernel would accept connections that no process serves.
        for one in self.listening:
            one.close()
        return 0

    def _stop(self, number: signal.Signals) -> None:
        self._stopped.set()
        for worker in self._workers:
            worker.send(number)

    async def _start(self, number: int) -> Worker:
        """Start worker *number*. Raises ``OSError`` if the system cannot create the process."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await self._process(number, theirs.fileno())
        except BaseException:
            ours.close()
            raise
        worker = Worker(number, process, await asyncio.open_connection(sock=ours), self.heartbeat_timeout_seconds)
        self._workers.add(worker)
        worker.monitor_task.add_done_callback(lambda _: self._workers.discard(worker))
        if self._stopped.is_set():
            worker.send(signal.SIGTERM)
        return worker

    async def _process(self, number: int, line: int) -> asyncio.subprocess.Process:
        listening = tuple(one.fileno() for one in self.listening)
        spec = WorkerSpec(number, self.count, line, listening, str(self._folder))
        # In a separate process group, because only the supervisor should receive Ctrl-C. It forwards it.
        return await asyncio.create_subprocess_exec(*self.command(spec), pass_fds=(*listening, line), process_group=0)

    async def _restart_when_dead(self, number: int) -> None:
        """Restart worker *number* when it dies, with exponential backoff."""
        backoff = 0.0
        while True:
            worker = self._serving[number]
            # Use wait, since cancelling this task must not cancel the monitor.
            await asyncio.wait((worker.monitor_task,))
            if self._stopped.is_set():
                return
            if self._serving[number] is not worker:
                continue
            was_stable = monotonic() - worker.started_at >= STABLE_SECONDS
            backoff = MIN_BACKOFF_SECONDS if was_stable or not backoff else min(2 * backoff, MAX_BACKOFF_SECONDS)
            log.error(
                "worker exited",
                worker=number,
                pid=worker.process.pid,
                status=worker.monitor_task.result(),
                backoff=backoff,
            )
            await asyncio.sleep(backoff)
            new = await self._try_start(number) if self._serving[number] is worker else None
            if new is None:
                continue
            # A reload may have replaced the worker in the meantime.
            if self._serving[number] is worker:
                self._serving[number] = new
            else:
                new.send(signal.SIGTERM)

    async def _replace_all(self) -> None:
        """Restart the workers one by one. Each is retired after its replacement is ready."""
        async with self._replacing:
            for number in range(1, self.count + 1):
                new = await self._try_start(number)
                if new is None or not await new.ready():
                    log.error("worker reload failed", worker=number)
                    return
                old, self._serving[number] = self._serving[number], new
                if not old.monitor_task.done():
                    old.retire()
                    await old.end(self._max_shutdown_seconds)
            log.info("workers reloaded", workers=self.count)

    async def _try_start(self, number: int) -> Worker | None:
        """Start worker *number*. Returns None if the system cannot create the process."""
        try:
            return await self._start(number)
        except OSError as error:
            reason = str(error)
        log.error("worker start failed", worker=number, reason=reason)
        return None

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def command(*options: str) -> Callable[[WorkerSpec], Sequence[str]]:
    """Return a function that returns a worker's command line. Workers do not import from the working directory."""
    return partial(_command, options)


def _command(options: Sequence[str], spec: WorkerSpec) -> Sequence[str]:
    return (sys.executable, "-P", "-m", "connector_gateway", "serve", *options, "--supervised", spec.to_option())
