"""Starts and stops the emulators and their control routes."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from workspace_sandbox.control import control
from workspace_sandbox.kit.clock import Clock, SteeredClock, SystemClock
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.server import staged
from workspace_sandbox.kit.stage import Stage

EVENTS_URL = "events_url"
"""The knob of emulators that deliver what happens."""

MAX_LINE_BYTES = 32 * 1024
"""Longer request lines than any vendor takes, so that each can refuse too long ones in its own words."""


class Sandbox:
    """Emulators and their control routes on consecutive ports of one address; with port 0, on any free ones.

    With a *hooks_url*, those that deliver what happens do so from the start, each to its own address below it.
    """

    def __init__(
        self,
        emulators: Mapping[str, type[Emulator]],
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        hooks_url: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.address = ""
        self.clock = SteeredClock(clock or SystemClock())
        self.emulators: dict[str, Emulator] = {
            name: emulator(Stage(self.clock, **{**emulator.knobs, **_deliveries(emulator, name, hooks_url)}))
            for name, emulator in emulators.items()
        }
        self._runners: list[web.AppRunner] = []

    async def start(self) -> None:
        """Listen: the control routes on the first port, each emulator's hosts on the next ones."""
        self.address = await self._listen(control(self, self.host))
        for emulator in self.emulators.values():
            for name, application in emulator.applications().items():
                emulator.stage.addresses[name] = await self._listen(
                    staged(emulator.stage, application, emulator.throttled)
                )

    async def stop(self) -> None:
        """Stop listening."""
        for runner in reversed(self._runners):
            await runner.cleanup()
        self._runners.clear()

    def reset(self) -> None:
        """Everything as at the start, the clock too."""
        self.clock.release()
        for emulator in self.emulators.values():
            emulator.stage.reset()
            emulator.reset()

    def describe(self) -> dict[str, Any]:
        """Addresses, credentials, registered applications and examples, each by connector."""
        return {
            "upstreams": {name: _upstream(emulator) for name, emulator in self.emulators.items()},
            "clients": {name: emulator.client() for name, emulator in self.emulators.items()},
            "examples": {name: emulator.examples() for name, emulator in self.emulators.items()},
        }

    async def _listen(self, application: web.Application) -> str:
        port = self.port + len(self._runners) if self.port else 0
        # A short shutdown: clients of a test keep their connections open, and would hold up its end.
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, max_line_size=MAX_LINE_BYTES)
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, self.host, port).start()
        return f"http://{self.host}:{runner.addresses[0][1]}"


def _deliveries(emulator: type[Emulator], name: str, hooks_url: str | None) -> dict[str, str]:
    return {EVENTS_URL: f"{hooks_url}/{name}"} if hooks_url and EVENTS_URL in emulator.knobs else {}


def _upstream(emulator: Emulator) -> dict[str, str]:
    addresses = {f"{name}_url": address for name, address in emulator.stage.addresses.items()}
    return addresses | emulator.credentials()
