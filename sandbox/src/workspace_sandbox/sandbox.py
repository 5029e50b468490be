"""The sandbox, which starts and stops the emulators and their control routes."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from workspace_sandbox.control_api import create_control_app
from workspace_sandbox.kit.clock import Clock, ControllableClock, SystemClock
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.middleware import with_faults_and_log
from workspace_sandbox.kit.state.pickling import (
    InitialState,
    Unreadable,
    dump_state,
    restore,
    without_garbage_collection,
)
from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.snapshots import CURRENT, Saved, Snapshots, StateFolder, UnusableFolder

EVENTS_URL = "events_url"
"""The name of the knob with the URL for events, in emulators that deliver them."""

MAX_LINE_BYTES = 32 * 1024
"""Maximum length of a request line.

It exceeds the limits of all vendors, so that each emulator rejects long lines itself.
"""

WRITE_INTERVAL_SECONDS = 1.0
"""Seconds between two writes of changes to the data folder."""

CLOCK_FILE, SEEDED_FILE = "clock.json", "seeded.json"


class Sandbox:
    """The emulators and their control routes on consecutive ports of one address, or on any free ports if *port* is 0.

    *public_host* is the host name in its URLs, if it differs from the one it listens on. With a *hooks_url*, emulators
    deliver events from the start, each to its own path below that URL. *seeds* is data that is added to the default
    data of emulators at each reset. Raises ``InvalidSeed`` if it cannot be created.

    With a folder as *data*, the sandbox continues with the state in it, unless it is *fresh*, and writes its state
    there. A *supervised* sandbox writes it only when it stops, and discards the state of another version. New
    identifiers differ from those before each reset, and with *distinct* also from those of other sandboxes.
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
        self._public_host = _url_host(public_host or host)
        self.address = ""
        self.released: Callable[[], None] = lambda: None
        """A callback for when throttled clients may send requests again, because all budgets may have room."""

        self.clock = ControllableClock(clock or SystemClock())
        self._folder = StateFolder(data, fresh=fresh, replace=supervised) if data else None
        self._supervised = supervised
        self.snapshots = Snapshots(self._folder)
        self.emulators: dict[str, Emulator] = {
            name: emulator(EmulatorContext(self.clock, **{**emulator.knobs, **_event_knobs(emulator, name, hooks_url)}))
            for name, emulator in emulators.items()
        }
        self._seeds = {name: seeds[name] for name in self.emulators if seeds and name in seeds}
        self._seeded: dict[str, Any] = {}
        for name in self.emulators:
            self._apply_seed(name)
        self._initial_states = {
            name: InitialState(emulator, partial(self._apply_seed, name)) for name, emulator in self.emulators.items()
        }
        # A state in a folder comes from an earlier sandbox, whose identifiers must not be used again.
        if distinct or data:
            self._make_ids_unique()
        self._runners: list[web.AppRunner] = []
        self._written_counts: dict[str, int] = {}
        self._written_clock: tuple[float, float | None] | None = None
        self._write_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen with the control routes on the first port, and with the hosts of the emulators on the next ones."""
        self.address = await self._listen(create_control_app(self, self.host))
        for emulator in self.emulators.values():
            for name, application in emulator.applications().items():
                emulator.context.addresses[name] = await self._listen(with_faults_and_log(emulator, application))
        if self._folder:
            self._resume(self._folder)
            if not self._supervised:
                self._write_task = asyncio.create_task(self._write_loop(self._folder))

    async def stop(self) -> None:
        """Stop listening, and write all state to the data folder."""
        for runner in reversed(self._runners):
            await runner.cleanup()
        self._runners.clear()
        if self._write_task:
            self._write_task.cancel()
            # Other exceptions that ended the task are raised here, so that they are not lost.
            with suppress(asyncio.CancelledError):
                await self._write_task
        if self._folder:
            self._write_changes(self._folder)
            self._folder.release()

    def reset(self) -> None:
        """Restore the initial state, including the clock."""
        self.clock.release()
        if self._folder:
            self._folder.new_state()
        with without_garbage_collection():
            for initial_state in self._initial_states.values():
                initial_state.restore()

    async def prepare(self) -> None:
        """Serialize the initial state of the emulators, so that the first reset is as fast as later ones."""
        for initial_state in self._initial_states.values():
            initial_state.serialize()
            # Pending requests are served in between.
            await asyncio.sleep(0)

    def save(self, name: str) -> None:
        """Save the state of every emulator and the clock under *name*."""
        self.snapshots.save(name, dict(self._dump(self.emulators)))

    def load(self, name: str) -> None:
        """Restore the state that was saved under *name*, and clear faults and request logs.

        Emulators that were not running when it was saved return to their initial state, so that no state mixes two
        points in time.
        """
        saved = self.snapshots.load(name)
        if self._folder:
            self._folder.new_state()
        with without_garbage_collection():
            for missing in self._initial_states.keys() - saved.keys():
                self._initial_states[missing].restore()
        self._restore(saved)

    def forget(self, name: str) -> None:
        """Delete the snapshot *name*."""
        self.snapshots.forget(name)

    def describe(self) -> dict[str, Any]:
        """Return the addresses, credentials, OAuth apps and examples of each emulator."""
        return {
            "upstreams": {name: _upstream(emulator) for name, emulator in self.emulators.items()},
            "clients": {name: emulator.client() for name, emulator in self.emulators.items()},
            "examples": {name: emulator.examples() for name, emulator in self.emulators.items()},
            **({"seeded": self._seeded} if self._seeds else {}),
            **({"state": self._folder.state} if self._folder else {}),
        }

    def _make_ids_unique(self) -> None:
        for emulator in self.emulators.values():
            emulator.context.salt = secrets.token_hex(8)
            emulator.context.reseed_ids()

    def _apply_seed(self, name: str) -> None:
        """Create the objects of a seed in an emulator, without delivering events."""
        if name not in self._seeds:
            return
        knobs = self.emulators[name].context.knobs
        # Seeded objects exist from the start, so their creation must not be delivered as an event.
        url = knobs.get(EVENTS_URL)
        knobs |= {EVENTS_URL: ""} if url else {}
        self._seeded[name] = self.emulators[name].apply_seed(SeedValue(self._seeds[name], (name,)))
        knobs |= {EVENTS_URL: url} if url else {}

    async def _listen(self, application: web.Application) -> str:
        port = self.port + len(self._runners) if self.port else 0
        # Clients in tests keep their connections open, which would delay a longer shutdown.
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, max_line_size=MAX_LINE_BYTES)
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, self.host, port).start()
        return f"http://{self._public_host}:{runner.addresses[0][1]}"

    def _dump(self, emulators: Mapping[str, Emulator]) -> Iterator[tuple[str, bytes]]:
        yield CLOCK_FILE, json.dumps({"ahead": self.clock.offset, "stopped_at": self.clock.stopped_at}).encode()
        yield SEEDED_FILE, json.dumps(self._seeded).encode()
        yield from ((name, dump_state(emulator)) for name, emulator in emulators.items())

    def _restore(self, saved: Saved) -> None:
        for name, emulator in self.emulators.items():
            if name in saved:
                emulator.context.reset()
                restore(emulator, saved[name])
                emulator.context.change_count += 1
        if CLOCK_FILE in saved:
            self.clock.adjust(**json.loads(saved[CLOCK_FILE]))
        if SEEDED_FILE in saved:
            self._seeded = json.loads(saved[SEEDED_FILE])

    def _resume(self, folder: StateFolder) -> None:
        """Continue with the state in *folder*, but deliver events to the URLs of this start."""
        folder.open()
        saved = folder.read(CURRENT)
        if saved is None:
            return
        event_urls = {name: emulator.context.default_knobs.get(EVENTS_URL) for name, emulator in self.emulators.items()}
        try:
            self._restore(saved)
        except (Unreadable, ValueError, TypeError) as error:
            raise UnusableFolder(f"The folder contains a state that cannot be read: {error}.") from error
        for name, url in event_urls.items():
            if url:
                self.emulators[name].context.knobs[EVENTS_URL] = url

    async def _write_loop(self, folder: StateFolder) -> None:
        while True:
            await asyncio.sleep(WRITE_INTERVAL_SECONDS)
            self._write_changes(folder)

    def _write_changes(self, folder: StateFolder) -> None:
        """Write the state of all emulators that changed since the last write."""
        change_counts = {name: emulator.context.change_count for name, emulator in self.emulators.items()}
        changed = {
            name: one
            for name, one in self.emulators.items()
            if change_counts[name] != self._written_counts.get(name, 0)
        }
        clock = (self.clock.offset, self.clock.stopped_at)
        if changed or clock != self._written_clock:
            folder.write(CURRENT, dict(self._dump(changed)))
        self._written_counts, self._written_clock = change_counts, clock


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _event_knobs(emulator: type[Emulator], name: str, hooks_url: str | None) -> dict[str, str]:
    return {EVENTS_URL: f"{hooks_url}/{name}"} if hooks_url and EVENTS_URL in emulator.knobs else {}


def _upstream(emulator: Emulator) -> dict[str, str]:
    addresses = {f"{name}_url": address for name, address in emulator.context.addresses.items()}
    return addresses | emulator.credentials()
