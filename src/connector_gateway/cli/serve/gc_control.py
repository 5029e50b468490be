"""When no garbage is looked for: while modules are loaded, and as they are taken apart at the end."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Load modules while inside; they leave hardly any garbage, and looking for it takes a sixth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@atexit.register
def _look_a_last_time() -> None:
    """Find what garbage there is at the end, and leave the rest alone, which Python would look through again."""
    gc.collect()
    gc.freeze()
