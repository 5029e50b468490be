"""``python -m harness.forkserver FD``: start the command line by forking a process that has imported it already.

Starting Python with all our imports takes most of a CPU second, and the suite starts the command line some two
hundred times. A forked process has everything else of its own: its files, folder, environment, signals and exit
status.
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
"""Modules that do not read terminal or environment on import, as ``cli.output`` does."""

MOST_BYTES = 1 << 20


def main() -> None:
    """Serve requests until no client is left."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    # Otherwise each process would collect these objects at its end, which takes 0.3 s and copies their pages.
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
    """Return True in the new process. Its number is reported once it is an orphan, and can be adopted by the client."""
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
    """Run the command line *words*, with modules of *folder* if it *has_folder*."""
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
    """Fork the sandbox of ``dev`` from the current process as well."""
    client, requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        # Ctrl-C in a terminal is for the command alone.
        os.setsid()
        client.close()
        _serve(requests)
        sys.exit()
    requests.close()
    subprocess.Popen = subprocesses.forking_popen(client)  # type: ignore[assignment,misc]  # in this process


def _stream(number: int, mode: str, errors: str | None = None) -> TextIOWrapper:
    """Return a standard stream like Python at startup."""
    stream: Any = open(number, mode, errors=errors, closefd=False)  # noqa: SIM115  # it stays open
    at_once = "PYTHONUNBUFFERED" in os.environ
    if mode == "w":
        stream.reconfigure(line_buffering=number == 2 or stream.isatty(), write_through=at_once)
    typed: TextIOWrapper = stream
    return typed


if __name__ == "__main__":
    main()
