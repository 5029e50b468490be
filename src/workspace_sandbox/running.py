"""A sandbox beside a test, in a thread of its own: what it is asked and steered by, in Python."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from workspace_sandbox import APPLICATIONS, EMULATORS
from workspace_sandbox.control import set_clock, turn_knobs
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.faults import Fault, FaultKind, fault_of
from workspace_sandbox.kit.stage import RecordedRequest
from workspace_sandbox.kit.threads import LoopThread, event_loop_thread
from workspace_sandbox.sandbox import Sandbox

T = TypeVar("T")
OnLoop = Callable[[Callable[[], Any]], Any]
"""Does something where the sandbox is served, and waits for it."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time that all applications go by."""

    _sandbox: Sandbox
    _on_loop: OnLoop

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._sandbox.clock.now()

    def set(self, at: datetime | float) -> None:
        """Tell this time from now on."""
        self._turn(now=at.isoformat() if isinstance(at, datetime) else at)

    def advance(self, seconds: float) -> None:
        """Move on; whoever waits by the clock is woken."""
        self._turn(advance_seconds=seconds)

    def freeze(self) -> None:
        """Stand still until it is moved."""
        self._turn(frozen=True)

    def run(self) -> None:
        """Go on from the time it tells."""
        self._turn(frozen=False)

    def _turn(self, **wanted: Any) -> None:
        self._on_loop(lambda: set_clock(self._sandbox, wanted))


@dataclass(frozen=True, slots=True)
class Application:
    """One application of the sandbox: where it is, how it is entered, and what can be done to it."""

    name: str
    _emulator: Emulator
    _on_loop: OnLoop

    @property
    def url(self) -> str:
        """The address that stands in for the vendor's."""
        return self._emulator.stage.addresses["base"]

    @property
    def urls(self) -> Mapping[str, str]:
        """The addresses of all its hosts, such as ``content`` of tables."""
        return dict(self._emulator.stage.addresses)

    @property
    def token(self) -> str:
        """The access token that opens it."""
        return self._emulator.credentials()["token"]

    @property
    def credentials(self) -> Mapping[str, str]:
        """All that a client needs to be let in, by the vendor's names."""
        return self._emulator.credentials()

    @property
    def client(self) -> Mapping[str, str]:
        """The application that people let in on the pages of consent: ``client_id`` and ``client_secret``."""
        return self._emulator.client()

    @property
    def examples(self) -> Mapping[str, Any]:
        """Identifiers of objects worth trying."""
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
        """Let the next matching requests go wrong; what is returned counts ``matched`` and ``done``."""
        asked = {"times": times, "method": method, "path": path, "status": status, "headers": headers, "body": body}
        more = {"seconds": seconds, "token": token, "after": after, "probability": probability, "seed": seed}
        made = fault_of({"fault": kind, **asked, **more})
        self._steer(lambda: self._emulator.stage.faults.append(made))
        return made

    def clear_faults(self) -> None:
        """Let everything go right again."""
        self._steer(self._emulator.stage.forget_faults)

    def act(self, action: str, **fields: Any) -> dict[str, Any]:
        """Do what a person would do in the application."""
        done: dict[str, Any] = self._steer(lambda: self._emulator.perform({"action": action, **fields}))
        return done

    def journal(self) -> Sequence[RecordedRequest]:
        """Every request since the start of the test, oldest first."""
        told: list[RecordedRequest] = self._on_loop(lambda: list(self._emulator.stage.journal))
        return told

    def knobs(self, **wanted: Any) -> Mapping[str, Any]:
        """Turn knobs, and tell all of them."""
        told: dict[str, Any] = self._steer(lambda: turn_knobs(self._emulator, wanted))
        return told

    def revoke(self) -> None:
        """Withdraw every authorisation."""
        self._steer(self._emulator.revoke)

    def authorise(self) -> None:
        """Give all of it back."""
        self._steer(self._emulator.authorise)

    def _steer(self, steer: Callable[[], Any]) -> Any:
        def do() -> Any:
            self._emulator.stage.change_count += 1
            return steer()

        return self._on_loop(do)


class RunningSandbox:
    """A sandbox that is served; an application is an attribute or an item by its name."""

    def __init__(self, sandbox: Sandbox, on_loop: OnLoop) -> None:
        self._sandbox = sandbox
        self._on_loop = on_loop
        self._applications = {
            name: Application(name, emulator, on_loop) for name, emulator in sandbox.emulators.items()
        }
        self.clock = Clock(sandbox, on_loop)

    @property
    def url(self) -> str:
        """The address of the control routes."""
        return self._sandbox.address

    @property
    def seeded(self) -> Mapping[str, Any]:
        """Identifiers of what was made of seeds, by application."""
        told: Mapping[str, Any] = self._sandbox.describe().get("seeded", {})
        return told

    def __getitem__(self, name: str) -> Application:
        if name not in self._applications:
            raise KeyError(f"{name} is not played; there are {', '.join(self._applications)}")
        return self._applications[name]

    @property
    def notes(self) -> Application:
        """The stand-in for Notion."""
        return self["notes"]

    @property
    def boards(self) -> Application:
        """The stand-in for Trello."""
        return self["boards"]

    @property
    def mail(self) -> Application:
        """The stand-in for Gmail."""
        return self["mail"]

    @property
    def chat(self) -> Application:
        """The stand-in for Slack."""
        return self["chat"]

    @property
    def crm(self) -> Application:
        """The stand-in for HubSpot."""
        return self["crm"]

    @property
    def tables(self) -> Application:
        """The stand-in for Airtable."""
        return self["tables"]

    def reset(self) -> None:
        """Everything as at the start, the clock too."""
        self._on_loop(self._sandbox.reset)

    def save(self, name: str) -> None:
        """Save what all applications hold, with the clock, under a name."""
        self._on_loop(lambda: self._sandbox.save(name))

    def load(self, name: str) -> None:
        """Let all applications hold what was saved."""
        self._on_loop(lambda: self._sandbox.load(name))

    def forget(self, name: str) -> None:
        """Keep no longer what was saved."""
        self._on_loop(lambda: self._sandbox.forget(name))


@contextmanager
def run_sandbox(
    *only: str,
    port: int = 0,
    hooks_url: str | None = None,
    data: Path | None = None,
    seeds: Mapping[str, Any] | None = None,
) -> Iterator[RunningSandbox]:
    """A sandbox of the applications named, or of all, while inside; on ports that are free unless told."""
    chosen = {name: EMULATORS[name] for name in only or APPLICATIONS}
    sandbox = Sandbox(chosen, port=port, hooks_url=hooks_url, data=data, seeds=seeds)
    with event_loop_thread("workspace-sandbox") as beside:
        try:
            beside.run(sandbox.start())
            yield RunningSandbox(sandbox, lambda work: _done_on(beside, work))
        finally:
            beside.run(sandbox.stop())


def _done_on(beside: LoopThread, work: Callable[[], T]) -> T:
    """The result of *work*, done on the loop: what it changes is served there."""

    async def do() -> T:
        return work()

    # Where requests are served, so that none of them sees a change half done.
    return beside.run(do())
