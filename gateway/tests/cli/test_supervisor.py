"""The supervisor with workers that exit, hang or cannot start."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import pytest
from structlog.testing import capture_logs

from connector_gateway.cli.serve.supervisor import Supervisor, Worker
from connector_gateway.cli.serve.worker_channel import HEARTBEAT_BYTE, WorkerSpec
from harness.requirement import requirement
from harness.wait import until

SAYS_READY = "import json, socket, sys, time; s = socket.socket(fileno=json.loads(sys.argv[1])['line']); s.send(b'r')"
DIES = f"{SAYS_READY}; time.sleep(0.3); sys.exit(9)"
CLOSES_ITS_LINE = f"{SAYS_READY}; s.close(); time.sleep(60)"
FALLS_SILENT = f"{SAYS_READY}; time.sleep(60)"
FAILS = "raise SystemExit(3)"
NEVER_ENDS = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SAYS_READY}; time.sleep(60)"
ENDS_ONCE_NOBODY_LISTENS = """
import json, os, signal, socket, sys, time
place = json.loads(sys.argv[1])
listening = socket.socket(fileno=place["listening"][0])
address = listening.getsockname()
listening.close()

def end(*_):
    while not socket.socket().connect_ex(address):
        time.sleep(0.01)
    os._exit(0)

signal.signal(signal.SIGTERM, end)
socket.socket(fileno=place["line"]).send(b"r")
time.sleep(60)
"""


@asynccontextmanager
async def run_supervisor(
    code: str,
    heartbeat_timeout_seconds: float = 30.0,
    last_seconds: float = 10.0,
    missing: int = 0,
    listening: Sequence[socket.socket] = (),
) -> AsyncIterator["asyncio.Task[int]"]:
    """Supervise one worker that runs *code*. Its program is missing at start number *missing*."""
    starts = count(1)

    def command(spec: WorkerSpec) -> Sequence[str]:
        program = "/nowhere/python" if next(starts) == missing else sys.executable
        return (program, "-S", "-c", code, spec.to_option())

    ready = asyncio.Event()
    supervisor = Supervisor(
        command,
        listening,
        1,
        stop_seconds=0.5,
        ready=ready.set,
        heartbeat_timeout_seconds=heartbeat_timeout_seconds,
        final_seconds=last_seconds,
    )
    task = asyncio.create_task(supervisor.run())
    begun = asyncio.create_task(ready.wait())
    await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
    begun.cancel()
    yield task
    if not task.done():
        os.kill(os.getpid(), signal.SIGTERM)
    await task


@requirement("common-208")
async def test_the_backoff_grows_while_a_worker_keeps_exiting() -> None:
    with capture_logs() as logs:
        async with run_supervisor(DIES):
            await until(lambda: _wait_for_logs(logs, 3))

    assert [(0.1, 9), (0.2, 9), (0.4, 9)] == [(line["backoff"], line["status"]) for line in logs[:3]]


@requirement("common-208")
@pytest.mark.parametrize("code", [FALLS_SILENT, CLOSES_ITS_LINE], ids=["silent", "closed line"])
async def test_a_silent_worker_is_killed_and_replaced(code: str) -> None:
    with capture_logs() as logs:
        async with run_supervisor(code, heartbeat_timeout_seconds=2):
            await until(lambda: _wait_for_logs(logs, 2))

    assert ["worker heartbeat missed", "worker exited"] == [line["event"] for line in logs[:2]]
    assert -signal.SIGKILL == logs[1]["status"]


@requirement("common-208")
async def test_a_worker_with_heartbeats_survives_a_suspended_supervisor() -> None:
    ours, theirs = socket.socketpair()
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    worker = Worker(1, process, await asyncio.open_connection(sock=ours), heartbeat_timeout_seconds=0.02)
    await asyncio.sleep(0)
    with capture_logs() as logs:
        theirs.send(HEARTBEAT_BYTE)
        theirs.close()
        _block_event_loop(0.04)
        status = await worker.monitor_task

    assert (0, []) == (status, logs)


@requirement("common-208")
async def test_a_failed_process_start_is_retried() -> None:
    with capture_logs() as logs:
        async with run_supervisor(DIES, missing=2):
            await until(lambda: _wait_for_logs(logs, 3))

    assert ["worker exited", "worker start failed", "worker exited"] == [line["event"] for line in logs[:3]]


@requirement("common-207")
async def test_the_exit_status_of_a_failed_first_worker_is_returned() -> None:
    async with run_supervisor(FAILS) as task:
        status = await task

    assert 3 == status


@requirement("common-210")
async def test_a_worker_that_does_not_exit_is_killed() -> None:
    with capture_logs() as logs:
        async with run_supervisor(NEVER_ENDS, last_seconds=0.5) as task:
            os.kill(os.getpid(), signal.SIGTERM)
            status = await task

    assert (0, ["worker shutdown timed out"]) == (status, [line["event"] for line in logs])


@requirement("common-210")
async def test_the_supervisor_accepts_no_connections_during_shutdown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, capture_logs() as logs:
        async with run_supervisor(ENDS_ONCE_NOBODY_LISTENS, listening=[listening]) as task:
            os.kill(os.getpid(), signal.SIGTERM)
            status = await task

    assert (0, []) == (status, logs)


def _block_event_loop(seconds: float) -> None:
    """Block the event loop, as a suspended machine does."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass


async def _wait_for_logs(logs: Sequence[object], count: int) -> bool:
    return len(logs) >= count
