"""Emulators on real sockets, served from a separate thread, so that blocking SDKs can be tested with them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from aiohttp.web_app import _cached_build_middleware

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.event_loop_thread import event_loop_thread
from workspace_sandbox.sandbox import Sandbox

E = TypeVar("E")

COLLECTED_TOGETHER = 10
"""The number of ended sandboxes before a full garbage collection, which takes a quarter of a second."""

ended = count(1)


def create_emulator(sandbox: Sandbox, kind: type[E]) -> E:
    """Return the emulator of *kind*."""
    (emulator_of_kind,) = (emulator for emulator in sandbox.emulators.values() if isinstance(emulator, kind))
    return emulator_of_kind


@contextmanager
def run_emulators(**emulators: type[Emulator]) -> Iterator[Sandbox]:
    """Run a sandbox of *emulators* by connector name; its ``emulators`` can be inspected directly."""
    sandbox = Sandbox(emulators)
    with event_loop_thread("sandbox") as background:
        try:
            background.run(sandbox.start())
            yield sandbox
        finally:
            background.run(sandbox.stop())
    # It holds the handlers of a thousand routes, and with them the sandboxes of a hundred modules.
    _cached_build_middleware.cache_clear()
    if not next(ended) % COLLECTED_TOGETHER:
        del sandbox
        gc.collect()
