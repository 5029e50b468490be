"""Where the log goes: to standard output, as long as that can be written to."""

import sys
from contextlib import suppress


class LogOutput:
    """Standard output, which may lie on a full disk; what cannot be written there is dropped.

    Otherwise a call would fail because its failure could not be logged.
    """

    @staticmethod
    def write(text: str) -> int:
        """Write *text*, if that can be done."""
        with suppress(OSError):
            return sys.stdout.write(text)
        return 0

    @staticmethod
    def flush() -> None:
        """Hand on what was written, if that can be done."""
        with suppress(OSError):
            sys.stdout.flush()
