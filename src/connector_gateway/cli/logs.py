"""The log: written to standard output, as long as that can be written to, and lines for people to read."""

import sys
from contextlib import suppress
from datetime import datetime

from structlog.typing import EventDict, WrappedLogger

from connector_gateway.cli.printing import printable


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


def for_people(_: WrappedLogger, __: str, line: EventDict) -> str:
    """Render a line of the log as local time, level, event and what else is known, with tracebacks below."""
    at = datetime.fromisoformat(line.pop("timestamp")).astimezone()
    level, event, traceback = line.pop("level"), line.pop("event"), line.pop("exception", None)
    facts = (f"{name}={printable(str(value))}" for name, value in line.items())
    told = "  ".join([f"{at:%H:%M:%S}", f"{level:7}", printable(str(event)), *facts])
    return told if traceback is None else "\n    ".join([told, *map(printable, str(traceback).splitlines())])
