"""A pseudo-terminal, for output as users see it."""

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Mapping, Sequence

from harness.subprocesses import start

STYLES = re.compile("\x1b\\[[0-9;]*m")


def type_in_terminal(
    columns: int, *command: str, environment: Mapping[str, str], answers: Sequence[str] = ()
) -> tuple[int, list[str]]:
    """Run a command of ours in a terminal of that many *columns*. Returns exit code and lines without styles.

    Each prompt receives the next of *answers*.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    bare = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    variables = {**bare, "TERM": "xterm-256color", **environment}
    # In a separate session, prompts do not read from the terminal of the tests.
    process = start(*command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True)
    os.close(theirs)
    output, inputs = b"", iter(answers)
    while chunk := _read(ours):
        output += chunk
        if output.endswith(b": "):
            os.write(ours, f"{next(inputs)}\n".encode())
    os.close(ours)
    return process.wait(30), STYLES.sub("", output.decode()).splitlines()


def _read(terminal: int) -> bytes:
    """Return the next bytes, empty after the last writer has closed, which Linux reports as an error."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""
