"""A history: a story that runs on the real gateway and the emulators, and its outcome."""

import asyncio
import contextvars
import gc
import logging
import os
import random as global_random
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import structlog

from connector_gateway.app import App
from connector_gateway.core.writes.backup_restore_detection import BackupRestoreDetector, LostPeriod
from connector_gateway.kit import identifiers
from connector_gateway.kit.errors import GatewayError
from connector_gateway.storage.sql.backup_restore_witness import FileWitness
from connector_gateway.storage.sql.database import Database
from harness.clocks import NOON, ManualClock
from simulation.accounts import WAYS, Rewire, Way, change_connection, create_ways
from simulation.checks import check_active_state, check_history
from simulation.failing_storage import Storage, copy_storage
from simulation.idempotency_key_forms import FORMS, request
from simulation.killable_process import BROKEN, Process, Reply, settings, steady_time
from simulation.scenarios import (
    SETTLE_SECONDS,
    TIMEOUT_SECONDS,
    ByHand,
    Crash,
    Disk,
    Freeze,
    Network,
    Restore,
    SetClock,
    Story,
    Write,
)
from simulation.vendors import CALL, Sent, Trouble, Vendors
from simulation.virtual_time_loop import Stopped, simulate, simulated_loop
from simulation.writes import KINDS, PublicFiles, World, target_of
from workspace_sandbox import EMULATORS

FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
OPERATOR = "op_0123456789abcdef0123456789abcdef"
BEGIN = 700.0
"""The time at which the processes are started; before it, only people act."""

QUIET_SECONDS = 61.0
REPEAT_SECONDS = 4.0
BOUND_SECONDS = 600.0
"""The time within which a repeating caller gets a final response, after faults stop."""

OWED_SECONDS = 5.0
"""The time in which a process completes pending work after a pause or an outage: twice the retry interval, and more."""

LONG_SECONDS = 12.0
"""A wait of at least this length can be skipped with the processes stopped."""

IN_PROGRESS = "idempotency_in_progress"

WARM = Story(
    0,
    (
        *(
            Write(number, kind, f"Warm {number}", f"warm-{number}", number % 2, form=FORMS[number % len(FORMS)])
            for number, kind in enumerate(KINDS)
        ),
        *(
            Network(3 * number, Trouble(response, 1.0))
            for number, response in enumerate(("cut", "502", "silence", "garbage"))
        ),
        *(
            Network(3 * number + 1, Trouble(response))
            for number, response in enumerate(("cut", "502", "refusal", "failure"))
        ),
        *(Rewire(5.0, connector, 1, "learned") for connector in EMULATORS),
        Disk(3.0, "refused", 1),
    ),
    processes=2,
)
"""Calls whose first execution initialises caches, made before histories are forked."""


NUMBERS = count()
"""Numbers of the files of one process's histories."""


@dataclass
class Installation:
    """The initial state of every history: the emulators as seeded, and a database with a workspace and connections."""

    vendors: Vendors
    template: Path
    ways: Sequence[Way]
    """The connections to one account of each vendor; most writes use the first."""


@dataclass
class SimulatedCall:
    """One call of a caller, and its response."""

    name: str
    write: Write
    reply: Reply | None = None
    at: float = 0.0
    answered_at: float = 0.0
    lives: tuple[str, int] = ("", 0)
    """The life of the process that responded."""


@dataclass
class History:
    """The events of a history."""

    story: Story
    world: World
    storage: Storage
    calls: list[SimulatedCall] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    runs: dict[str, Reply] = field(default_factory=dict)
    feeds: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    began: float = BEGIN
    healed_at: float = 0.0
    restored_at: float = 0.0
    sent: Sequence[Sent] = ()
    """The requests to vendors, in order."""

    def note(self, *what: object) -> None:
        """Add an event to the timeline."""
        at = asyncio.get_running_loop().time() - self.began
        self.lines.append(f"{at:8.3f} " + " ".join(map(str, what)))


class SeededMint(identifiers.UlidGenerator):
    """Generates the identifiers of a history from its seed and its virtual time."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._last = 0
        self._seeded = random

    def next(self) -> str:
        """Return the next identifier."""
        number = (int((NOON + asyncio.get_running_loop().time()) * 1000) << 80) | self._seeded.getrandbits(80)
        self._last = max(number, self._last + 1 + self._seeded.getrandbits(64))
        return identifiers.ulid(self._last)


def install() -> Installation:
    """Return the initial state, which is created once and copied by forking."""
    # Most of these objects are permanent; garbage collection would spend a third of the time on them.
    gc.disable()
    try:
        return _create_installation()
    finally:
        gc.enable()


def _create_installation() -> Installation:
    vendors = Vendors()
    template = Path(tempfile.mkdtemp(dir=FOLDER, prefix="simulation-")) / "template.db"
    app = App(settings(environment(vendors, template, limits=True, watch=False)), clock=ManualClock())

    async def prepare() -> list[Way]:
        async with app.database:
            return await create_ways(app, vendors, {"chat": {"channels": ["general"]}})

    ways = asyncio.run(prepare())
    watched = ", ".join(f"'{connection_id}'" for connection_id in ways[0].connections.values())
    with sqlite3.connect(template) as connection:
        connection.execute(f"DELETE FROM watches WHERE connection_id NOT IN ({watched})")
        connection.execute("UPDATE watches SET due_at = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with _restore_globals():
        run_story(Installation(Vendors(), template, ways), WARM, tidy=True)
    return Installation(vendors, template, ways)


@contextmanager
def _restore_globals() -> Iterator[None]:
    """Restore global state of the interpreter that a history changes."""
    mint, state, logs = identifiers._ulid_generator, global_random.getstate(), structlog.get_config()
    try:
        yield
    finally:
        identifiers._ulid_generator = mint
        global_random.setstate(state)
        structlog.configure(**logs)


def environment(vendors: Vendors, path: Path, *, limits: bool, watch: bool) -> dict[str, str]:
    """Return the settings of a process."""
    wide = {f"GATEWAY_{name.upper()}_BUDGET": "100000/1" for name in vendors.emulators}
    return {
        "GATEWAY_DATABASE_URL": f"sqlite:///{path}",
        "GATEWAY_SECRET_KEYS": "a secret that only tests know",
        "GATEWAY_OPERATOR_TOKEN": OPERATOR,
        "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
        "GATEWAY_WATCH": "on" if watch else "off",
        **{f"GATEWAY_{name.upper()}_SETTLE_SECONDS": str(SETTLE_SECONDS) for name in vendors.emulators},
        **vendors.addresses,
        **({} if limits else wide),
    }


def run_story(installation: Installation, story: Story, *, tidy: bool = False) -> tuple[list[str], list[str]]:
    """Run *story*, and return violations and timeline.

    If this process continues afterwards, the story's processes have to be shut down in a *tidy* way.
    """
    global_random.seed(story.seed)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    path = installation.template.parent / f"{os.getpid()}-{next(NUMBERS)}.db"
    storage = copy_storage(installation.template, path)
    world = World(installation.vendors)
    history = History(story, world, storage, sent=installation.vendors.sent)
    try:
        simulate(SimulationRun(installation, history).play(tidy=tidy))
        broken = check_history(history)
    except Stopped:
        broken = ["all timers have expired, and a task still waits"]
    finally:
        for name in path.parent.glob(f"{path.name}*"):
            name.unlink(missing_ok=True)
    return broken, timeline(history)


class SimulationRun:
    """Runs a story."""

    def __init__(self, installation: Installation, history: History) -> None:
        self.installation = installation
        self.history = history
        self.story = history.story
        self.world = history.world
        self.vendors = installation.vendors
        self.random = Random(f"{self.story.seed} happens")
        self.tasks: list[asyncio.Task[Any]] = []
        self.crashes: list[asyncio.Task[Any]] = []
        """Crashes that do not happen if a process makes fewer moves."""

        self.healthy = False
        self._said: dict[str, str] = {}
        self._resting: asyncio.Lock = asyncio.Lock()
        self._calls = 0

    async def play(self, *, tidy: bool) -> None:
        """Run from start to end."""
        identifiers._ulid_generator = SeededMint(Random(f"{self.story.seed} mints"))
        self.vendors.random = Random(f"{self.story.seed} travels")
        self.vendors.limits = self.story.limits
        await self.vendors.start()
        await self._before()
        await self._start()
        await self._play()
        await self._end_failures()
        await self._repeat()
        await self._settle()
        await self._wait_until_resumed()
        await self._read_history()
        if tidy:
            await asyncio.gather(*(process.stop() for process in self.history.processes))

    # The story

    async def _before(self) -> None:
        """Run the events before the first call."""
        loop = simulated_loop()
        loop.set_time(10.0)
        for item in self.story.items:
            if isinstance(item, SetClock) and item.process < 0:
                self.vendors.clock.skew = item.skew
        prepared = {(write.kind, target_of(write.content)) for write in self.story.writes}
        for kind, content in sorted(prepared):
            await KINDS[kind].prepare(self.world, content)
        loop.set_time(BEGIN - 500.0)
        early = [item for item in self.story.items if isinstance(item, ByHand) and item.at < -5]
        for item in sorted(early, key=lambda item: item.at):
            loop.set_time(BEGIN + item.at)
            self._by_hand(item)
        loop.set_time(BEGIN - 10)

    async def _start(self) -> None:
        variables = environment(
            self.vendors, self.history.storage.path, limits=self.story.limits, watch=self.story.watch
        )
        read = settings(variables)
        for number in range(self.story.processes):
            process = Process(
                f"process {number}",
                read,
                self.history.storage,
                self.vendors,
                Random(f"{self.story.seed} process {number}"),
                self.history.note,
                files=PublicFiles(),
            )
            self.history.processes.append(process)
            await process.start()
        loop = asyncio.get_running_loop()
        await asyncio.sleep(BEGIN - loop.time() + (40.0 if self.story.watch else 0.0))
        self.history.began = loop.time()

    async def _play(self) -> None:
        network = [item for item in self.story.items if isinstance(item, Network)]
        self.vendors.troubles = {item.number: item.trouble for item in network if not item.reading}
        self.vendors.reading_troubles = {item.number: item.trouble for item in network if item.reading}
        self.vendors.healthy = False
        for item in self.story.items:
            if not isinstance(item, Network) and not (isinstance(item, ByHand) and item.at < -5):
                running = self.crashes if isinstance(item, Crash) else self.tasks
                running.append(asyncio.create_task(self._at(item)))
        if self.story.restore:
            self.tasks.append(asyncio.create_task(self._save(self.story.restore)))
        last = max((getattr(item, "at", 0.0) for item in self.story.items), default=0.0)
        await asyncio.sleep(last + self.random.uniform(0.5, 4.0))

    async def _at(self, item: Any) -> None:
        await asyncio.sleep(max(0.0, item.at))
        match item:
            case Write():
                await self._ask(item, item.process, item.leaves_after)
            case ByHand():
                self._by_hand(item)
            case Disk():
                self._disk(item)
            case Crash():
                await self._crash(item)
            case Freeze() if item.process < self.story.processes:
                self.history.processes[item.process].freeze(item.seconds)
            case Restore():
                await self._restore(item)
            case Rewire():
                await self._rewire(item)
            case SetClock() if 0 <= item.process < self.story.processes:
                self.history.processes[item.process].clock.skew = item.skew
                self.history.note(str(item)[9:])

    async def _restore(self, item: Restore) -> None:
        """Kill all processes, replace the database by the backup, and restart them."""
        async with self._resting:
            for process in self.history.processes:
                process.kill()
            path = self.history.storage.path
            for name in (Path(f"{path}-wal"), Path(f"{path}-shm")):
                name.unlink(missing_ok=True)
            # A new file: the killed processes still have the lost one open.
            self._backup(path).replace(path)
            self.history.note(str(item)[9:])
            self.history.storage.end_failures()
            self.history.restored_at = asyncio.get_running_loop().time()
            if item.declared:
                await self._declare(item)
        for process in self.history.processes:
            await self._revive(process)

    async def _declare(self, item: Restore) -> None:
        """Run the declaring command, on a machine without the file beside the database."""
        path = self.history.storage.path
        FileWitness(path).remove()
        async with Database(f"sqlite:///{path}", clock=steady_time) as database:
            await BackupRestoreDetector(database, [], _skip_feeds).declare(NOON + self.history.began + item.backup_at)

    @staticmethod
    def _backup(path: Path) -> Path:
        return path.with_name(f"{path.name}.backup")

    async def _save(self, item: Restore) -> None:
        """Create a backup while the gateway is serving."""
        await asyncio.sleep(max(0.0, item.backup_at))
        path = self.history.storage.path
        with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(self._backup(path))) as backup:
            database.backup(backup)
        self.history.note("a backup is made")

    async def _rewire(self, item: Rewire) -> None:
        self.history.note(str(item)[9:])
        process = self.history.processes[0]
        with suppress(GatewayError):
            await process.apart(change_connection(process.app, self.vendors, self.installation.ways[item.way], item))

    def _by_hand(self, item: ByHand) -> None:
        self.history.note(str(item)[9:])
        KINDS[item.kind].colleague(self.world, item.content)

    def _disk(self, item: Disk) -> None:
        storage, now = self.history.storage, asyncio.get_running_loop().time()
        self.history.note(str(item)[9:])
        match item.what:
            case "away":
                storage.unavailable_until = now + item.amount
            case "slow":
                storage.slow_until, storage.slow_seconds = now + item.amount, 0.7
            case "refused":
                storage.fail_commits = int(item.amount)
            case "unacknowledged":
                storage.unacknowledge = int(item.amount)

    async def _crash(self, item: Crash) -> None:
        process = self.history.processes[item.process]
        process.crash_after = item.moves
        if item.restart_after is None:
            return
        await asyncio.wait([process.died])
        await asyncio.sleep(item.restart_after)
        await self._revive(process)

    async def _revive(self, process: Process) -> None:
        async with self._resting:
            if not process.alive:
                self.history.note(process.name, "is started")
                await process.start()

    async def _ask(self, write: Write, number: int, leaves_after: float | None = None) -> Reply | None:
        """Call once, and return the response, or None if the caller disconnected.

        Of repeats, only the first that is answered in the same way is told.
        """
        self._calls += 1
        process = self.history.processes[number % self.story.processes]
        now = asyncio.get_running_loop().time()
        call = SimulatedCall(f"call {self._calls}", write, at=now, lives=(process.name, process.generation))
        self.history.calls.append(call)
        CALL.set(call.name)
        method, path, body = KINDS[write.kind].request(self.world, write.content)
        connector = KINDS[write.kind].connector
        way = self.installation.ways[write.way]
        bearer = {"authorization": f"Bearer {way.key}"}
        key = f"key {write.key}, {write.form}" if write.key else "no key"
        at = len(self.history.lines)
        self.history.note(
            call.name, "to", process.name, "for", write.kind, repr(write.content), f"({key}, {WAYS[write.way]})"
        )
        params = {"connection_id": way.connections[connector], **body}
        sent = request(connector, (method, path, params), write.key, write.form)
        calling = process.call(sent.method, sent.path, {**bearer, **sent.headers}, sent.body)
        if leaves_after is None:
            call.reply = sent.reply(await calling)
        else:
            try:
                async with asyncio.timeout(leaves_after):
                    call.reply = sent.reply(await calling)
            except TimeoutError:
                self.history.note(call.name, "is left by its caller")
                return None
        call.answered_at = asyncio.get_running_loop().time()
        summary = _summarise(call.reply)
        if write.key and self._said.get(write.key) == summary and self.healthy and at == len(self.history.lines) - 1:
            self.history.lines.pop()
        else:
            self.history.note(call.name, "is answered", summary)
        self._said[write.key or ""] = summary
        return call.reply

    # After the story

    async def _end_failures(self) -> None:
        """Stop all faults, and restart dead processes."""
        self.history.note("faults stop")
        self.healthy = True
        self.history.storage.end_failures()
        self.vendors.healthy = True
        for process in self.history.processes:
            process.crash_after = None
            await self._revive(process)
        for crash in self.crashes:
            crash.cancel()
        self.history.healed_at = asyncio.get_running_loop().time()

    async def _repeat(self) -> None:
        """Repeat every keyed call until there is a final response, and wait for the others."""
        firsts: dict[tuple[str, str], Write] = {}
        for write in sorted(self.story.writes, key=lambda write: write.at):
            if write.key:
                firsts.setdefault((write.key, write.content), write)
        await self._repeat_until_final(list(firsts.values()))
        for task in self.tasks:
            if not task.done():
                await asyncio.wait([task], timeout=BOUND_SECONDS)
            if task.done():
                task.result()

    async def _repeat_until_final(self, pending: Sequence[Write]) -> None:
        deadline = asyncio.get_running_loop().time() + BOUND_SECONDS
        while pending and asyncio.get_running_loop().time() < deadline:
            waits = await asyncio.gather(*(self._repeat_once(write) for write in pending))
            pending = [write for write, wait in zip(pending, waits, strict=True) if wait is not None]
            if pending:
                await self._advance_time(min(wait for wait in waits if wait is not None))

    async def _repeat_once(self, write: Write) -> float | None:
        """Repeat once. Returns None if the response is final, otherwise the seconds to wait."""
        context = contextvars.copy_context()
        number = self.random.randrange(self.story.processes)
        reply = await asyncio.get_running_loop().create_task(self._ask(write, number), context=context)
        if reply is None or reply is BROKEN:
            return REPEAT_SECONDS
        if final(reply):
            return None
        return max(REPEAT_SECONDS, float(reply.body["error"].get("retry_after") or 0.0))

    async def _advance_time(self, seconds: float) -> None:
        """Advance time, without the processes' heartbeats for long waits."""
        loop = asyncio.get_running_loop()
        if seconds <= 0:
            return
        if seconds < LONG_SECONDS or not self.story.sleeps or not all(task.done() for task in self.tasks):
            await asyncio.sleep(seconds)
            return
        until = loop.time() + seconds
        for process in self.history.processes:
            await process.stop()
        await asyncio.sleep(until - loop.time())
        for process in self.history.processes:
            await self._revive(process)

    async def _settle(self) -> None:
        """Wait until vendor requests are done, and up to a minute for work that remains here."""
        loop = asyncio.get_running_loop()
        done = [
            sent.at + sent.trouble.done_after for sent in self.vendors.sent if sent.trouble and sent.trouble.done_after
        ]
        if any(check_active_state(self.history)):
            await asyncio.sleep(max(0.0, self.history.healed_at + QUIET_SECONDS - loop.time()))
        if any(process.app.database.queues["owed"] for process in self.history.processes):
            await asyncio.sleep(OWED_SECONDS)
        await self._advance_time(max([0.0, *done]) + 1.0 - loop.time())

    async def _wait_until_resumed(self) -> None:
        """Wait until no process is paused, and for the pending work of resumed ones."""
        thaws = [item.at + item.seconds for item in self.story.items if isinstance(item, Freeze)]
        until = self.history.began + max(thaws) + OWED_SECONDS if thaws else 0.0
        await asyncio.sleep(max(0.0, until - asyncio.get_running_loop().time()))

    async def _read_history(self) -> None:
        """Read the history and the feeds, and repeat every call once more."""
        for write in {write.key: write for write in self.story.writes if write.key}.values():
            await self._repeat_until_final([write])
        process = self.history.processes[0]
        for call in self.history.calls:
            headers = {"authorization": f"Bearer {self.installation.ways[call.write.way].key}"}
            run_id = call.reply.run_id if call.reply else None
            if run_id:
                self.history.runs[run_id] = await process.call("GET", f"/v1/runs/{run_id}", headers)
        if self.story.watch:
            headers = {"authorization": f"Bearer {self.installation.ways[0].key}"}
            await asyncio.sleep(130.0)
            for connector in ("notes", "chat"):
                connection_id = self.installation.ways[0].connections[connector]
                path = f"/v1/connectors/{connector}/events?limit=200&connection_id={connection_id}"
                reply = await process.call("GET", path, headers)
                self.history.feeds[connector] = reply.body.get("data") or []


async def _skip_feeds(_: LostPeriod) -> None:
    """Skip reading the feeds if there are restores."""


def final(reply: Reply) -> bool:
    """Return True if a response is a result or a definite error."""
    if reply.status == 200:
        return True
    if reply.code == "outcome_unknown" and not reply.body["error"].get("retry_after"):
        # Objects changed since, or written through another account, remain unknown.
        return reply.undecided
    return 400 <= reply.status < 500 and reply.status != 429 and reply.code != IN_PROGRESS


def _summarise(reply: Reply) -> str:
    """Return a line of the timeline for a response."""
    if reply.status == 0:
        return "by nothing: the connection broke"
    if reply.status == 200:
        return f"200 {reply.body['status']} {reply.body['data']}"
    error = reply.body["error"]
    wait = f", retry after {error['retry_after']}" if error.get("retry_after") else ""
    return f"{reply.status} {reply.code}{wait}"


def timeline(history: History) -> list[str]:
    """Return all events in order, including vendor requests and storage failures."""
    lines = [*history.lines]
    for sent in history.sent:
        if sent.at >= history.began and (sent.changes or sent.trouble):
            outcome = f"{sent.outcome}" + ("" if str(sent.status) == sent.outcome else f" (it answered {sent.status})")
            at = f"{sent.at - history.began:8.3f}"
            lines.append(
                f"{at}     {sent.process}, {sent.call}: {sent.connector} {sent.method} {sent.path} -> {outcome}"
            )
    lines += [f"{at - history.began:8.3f}     storage: {what}" for at, what in history.storage.log]
    return sorted(lines, key=lambda line: float(line[:8]))
