"""``python -m chaos.wall_clock FILE serve …``: the gateway with a clock that is off by the seconds in *FILE*."""

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path

SECONDS = struct.Struct("d")


class WallClock:
    """The offset in a file, which the trial can change at any time."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(SECONDS.pack(0.0))
        with file.open("r+b") as opened:
            self._shared = mmap.mmap(opened.fileno(), SECONDS.size)

    @property
    def ahead(self) -> float:
        """Return the offset to the machine's clock."""
        seconds: float = SECONDS.unpack(self._shared[:])[0]
        return seconds

    @ahead.setter
    def ahead(self, seconds: float) -> None:
        self._shared[:] = SECONDS.pack(seconds)


def main() -> None:
    """Replace the clock, then run the gateway, which has no other source of time."""
    clock, true_time, true_nanoseconds = WallClock(Path(sys.argv[1])), time.time, time.time_ns
    time.time = lambda: true_time() + clock.ahead
    time.time_ns = lambda: true_nanoseconds() + int(clock.ahead * 1e9)
    sys.argv[1:2] = []
    runpy.run_module("connector_gateway", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
