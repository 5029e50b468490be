"""A terminal of our own, to see what people see."""

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Mapping

from harness.starting import start

STYLES = re.compile("\x1b\\[[0-9;]*m")


def typed(columns: int, *command: str, environment: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run a command of ours in a terminal of so many *columns*: its exit status, and the lines without their styles."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    bare = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    told = {**bare, "TERM": "xterm-256color", **environment}
    process = start(*command, stdin=theirs, stdout=theirs, stderr=theirs, env=told)
    os.close(theirs)
    shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return process.wait(30), STYLES.sub("", shown.decode()).splitlines()


def _read(terminal: int) -> bytes:
    """The next bytes; none once nobody writes any more, which Linux tells as an error."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""
