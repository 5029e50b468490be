"""Calls through the mangling proxy, and violations in their outcomes."""

import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs
from structlog.typing import EventDict

from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.operation_calls import ReadCall, defects, read, write, writes_of
from harness.sandbox_server import run_emulators
from hostile.mangling_proxy import Mangling, mangling
from workspace_sandbox import EMULATORS

TRIES = 6
"""The number of repeats of a write with mangled responses; one repeat without mangling follows."""

BRIEF = {"download_url", "expires_at", "url"}
"""Fields that differ between equal responses."""

UNEXPECTED = {"poll failed", "claiming polls failed", "poll not finished", "object with two owners"}
"""Events of unexpected errors, in addition to rejected calls."""


@dataclass
class Hostile(AllConnectors):
    """A gateway behind the mangling proxy, the vendors, and the gateway's log."""

    proxy: Mangling
    logged: list[EventDict] = field(repr=False)

    # Response shapes

    def violations(self, connector: str, seeds: Iterable[int]) -> list[str]:
        """Return violations in responses to every call of a connector while a third of vendor responses is mangled."""
        readings = self.read_calls(connector)
        return [violation for seed in seeds for violation in self._violations(connector, readings, seed)]

    def _violations(self, connector: str, readings: Sequence[ReadCall], seed: int) -> Iterator[str]:
        gateway = self.with_new_connection(connector)
        contents = {name: f"{connector} {seed} {number}" for number, name in enumerate(writes_of(connector))}
        for name, content in contents.items():
            self.prepare(name, content)
        self.proxy.begin(seed)
        for reading in readings:
            yield from self._judged(f"{reading.method} {reading.path}", seed, read(gateway, connector, reading))
        for name, content in contents.items():
            yield from self._judged(name, seed, write(gateway, self.world, name, content, content))
        self.proxy.stop()

    def _judged(self, call: str, seed: int, reply: Reply) -> Iterator[str]:
        if wrong := misshapen(reply):
            yield f"{call}, seed {seed}: {wrong}: {self.cause()}; mangled: {self.proxy.mangled}"

    def cause(self) -> str:
        """Return the last logged error with its source."""
        return cause_of(self.logged[-1]) if self.logged else "nothing was logged"

    # Writes

    def doubles(self, connector: str, seeds: Iterable[int]) -> list[str]:
        """Return duplicates of objects whose writes got mangled responses and were repeated until they succeeded."""
        return [
            f"{name}, seed {seed}: {wrong}"
            for seed in seeds
            for name in writes_of(connector)
            for wrong in self._doubles(connector, name, seed)
        ]

    def _doubles(self, connector: str, name: str, seed: int) -> Iterator[str]:
        content, gateway = f"{name.split('.')[1].replace('_', '')} {seed}", self.with_new_connection(connector)
        self.prepare(name, content)
        for number in range(TRIES):
            self.proxy.begin(seed * TRIES + number, 0.5 if number else 1.0, only_done=True)
            reply = write(gateway, self.world, name, content, content)
            if self.proxy.mangled and reply.status != 200 and reply.code != "outcome_unknown":
                yield f"{reply.code} after {self.proxy.mangled}"
            if reply.status == 200:
                break
        self.proxy.stop()
        yield from defects(self.world, name, content, write(gateway, self.world, name, content, content))

    # Caches

    def spoiled(self, connector: str, seeds: Iterable[int]) -> list[str]:
        """Return calls with wrong responses after a call whose vendor responses were all mangled."""
        expected = [(reading, read(self.gateway, connector, reading)) for reading in self.read_calls(connector)]
        return [
            f"{reading.method} {reading.path}, seed {seed}: {wrong}"
            for seed in seeds
            for reading, response in expected
            if (wrong := self._spoiled(connector, reading, response, seed))
        ]

    def _spoiled(self, connector: str, reading: ReadCall, expected: Reply, seed: int) -> str:
        gateway = self.with_new_connection(connector)
        self.proxy.begin(seed, 1.0 if seed % 2 else 0.5)
        first = read(gateway, connector, reading)
        self.proxy.stop()
        second = read(gateway, connector, reading)
        if _lasting(second) == _lasting(expected):
            return ""
        return f"{second.body} instead of {expected.body} after {first.body} by {self.proxy.mangled}"


def cause_of(entry: Mapping[str, Any]) -> str:
    """Return the log entry with the line of the connector that caused it."""
    error = entry.get("exc_info")
    frames = traceback.extract_tb(error.__traceback__) if isinstance(error, BaseException) else []
    frames_in_connectors = [
        f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames if "/connectors/" in frame.filename
    ]
    return f"{entry['event']}, {error or entry.get('private')!r}, at {frames_in_connectors[-1:]}"


def _with_cause(_: Any, __: str, entry: EventDict) -> EventDict:
    """Store the current exception, which logs otherwise render later."""
    return {**entry, "exc_info": sys.exc_info()[1]} if entry.get("exc_info") is True else entry


def misshapen(reply: Reply) -> str:
    """Return violations in the shape of a response."""
    if reply.status == 500 or reply.status >= 600:
        return f"{reply.status} {reply.body['error']['code']}"
    if reply.status == 200:
        return "" if {"run_id", "connector", "data"} <= set(reply.body) else f"no envelope: {reply.body}"
    error = reply.body.get("error", {}) if isinstance(reply.body, dict) else {}
    return "" if {"code", "message", "remedy", "details", "docs"} == set(error) else f"no error of ours: {reply.body}"


def _lasting(reply: Reply) -> Any:
    """Return a response without fields that differ between equal responses."""
    return _without(reply.data, BRIEF) if reply.status == 200 else (reply.status, reply.code)


def _without(value: Any, names: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(item, names) for name, item in value.items() if name not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value


@contextmanager
def hostile(folder: Path, **settings: str) -> Iterator[Hostile]:
    """Run a gateway with all connectors behind the proxy, which mangles nothing at first."""
    with (
        run_emulators(**EMULATORS) as sandbox,
        mangling(sandbox) as proxy,
        run_all_connectors(sandbox, folder, **proxy.addresses, **settings) as started,
        capture_logs(processors=[_with_cause]) as logged,
    ):
        yield Hostile(started.gateway, started.world, proxy, logged)
