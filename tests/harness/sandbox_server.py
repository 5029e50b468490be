"""Emulators on real sockets, served from a thread of their own, so that blocking SDKs can be run against them."""

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
"""Sandboxes that have ended before garbage is looked for among all there is, which takes a quarter of a second."""

ended = count(1)


def create_emulator(sandbox: Sandbox, kind: type[E]) -> E:
    """The emulator of *kind*, to look into what it holds."""
    (emulator_of_kind,) = (emulator for emulator in sandbox.emulators.values() if isinstance(emulator, kind))
    return emulator_of_kind


@contextmanager
def run_emulators(**emulators: type[Emulator]) -> Iterator[Sandbox]:
    """A started sandbox of *emulators* by connector name; its ``emulators`` may be looked at directly."""
    sandbox = Sandbox(emulators)
    with event_loop_thread("sandbox") as background:
        try:
            background.run(sandbox.start())
            yield sandbox
        finally:
            background.run(sandbox.stop())
    # It keeps the handlers of a thousand routes, and with them the sandboxes of a hundred modules.
    _cached_build_middleware.cache_clear()
    if not next(ended) % COLLECTED_TOGETHER:
        del sandbox
        gc.collect()
