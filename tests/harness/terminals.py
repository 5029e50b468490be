"""A terminal of our own, to see what people see."""

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
    """Run a command of ours in a terminal of so many *columns*: its exit status, and the lines without their styles.

    Each prompt is given the next one of *answers*.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    bare = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    variables = {**bare, "TERM": "xterm-256color", **environment}
    # In a session of its own, prompts do not ask at the terminal of the tests.
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
    """The next bytes; none once nobody writes any more, which Linux tells as an error."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""
