"""Our command line as a separate process, started by forking if possible."""

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "connector_gateway"]
OWN = [sys.executable, "-P", "-m", "connector_gateway"]
"""Our command line in Python; no module is loaded from the working folder."""

TESTS = Path(__file__).parent.parent
PR_SET_CHILD_SUBREAPER = 36
ONE_AT_A_TIME = threading.Lock()


def start(*words: str, wrapper: Sequence[str] = (), **options: Any) -> "subprocess.Popen[Any]":
    """Start the command with *words*, behind a *wrapper*; options are those of ``subprocess.Popen``."""
    alike = sys.platform == "linux" and not wrapper and _is_like_this(options.get("env"))
    kind = ForkedProcess if alike else subprocess.Popen
    return kind([*wrapper, *COMMAND, *words], **options)


def run(*words: str, wrapper: Sequence[str] = (), **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run the command with *words*, and return the completed process."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start(*words, wrapper=wrapper, **pipes, **options) as process:
        try:
            output = process.communicate(timeout=60)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, *output)


def _is_like_this(environment: Mapping[str, str] | None) -> bool:
    """Return True if *environment* has the same variables for Python as this process."""
    return environment is None or python_environment(environment) == python_environment(os.environ)


def python_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for Python in *environment*."""
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LC_", "LANG"))}


class ForkedProcess(subprocess.Popen[Any]):
    """A process that was forked from one that has imported everything."""

    def _execute_child(self, args: list[str], *more: Any) -> None:
        """Called by the standard library's class after it has created its pipes."""
        self._fork(_server(), args[len(COMMAND) :], more, has_folder=True)

    def _fork(self, server: socket.socket, words: list[str], more: Sequence[Any], *, has_folder: bool) -> None:
        folder, environment = more[4:6]
        pipes = more[9:15]
        command = {
            "words": words,
            "folder": str(folder or Path.cwd()),
            "environment": dict(os.environ if environment is None else environment),
            "has_folder": has_folder,
            "has_session": bool(more[20]),
        }
        streams = [pipe if pipe >= 0 else number for number, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = _forked(server, json.dumps(command).encode(), streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # the class's own


def forking_popen(server: socket.socket) -> type[subprocess.Popen[Any]]:
    """Return a class that forks our command line from *server*, and starts all other processes."""

    class ForkedOrStarted(ForkedProcess):
        def _execute_child(self, args: list[str], *more: Any) -> None:
            if args[: len(OWN)] == OWN:
                self._fork(server, args[len(OWN) :], more, has_folder=False)
            else:
                super(ForkedProcess, self)._execute_child(args, *more)  # type: ignore[misc]  # the class's own

    return ForkedOrStarted


def _forked(server: socket.socket, command: bytes, streams: list[int]) -> int:
    """Fork a process, adopt it as a child, and return its number."""
    with ONE_AT_A_TIME:
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(server, [command], streams)
            return int(server.recv(100))
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@cache
def _server() -> socket.socket:
    """The server that forks for this process, and ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "harness.forkserver", str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(command, cwd=TESTS, pass_fds=[theirs.fileno()])
    atexit.register(_end, ours, process)
    return ours


def _end(server: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    server.close()
    process.wait(10)
