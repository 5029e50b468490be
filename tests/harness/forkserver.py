"""``python -m harness.forkserver FD``: start the command line by forking a process that has imported it already.

A start of Python with all that we import takes most of a second of the processor's time, and the suite starts us some
two hundred times. What is started here has everything else of a process of its own: its files, folder, environment,
signals and exit status.
"""

import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from harness import subprocesses

IMPORTED = (
    "connector_gateway.app",
    "connector_gateway.cli.serve.server",
    "workspace_sandbox.cli",
    "rich.table",
    "rich.syntax",
)
"""Nothing that looks at the terminal or the environment when it is imported, as ``cli.output`` does."""

MOST_BYTES = 1 << 20


def main() -> None:
    """Start what is asked for, until nobody can ask any more."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    # Otherwise each process would look through all of it again at its end, which takes 0.3 s, and copy it for that.
    gc.freeze()
    _serve(requests)


def _serve(requests: socket.socket) -> None:
    while True:
        request, streams, _, _ = socket.recv_fds(requests, MOST_BYTES, 3)
        if not request:
            return
        command = json.loads(request)
        if _forked(requests):
            requests.close()
            _begin(streams, **command)
            return
        for stream in streams:
            os.close(stream)


def _forked(requests: socket.socket) -> bool:
    """Whether this is the new process; its number is told once it is nobody's child, and so that of whoever asked."""
    reading, writing = os.pipe()
    between = os.fork()
    if between:
        os.close(writing)
        os.waitpid(between, 0)
        requests.send(os.read(reading, 100))
        os.close(reading)
        return False
    started = os.fork()
    if started:
        os.write(writing, str(started).encode())
        os._exit(0)
    os.close(reading)
    os.close(writing)
    return True


def _begin(
    streams: Sequence[int],
    words: Sequence[str],
    folder: str,
    environment: dict[str, str],
    *,
    has_folder: bool,
    has_session: bool,
) -> None:
    """Be the command that *words* are, with modules of *folder* if it *has_folder*."""
    if has_session:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w", "backslashreplace")
    sys.path[:1] = [folder] if has_folder else []
    sys.argv[1:] = words
    if words[:1] == ["dev"]:
        _fork_what_it_starts()
    runpy.run_module("connector_gateway", run_name="__main__", alter_sys=True)


def _fork_what_it_starts() -> None:
    """Have the sandbox of ``dev`` forked as well, from what this process is now."""
    client, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        # A terminal's Ctrl-C is for the command alone.
        os.setsid()
        client.close()
        _serve(requests)
        sys.exit()
    requests.close()
    subprocess.Popen = subprocesses.forking_popen(client)  # type: ignore[assignment,misc]  # in this process


def _stream(number: int, mode: str, errors: str | None = None) -> TextIOWrapper:
    """A standard stream as Python makes it at its start."""
    stream: Any = open(number, mode, errors=errors, closefd=False)  # noqa: SIM115  # it stays open
    at_once = "PYTHONUNBUFFERED" in os.environ
    if mode == "w":
        stream.reconfigure(line_buffering=number == 2 or stream.isatty(), write_through=at_once)
    typed: TextIOWrapper = stream
    return typed


if __name__ == "__main__":
    main()
