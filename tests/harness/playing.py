"""Emulators on real sockets, served from a thread of their own, so that blocking SDKs can be run against them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiohttp.web_app import _cached_build_middleware

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.sandbox import Sandbox

E = TypeVar("E")


def stand_in(sandbox: Sandbox, kind: type[E]) -> E:
    """The stand-in of *kind*, to look into what it holds."""
    (found,) = (emulator for emulator in sandbox.emulators.values() if isinstance(emulator, kind))
    return found


@contextmanager
def playing(**emulators: type[Emulator]) -> Iterator[Sandbox]:
    """A started sandbox of *emulators* by connector name; its ``emulators`` may be looked at directly."""
    loop = asyncio.new_event_loop()
    sandbox = Sandbox(emulators)
    thread = threading.Thread(target=loop.run_forever, name="sandbox", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(sandbox.start(), loop).result(60)
        yield sandbox
    finally:
        asyncio.run_coroutine_threadsafe(sandbox.stop(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
        # It keeps the handlers of a thousand routes, and with them the sandboxes of a hundred modules.
        _cached_build_middleware.cache_clear()
