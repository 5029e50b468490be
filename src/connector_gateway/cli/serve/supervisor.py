"""The supervisor: starts workers on sockets that it has bound, and puts another in the place of one that dies."""

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

from connector_gateway.cli.serve.worker import READY, RETIRE, WorkerSpec

SILENT_SECONDS = 30.0
"""After so long without a word a worker is killed: it is frozen, or its event loop is stuck."""

LAST_SECONDS = 10.0
"""What a worker needs at least to commit how its calls ended, after the time that these had to end."""

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 30.0
WELL_AFTER_SECONDS = 60.0
"""A worker that lived for so long is replaced at once when it dies; sooner, the pause doubles each time."""

log = structlog.get_logger()


class Worker:
    """One process that serves."""

    def __init__(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        line: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        silent_seconds: float,
    ) -> None:
        self.number = number
        self.process = process
        self.began_at = monotonic()
        self._reader, self._writer = line
        self._silent_seconds = silent_seconds
        self._ready = asyncio.Event()
        self.monitor_task = asyncio.create_task(self._live(), name=f"worker {number}")
        """Ends with the process, and tells its exit status."""

    async def ready(self) -> bool:
        """Wait until it takes calls, instead of having ended; without a limit, since a migration may take long."""
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait((waiting, self.monitor_task), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return self._ready.is_set() and not self.monitor_task.done()

    def retire(self) -> None:
        """Have it take no more connections, answer those that it has, and end."""
        self._writer.write(RETIRE)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def end(self, seconds: float) -> None:
        """Wait for its end, and kill it where that takes longer than *seconds*."""
        await asyncio.wait((self.monitor_task,), timeout=seconds)
        if not self.monitor_task.done():
            log.error("a worker did not end in time, and is killed", worker=self.number, pid=self.process.pid)
            self.send(signal.SIGKILL)
            await self.monitor_task

    async def _live(self) -> int:
        with closing(self._writer):
            with suppress(TimeoutError):
                while told := await self._heard():
                    if READY in told:
                        self._ready.set()
                # One that has closed its line has nothing left to do.
                async with asyncio.timeout(self._silent_seconds):
                    return await self.process.wait()
            log.error("a worker gives no sign of life, and is killed", worker=self.number, pid=self.process.pid)
            self.send(signal.SIGKILL)
            return await self.process.wait()

    async def _heard(self) -> bytes:
        """Return the next signs of life, nothing where the line has ended; ``TimeoutError`` where there are none.

        A wait in which the supervisor itself stood still ends late whatever the worker said, so one proves nothing.
        """
        with suppress(ConnectionError):
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._reader.read(100), self._silent_seconds / 2)
            return await asyncio.wait_for(self._reader.read(100), self._silent_seconds / 2)
        return b""


@dataclass(eq=False, repr=False)
class Supervisor:
    """Keeps *count* workers serving on *listening* until it is told to stop.

    They may go on taking calls for *retire_seconds* then, and have *stop_seconds* for those under way. They are started
    by ``command``, which is given each one's place.
    """

    command: Callable[[WorkerSpec], Sequence[str]]
    listening: Sequence[socket.socket]
    count: int
    stop_seconds: float = field(kw_only=True)
    retire_seconds: float = field(kw_only=True, default=0.0)
    ready: Callable[[], None] = field(kw_only=True)
    silent_seconds: float = field(kw_only=True, default=SILENT_SECONDS)
    last_seconds: float = field(kw_only=True, default=LAST_SECONDS)

    _serving: dict[int, Worker] = field(init=False, default_factory=dict)
    """Who is in each place."""

    _workers: set[Worker] = field(init=False, default_factory=set)
    """All that live, those too that are about to take a place or to end."""

    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._longest_end = self.retire_seconds + self.stop_seconds + max(self.last_seconds, self.stop_seconds / 2)
        """How long a worker may take to end: to retire, for its calls, and for what they leave behind."""

        self._stopped = asyncio.Event()
        self._replacing = asyncio.Lock()

    async def run(self) -> int:
        """Serve until told to stop; the exit status, which is the first worker's where that could not start."""
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
            await asyncio.gather(*(worker.end(self._longest_end) for worker in self._workers))
            return status

    async def _serve(self) -> int:
        # The first one alone: it makes the schema, and where it cannot start, no other could.
        first = self._serving[1] = await self._start(1)
        if not await first.ready():
            return 0 if self._stopped.is_set() else await first.monitor_task
        for number in range(2, self.count + 1):
            self._serving[number] = await self._start(number)
        ready = [worker.ready() for worker in self._serving.values()]
        for number in self._serving:
            self._spawn(self._keep(number))
        await asyncio.gather(*ready)
        if not self._stopped.is_set():
            self.ready()
        await self._stopped.wait()
        # Otherwise whoever connects would be let in by the system, and wait for nobody.
        for one in self.listening:
            one.close()
        return 0

    def _stop(self, number: signal.Signals) -> None:
        self._stopped.set()
        for worker in self._workers:
            worker.send(number)

    async def _start(self, number: int) -> Worker:
        """Start a worker for place *number*; ``OSError`` where the system has no process for it, or no program."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await self._process(number, theirs.fileno())
        except BaseException:
            ours.close()
            raise
        worker = Worker(number, process, await asyncio.open_connection(sock=ours), self.silent_seconds)
        self._workers.add(worker)
        worker.monitor_task.add_done_callback(lambda _: self._workers.discard(worker))
        if self._stopped.is_set():
            worker.send(signal.SIGTERM)
        return worker

    async def _process(self, number: int, line: int) -> asyncio.subprocess.Process:
        listening = tuple(one.fileno() for one in self.listening)
        place = WorkerSpec(number, self.count, line, listening, str(self._folder))
        # In a group of its own, so that a terminal's Ctrl-C is passed on by the supervisor, and only by it.
        return await asyncio.create_subprocess_exec(*self.command(place), pass_fds=(*listening, line), process_group=0)

    async def _keep(self, number: int) -> None:
        """Put another worker in a place when the one in it has died, after a pause that grows while it dies soon."""
        pause = 0.0
        while True:
            worker = self._serving[number]
            # Not awaited itself, since it would end with this task.
            await asyncio.wait((worker.monitor_task,))
            if self._stopped.is_set():
                return
            if self._serving[number] is not worker:
                continue
            lived_well = monotonic() - worker.began_at >= WELL_AFTER_SECONDS
            pause = FIRST_PAUSE_SECONDS if lived_well or not pause else min(2 * pause, LONGEST_PAUSE_SECONDS)
            log.error(
                "a worker has died",
                worker=number,
                pid=worker.process.pid,
                status=worker.monitor_task.result(),
                pause=pause,
            )
            await asyncio.sleep(pause)
            new = await self._try_to_start(number) if self._serving[number] is worker else None
            if new is None:
                continue
            # All may have been replaced meanwhile.
            if self._serving[number] is worker:
                self._serving[number] = new
            else:
                new.send(signal.SIGTERM)

    async def _replace_all(self) -> None:
        """Start the workers anew, one after the other: each place is taken over before the one in it is retired."""
        async with self._replacing:
            for number in range(1, self.count + 1):
                new = await self._try_to_start(number)
                if new is None or not await new.ready():
                    log.error("a new worker could not start, so those that serve go on", worker=number)
                    return
                old, self._serving[number] = self._serving[number], new
                if not old.monitor_task.done():
                    old.retire()
                    await old.end(self._longest_end)
            log.info("all workers were started anew", workers=self.count)

    async def _try_to_start(self, number: int) -> Worker | None:
        """A new worker; None where the system has no process for it, or no program."""
        try:
            return await self._start(number)
        except OSError as fault:
            reason = str(fault)
        log.error("no worker could be started", worker=number, reason=reason)
        return None

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def command(*options: str) -> Callable[[WorkerSpec], Sequence[str]]:
    """How a worker is started: as this program is, and not from what may stand in the working folder."""
    return partial(_command, options)


def _command(options: Sequence[str], place: WorkerSpec) -> Sequence[str]:
    return (sys.executable, "-P", "-m", "connector_gateway", "serve", *options, "--supervised", place.to_option())
