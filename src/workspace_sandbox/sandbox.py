"""Starts and stops the emulators and their control routes."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from workspace_sandbox.control import control
from workspace_sandbox.kit.clock import Clock, ControllableClock, SystemClock
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.keeping import InitialState, Unreadable, dump_state, restore, uncollected
from workspace_sandbox.kit.server import with_faults_and_log
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.snapshots import NOW, Saved, Snapshots, StateFolder, Unusable

EVENTS_URL = "events_url"
"""The knob of emulators that deliver what happens."""

MAX_LINE_BYTES = 32 * 1024
"""Longer request lines than any vendor takes, so that each can refuse too long ones in its own words."""

KEEP_SECONDS = 1.0
"""Seconds after a change until a folder has it."""

CLOCK_FILE, SEEDED_FILE = "clock.json", "seeded.json"


class Sandbox:
    """Emulators and their control routes on consecutive ports of one address; with port 0, on any free ones.

    Its addresses are told by the name *public_host* where it is not called by the one it listens on.
    With a *hooks_url*, those that deliver what happens do so from the start, each to its own address below it.
    What *seeds* tell of an application is made beside what there is, at each beginning; ``InvalidSeed`` if not.
    With a folder as *data*, it goes on with what it finds there, unless it is to be *fresh*, and keeps there what it
    holds. One that is *supervised* writes it only when it stops, and forgets the state of another version.
    Identifiers of what is made differ from those before each reset; if it is *distinct*, also from other sandboxes'.
    """

    def __init__(
        self,
        emulators: Mapping[str, type[Emulator]],
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        public_host: str | None = None,
        hooks_url: str | None = None,
        clock: Clock | None = None,
        data: Path | None = None,
        fresh: bool = False,
        supervised: bool = False,
        seeds: Mapping[str, Any] | None = None,
        distinct: bool = False,
    ) -> None:
        self.host = host
        self.port = port
        self._told = _in_address(public_host or host)
        self.address = ""
        self.released: Callable[[], None] = lambda: None
        """Called when clients that were told to wait may send requests again: all budgets may have room."""

        self.clock = ControllableClock(clock or SystemClock())
        self._folder = StateFolder(data, fresh=fresh, replace=supervised) if data else None
        self._supervised = supervised
        self.snapshots = Snapshots(self._folder)
        self.emulators: dict[str, Emulator] = {
            name: emulator(EmulatorContext(self.clock, **{**emulator.knobs, **_deliveries(emulator, name, hooks_url)}))
            for name, emulator in emulators.items()
        }
        self._seeds = {name: seeds[name] for name in self.emulators if seeds and name in seeds}
        self._seeded: dict[str, Any] = {}
        for name in self.emulators:
            self._sow(name)
        self._beginnings = {
            name: InitialState(emulator, partial(self._sow, name)) for name, emulator in self.emulators.items()
        }
        # What goes on from a folder was another sandbox before.
        if distinct or data:
            self._set_apart()
        self._runners: list[web.AppRunner] = []
        self._kept: dict[str, int] = {}
        self._kept_clock: tuple[float, float | None] | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen: the control routes on the first port, each emulator's hosts on the next ones."""
        self.address = await self._listen(control(self, self.host))
        for emulator in self.emulators.values():
            for name, application in emulator.applications().items():
                emulator.stage.addresses[name] = await self._listen(with_faults_and_log(emulator, application))
        if self._folder:
            self._go_on(self._folder)
            if not self._supervised:
                self._keeping = asyncio.create_task(self._keep_up(self._folder))

    async def stop(self) -> None:
        """Stop listening; a folder has everything then."""
        for runner in reversed(self._runners):
            await runner.cleanup()
        self._runners.clear()
        if self._keeping:
            self._keeping.cancel()
            # Whatever else ended it is told here, and not lost.
            with suppress(asyncio.CancelledError):
                await self._keeping
        if self._folder:
            self._keep(self._folder)
            self._folder.leave()

    def reset(self) -> None:
        """Everything as at the start, the clock too."""
        self.clock.release()
        if self._folder:
            self._folder.begin_anew()
        with uncollected():
            for beginning in self._beginnings.values():
                beginning.restore()

    async def prepare(self) -> None:
        """Write down what the applications begin with, so that the first reset is as quick as all later ones."""
        for beginning in self._beginnings.values():
            beginning.remember()
            # Requests that wait are served in between.
            await asyncio.sleep(0)

    def save(self, name: str) -> None:
        """Save what every emulator holds, and the clock, under *name*."""
        self.snapshots.save(name, dict(self._saved(self.emulators)))

    def load(self, name: str) -> None:
        """Let the emulators hold what was saved under *name*; faults and journals begin anew.

        Those that were not played when it was saved return to their beginning: no state is half of one moment.
        """
        saved = self.snapshots.load(name)
        if self._folder:
            self._folder.begin_anew()
        with uncollected():
            for missing in self._beginnings.keys() - saved.keys():
                self._beginnings[missing].restore()
        self._restore(saved)

    def forget(self, name: str) -> None:
        """Keep no longer what was saved under *name*."""
        self.snapshots.forget(name)

    def describe(self) -> dict[str, Any]:
        """Addresses, credentials, registered applications and examples, each by connector."""
        return {
            "upstreams": {name: _upstream(emulator) for name, emulator in self.emulators.items()},
            "clients": {name: emulator.client() for name, emulator in self.emulators.items()},
            "examples": {name: emulator.examples() for name, emulator in self.emulators.items()},
            **({"seeded": self._seeded} if self._seeds else {}),
            **({"state": self._folder.state} if self._folder else {}),
        }

    def _set_apart(self) -> None:
        for emulator in self.emulators.values():
            emulator.stage.salt = secrets.token_hex(8)
            emulator.stage.reseed_ids()

    def _sow(self, name: str) -> None:
        """Make what a seed tells of an application; nobody is told of it."""
        if name not in self._seeds:
            return
        knobs = self.emulators[name].stage.knobs
        # What was always there has not happened: a seed must not be delivered as news.
        url = knobs.get(EVENTS_URL)
        knobs |= {EVENTS_URL: ""} if url else {}
        self._seeded[name] = self.emulators[name].apply_seed(SeedValue(self._seeds[name], (name,)))
        knobs |= {EVENTS_URL: url} if url else {}

    async def _listen(self, application: web.Application) -> str:
        port = self.port + len(self._runners) if self.port else 0
        # A short shutdown: clients of a test keep their connections open, and would hold up its end.
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, max_line_size=MAX_LINE_BYTES)
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, self.host, port).start()
        return f"http://{self._told}:{runner.addresses[0][1]}"

    def _saved(self, emulators: Mapping[str, Emulator]) -> Iterator[tuple[str, bytes]]:
        yield CLOCK_FILE, json.dumps({"ahead": self.clock.ahead, "stopped_at": self.clock.stopped_at}).encode()
        yield SEEDED_FILE, json.dumps(self._seeded).encode()
        yield from ((name, dump_state(emulator)) for name, emulator in emulators.items())

    def _restore(self, saved: Saved) -> None:
        for name, emulator in self.emulators.items():
            if name in saved:
                emulator.stage.reset()
                restore(emulator, saved[name])
                emulator.stage.change_count += 1
        if CLOCK_FILE in saved:
            self.clock.steer(**json.loads(saved[CLOCK_FILE]))
        if SEEDED_FILE in saved:
            self._seeded = json.loads(saved[SEEDED_FILE])

    def _go_on(self, folder: StateFolder) -> None:
        """Go on with what is in *folder*; addresses to deliver to are those of this start."""
        folder.open()
        saved = folder.read(NOW)
        if saved is None:
            return
        given = {name: emulator.stage.default_knobs.get(EVENTS_URL) for name, emulator in self.emulators.items()}
        try:
            self._restore(saved)
        except (Unreadable, ValueError, TypeError) as fault:
            raise Unusable(f"The folder holds a state that cannot be read: {fault}.") from fault
        for name, url in given.items():
            if url:
                self.emulators[name].stage.knobs[EVENTS_URL] = url

    async def _keep_up(self, folder: StateFolder) -> None:
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            self._keep(folder)

    def _keep(self, folder: StateFolder) -> None:
        """Write what was touched since it was written."""
        touches = {name: emulator.stage.change_count for name, emulator in self.emulators.items()}
        changed = {name: one for name, one in self.emulators.items() if touches[name] != self._kept.get(name, 0)}
        steered = (self.clock.ahead, self.clock.stopped_at)
        if changed or steered != self._kept_clock:
            folder.write(NOW, dict(self._saved(changed)))
        self._kept, self._kept_clock = touches, steered


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _deliveries(emulator: type[Emulator], name: str, hooks_url: str | None) -> dict[str, str]:
    return {EVENTS_URL: f"{hooks_url}/{name}"} if hooks_url and EVENTS_URL in emulator.knobs else {}


def _upstream(emulator: Emulator) -> dict[str, str]:
    addresses = {f"{name}_url": address for name, address in emulator.stage.addresses.items()}
    return addresses | emulator.credentials()
