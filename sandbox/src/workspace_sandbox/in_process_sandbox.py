"""A sandbox in a background thread of a test, and its Python interface."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from workspace_sandbox import EMULATORS
from workspace_sandbox.control_api import set_clock, set_knobs
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import RecordedRequest
from workspace_sandbox.kit.event_loop_thread import LoopThread, event_loop_thread
from workspace_sandbox.kit.faults import Fault, FaultKind, parse_fault
from workspace_sandbox.sandbox import Sandbox

T = TypeVar("T")
OnLoop = Callable[[Callable[[], Any]], Any]
"""Runs a function on the event loop that serves the sandbox, and returns its result."""


@dataclass(frozen=True, slots=True)
class ClockControl:
    """The clock that all emulators use."""

    _sandbox: Sandbox
    _on_loop: OnLoop

    def now(self) -> float:
        """Return the time in seconds since the Unix epoch."""
        return self._sandbox.clock.now()

    def set(self, at: datetime | float) -> None:
        """Set the clock to *at*."""
        self._set(now=at.isoformat() if isinstance(at, datetime) else at)

    def advance(self, seconds: float) -> None:
        """Advance the clock and wake everything that waits for it."""
        self._set(advance_seconds=seconds)

    def freeze(self) -> None:
        """Stop the clock until it is set, advanced or started again."""
        self._set(frozen=True)

    def run(self) -> None:
        """Start a stopped clock from the time that it shows."""
        self._set(frozen=False)

    def _set(self, **changes: Any) -> None:
        self._on_loop(lambda: set_clock(self._sandbox, changes))


@dataclass(frozen=True, slots=True)
class Application:
    """An emulator in the sandbox: its addresses and credentials, and the methods that control it."""

    name: str
    _emulator: Emulator
    _on_loop: OnLoop

    @property
    def url(self) -> str:
        """Return the base URL of the emulator, which replaces that of the vendor."""
        return self._emulator.context.addresses["base"]

    @property
    def urls(self) -> Mapping[str, str]:
        """Return the URLs of all its hosts, such as ``content`` for tables."""
        return dict(self._emulator.context.addresses)

    @property
    def token(self) -> str:
        """Return a valid access token."""
        return self._emulator.credentials()["token"]

    @property
    def credentials(self) -> Mapping[str, str]:
        """Return the credentials that a client needs, under the vendor's names."""
        return self._emulator.credentials()

    @property
    def client(self) -> Mapping[str, str]:
        """Return the OAuth app that users authorise on the consent pages: ``client_id`` and ``client_secret``."""
        return self._emulator.client()

    @property
    def examples(self) -> Mapping[str, Any]:
        """Return identifiers of example objects."""
        return self._emulator.examples()

    def fault(
        self,
        kind: FaultKind,
        *,
        times: int | None = None,
        method: str | None = None,
        path: str | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float | None = None,
        token: str | None = None,
        after: int | None = None,
        probability: float | None = None,
        seed: int | None = None,
    ) -> Fault:
        """Add a fault for the next matching requests. The returned fault counts them in ``matched`` and ``done``."""
        matching = {"times": times, "method": method, "path": path, "status": status, "headers": headers, "body": body}
        effects = {"seconds": seconds, "token": token, "after": after, "probability": probability, "seed": seed}
        fault = parse_fault({"fault": kind, **matching, **effects})
        self._steer(lambda: self._emulator.context.faults.append(fault))
        return fault

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._steer(self._emulator.context.clear_faults)

    def act(self, action: str, **fields: Any) -> dict[str, Any]:
        """Perform a user action."""
        result: dict[str, Any] = self._steer(lambda: self._emulator.perform({"action": action, **fields}))
        return result

    def journal(self) -> Sequence[RecordedRequest]:
        """Return all requests since the start of the test, oldest first."""
        requests: list[RecordedRequest] = self._on_loop(lambda: list(self._emulator.context.request_log))
        return requests

    def knobs(self, **values: Any) -> Mapping[str, Any]:
        """Set knobs, and return the values of all knobs."""
        current: dict[str, Any] = self._steer(lambda: set_knobs(self._emulator, values))
        return current

    def revoke(self) -> None:
        """Revoke all authorisations."""
        self._steer(self._emulator.revoke)

    def authorise(self) -> None:
        """Restore all revoked authorisations."""
        self._steer(self._emulator.authorise)

    def _steer(self, steer: Callable[[], Any]) -> Any:
        def count_and_run() -> Any:
            self._emulator.context.change_count += 1
            return steer()

        return self._on_loop(count_and_run)


class RunningSandbox:
    """A running sandbox. Each emulator is available as an attribute and as an item."""

    def __init__(self, sandbox: Sandbox, on_loop: OnLoop) -> None:
        self._sandbox = sandbox
        self._on_loop = on_loop
        self._applications = {
            name: Application(name, emulator, on_loop) for name, emulator in sandbox.emulators.items()
        }
        self.clock = ClockControl(sandbox, on_loop)

    @property
    def url(self) -> str:
        """Return the URL of the control port."""
        return self._sandbox.address

    @property
    def seeded(self) -> Mapping[str, Any]:
        """Return the identifiers of the objects that seeds created, by emulator."""
        identifiers: Mapping[str, Any] = self._sandbox.describe().get("seeded", {})
        return identifiers

    def __getitem__(self, name: str) -> Application:
        if name not in self._applications:
            raise KeyError(f"{name} is not running; running: {', '.join(self._applications)}")
        return self._applications[name]

    @property
    def notes(self) -> Application:
        """The emulator of Notion."""
        return self["notes"]

    @property
    def boards(self) -> Application:
        """The emulator of Trello."""
        return self["boards"]

    @property
    def mail(self) -> Application:
        """The emulator of Gmail."""
        return self["mail"]

    @property
    def chat(self) -> Application:
        """The emulator of Slack."""
        return self["chat"]

    @property
    def crm(self) -> Application:
        """The emulator of HubSpot."""
        return self["crm"]

    @property
    def tables(self) -> Application:
        """The emulator of Airtable."""
        return self["tables"]

    def reset(self) -> None:
        """Restore the initial state, including the clock."""
        self._on_loop(self._sandbox.reset)

    def save(self, name: str) -> None:
        """Save the state of all emulators and the clock under *name*."""
        self._on_loop(lambda: self._sandbox.save(name))

    def load(self, name: str) -> None:
        """Restore the state that was saved under *name*."""
        self._on_loop(lambda: self._sandbox.load(name))

    def forget(self, name: str) -> None:
        """Delete the snapshot *name*."""
        self._on_loop(lambda: self._sandbox.forget(name))


@contextmanager
def run_sandbox(
    *only: str,
    port: int = 0,
    hooks_url: str | None = None,
    data: Path | None = None,
    seeds: Mapping[str, Any] | None = None,
) -> Iterator[RunningSandbox]:
    """Run a sandbox with the *only* emulators, or all, for the duration of the context.

    Ports are free ones by default.
    """
    chosen = {name: EMULATORS[name] for name in only or EMULATORS}
    sandbox = Sandbox(chosen, port=port, hooks_url=hooks_url, data=data, seeds=seeds)
    with event_loop_thread("workspace-sandbox") as loop_thread:
        try:
            loop_thread.run(sandbox.start())
            yield RunningSandbox(sandbox, lambda work: _run_on_loop(loop_thread, work))
        finally:
            loop_thread.run(sandbox.stop())


def _run_on_loop(loop_thread: LoopThread, work: Callable[[], T]) -> T:
    """Run *work* on the event loop and return its result."""

    async def run() -> T:
        return work()

    # Requests are served on this loop, so that none of them sees a partial change.
    return loop_thread.run(run())
