"""Exempts modules from garbage collection: while they are imported, afterwards, and during interpreter shutdown."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable garbage collection for imports, which create little garbage and would take a sixth longer.

    The next collections would traverse all that was imported, which lives as long as the process, so it is exempted.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@atexit.register
def _collect_at_exit() -> None:
    """Collect garbage a last time, and exempt the rest, which Python would traverse again during shutdown."""
    gc.collect()
    gc.freeze()
