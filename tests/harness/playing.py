"""Emulators on real sockets, served from a thread of their own, so that blocking SDKs can be run against them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiohttp.web_app import _cached_build_middleware

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.threads import loop_beside
from workspace_sandbox.sandbox import Sandbox

E = TypeVar("E")


def stand_in(sandbox: Sandbox, kind: type[E]) -> E:
    """The stand-in of *kind*, to look into what it holds."""
    (found,) = (emulator for emulator in sandbox.emulators.values() if isinstance(emulator, kind))
    return found


@contextmanager
def playing(**emulators: type[Emulator]) -> Iterator[Sandbox]:
    """A started sandbox of *emulators* by connector name; its ``emulators`` may be looked at directly."""
    sandbox = Sandbox(emulators)
    with loop_beside("sandbox") as beside:
        try:
            beside.run(sandbox.start())
            yield sandbox
        finally:
            beside.run(sandbox.stop())
    # It keeps the handlers of a thousand routes, and with them the sandboxes of a hundred modules.
    _cached_build_middleware.cache_clear()
