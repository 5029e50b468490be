"""The supervisor: starts workers on sockets that it has bound, and puts another in the place of one that dies."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import structlog

from connector_gateway.cli.supervised import READY, RETIRE, Place

SILENT_SECONDS = 30.0
"""After so long without a word a worker is killed: it is frozen, or its event loop is stuck."""

WAITS = 10
"""How many waits that time is made of: one in which the supervisor itself stood still, as in a machine that is paused,
ends late whatever the worker said, so no single one proves anything."""

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
        self.life = asyncio.create_task(self._live(), name=f"worker {number}")
        """Ends with the process, and tells its exit status."""

    async def ready(self) -> bool:
        """Wait until it takes calls, and tell the log where that takes long; whether it does, instead of having ended.

        There is no end to the wait: a large database may be brought to a new schema meanwhile.
        """
        waiting = asyncio.create_task(self._ready.wait())
        either = (waiting, self.life)
        while not (await asyncio.wait(either, timeout=self._silent_seconds, return_when=asyncio.FIRST_COMPLETED))[0]:
            seconds = round(monotonic() - self.began_at)
            log.warning("a worker is still starting", worker=self.number, pid=self.process.pid, seconds=seconds)
        waiting.cancel()
        return self._ready.is_set() and not self.life.done()

    def retire(self) -> None:
        """Have it take no more connections, answer those that it has, and end."""
        self._writer.write(RETIRE)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def end(self, seconds: float) -> None:
        """Wait for its end, and kill it where that takes longer than *seconds*."""
        await asyncio.wait((self.life,), timeout=seconds)
        if not self.life.done():
            log.error("a worker did not end in time, and is killed", worker=self.number, pid=self.process.pid)
            self.send(signal.SIGKILL)
            await self.life

    async def _live(self) -> int:
        with closing(self._writer):
            with suppress(TimeoutError):
                await self._listen()
                # One that has closed its line has nothing left to do.
                async with asyncio.timeout(self._silent_seconds):
                    return await self.process.wait()
            log.error("a worker gives no sign of life, and is killed", worker=self.number, pid=self.process.pid)
            self.send(signal.SIGKILL)
            return await self.process.wait()

    async def _listen(self) -> None:
        """Listen to signs of life until the line ends with the process; ``TimeoutError`` where there are none."""
        with suppress(ConnectionError):
            while told := await self._heard():
                if READY in told:
                    self._ready.set()

    async def _heard(self) -> bytes:
        """What the worker told; empty where its line has ended."""
        for _ in range(WAITS - 1):
            with suppress(TimeoutError):
                return await self._told_soon()
        return await self._told_soon()

    async def _told_soon(self) -> bytes:
        async with asyncio.timeout(self._silent_seconds / WAITS):
            return await self._reader.read(100)


class Supervisor:
    """Keeps *count* workers serving on *listening* until it is told to stop.

    They may go on taking calls for *retire_seconds* then, and have *stop_seconds* for those under way. They are started
    by ``command``, which is given each one's place.
    """

    def __init__(
        self,
        command: Callable[[Place], Sequence[str]],
        listening: Sequence[socket.socket],
        count: int,
        *,
        stop_seconds: float,
        retire_seconds: float = 0.0,
        ready: Callable[[], None],
        silent_seconds: float = SILENT_SECONDS,
        last_seconds: float = LAST_SECONDS,
    ) -> None:
        self._command = command
        self._listening = listening
        self._count = count
        self._stop_seconds = stop_seconds
        self._retire_seconds = retire_seconds
        self._ready = ready
        self._silent_seconds = silent_seconds
        self._last_seconds = last_seconds
        self._serving: dict[int, Worker] = {}
        """Who is in each place; another is put there when that one dies."""

        self._workers: set[Worker] = set()
        self._pauses = [0.0] * (count + 1)
        self._tasks: set[asyncio.Task[None]] = set()
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
            try:
                return await self._serve()
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self) -> int:
        # The first one alone: it makes the schema, and where it cannot start, no other could.
        first = await self._start(1)
        if not await first.ready():
            return 0 if self._stopped.is_set() else await first.life
        self._take(first)
        for number in range(2, self._count + 1):
            self._take(await self._start(number))
        await asyncio.gather(*(worker.ready() for worker in self._serving.values()))
        if not self._stopped.is_set():
            self._ready()
        await self._stopped.wait()
        # Otherwise whoever connects would be let in by the system, and wait for nobody.
        for one in self._listening:
            one.close()
        # Again where one was being started when the others were told to stop.
        while self._workers:
            await asyncio.gather(*(worker.end(self._longest_end) for worker in self._workers))
        return 0

    @property
    def _longest_end(self) -> float:
        """How long a worker may take to end: to retire, for its calls, and for what they leave behind."""
        return self._retire_seconds + self._stop_seconds + max(self._last_seconds, self._stop_seconds / 2)

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
        worker = Worker(number, process, await asyncio.open_connection(sock=ours), self._silent_seconds)
        self._workers.add(worker)
        worker.life.add_done_callback(lambda _: self._workers.discard(worker))
        if self._stopped.is_set():
            worker.send(signal.SIGTERM)
        return worker

    async def _process(self, number: int, line: int) -> asyncio.subprocess.Process:
        listening = tuple(one.fileno() for one in self._listening)
        place = Place(number, self._count, line, listening, str(self._folder))
        # In a group of its own, so that a terminal's Ctrl-C is passed on by the supervisor, and only by it.
        return await asyncio.create_subprocess_exec(*self._command(place), pass_fds=(*listening, line), process_group=0)

    def _take(self, worker: Worker) -> None:
        """Have *worker* be the one in its place."""
        self._serving[worker.number] = worker
        self._spawn(self._guard(worker))

    async def _guard(self, worker: Worker) -> None:
        """Put another in the place of *worker* once it has died."""
        status = await worker.life
        if not self._still_needed(worker):
            return
        pause = self._next_pause(worker)
        log.error("a worker has died", worker=worker.number, pid=worker.process.pid, status=status, pause=pause)
        new = None
        while new is None:
            await asyncio.sleep(pause)
            if not self._still_needed(worker):
                return
            new = await self._try_to_start(worker.number)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        self._put(new, worker)

    def _put(self, new: Worker, dead: Worker) -> None:
        """Have *new* be in the place of *dead*, unless all were being replaced and another is there already."""
        if self._still_needed(dead):
            self._take(new)
        else:
            new.send(signal.SIGTERM)

    def _still_needed(self, worker: Worker) -> bool:
        return self._serving[worker.number] is worker and not self._stopped.is_set()

    def _next_pause(self, worker: Worker) -> float:
        before = self._pauses[worker.number]
        lived_well = monotonic() - worker.began_at >= WELL_AFTER_SECONDS
        pause = FIRST_PAUSE_SECONDS if lived_well or not before else min(2 * before, LONGEST_PAUSE_SECONDS)
        self._pauses[worker.number] = pause
        return pause

    async def _replace_all(self) -> None:
        """Start the workers anew, one after the other: each place is taken over before the one in it is retired."""
        async with self._replacing:
            for number in range(1, self._count + 1):
                if self._stopped.is_set() or not await self._replace(number):
                    return
            log.info("all workers were started anew", workers=self._count)

    async def _replace(self, number: int) -> bool:
        new = await self._try_to_start(number)
        if new is None or not await new.ready():
            log.error("a new worker could not start, so those that serve go on", worker=number)
            return False
        old = self._serving[number]
        self._take(new)
        if not old.life.done():
            old.retire()
            await old.end(self._longest_end)
        return True

    async def _try_to_start(self, number: int) -> Worker | None:
        """A new worker; None where none can be started now."""
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


def command(*options: str) -> Callable[[Place], Sequence[str]]:
    """How a worker is started: as this program is, and not from what may stand in the working folder."""
    return partial(_command, options)


def _command(options: Sequence[str], place: Place) -> Sequence[str]:
    return (sys.executable, "-P", "-m", "connector_gateway", "serve", *options, "--supervised", place.written())
