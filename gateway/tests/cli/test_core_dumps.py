"""Core dumps are disabled, so that no memory of a gateway is written to disk."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.gateway_server import FAST, OPERATOR
from harness.ports import free_port
from harness.requirement import requirement
from harness.subprocesses import start
from harness.wait import wait_until


def is_listening(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def served(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    port = free_port()
    own = {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU", "GATEWAY_OPERATOR_TOKEN": OPERATOR}
    process = start("serve", "--port", str(port), cwd=tmp_path, env={**os.environ, **FAST, **own})
    wait_until(lambda: is_listening(port))
    yield process
    process.kill()
    process.wait(30)


@requirement("deployment-6")
def test_a_gateway_that_is_aborted_leaves_no_dump(served: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    limits = resource.prlimit(served.pid, resource.RLIMIT_CORE)
    os.kill(served.pid, signal.SIGABRT)
    _, status = os.waitpid(served.pid, 0)
    served.returncode = -os.WTERMSIG(status)

    assert ((0, 0), signal.SIGABRT, False) == (limits, os.WTERMSIG(status), os.WCOREDUMP(status))
    assert [] == list(tmp_path.glob("core*"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
@requirement("deployment-6")
def test_a_core_dump_handler_receives_no_dump() -> None:
    script = "import ctypes; print(ctypes.CDLL(None).prctl(3))"
    look = f"from connector_gateway.cli.serve.core_dumps import disable; disable(); {script}"
    output = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True, timeout=60).stdout

    # The answer to PR_GET_DUMPABLE.
    assert "0\n" == output
