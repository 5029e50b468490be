"""Servers in separate processes, and their costs."""

import ctypes
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

START_SECONDS = 60.0
"""Longer than the start of a server on a busy machine."""


@dataclass(frozen=True)
class Server:
    pid: int
    url: str

    @property
    def cpu_seconds(self) -> float:
        """User and system time of all threads of the process and of its workers."""
        workers = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_cpu_seconds(pid) for pid in (self.pid, *map(int, workers)))

    @property
    def memory_bytes(self) -> int:
        """Current resident memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @property
    def peak_memory_bytes(self) -> int:
        """Peak resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024


def _cpu_seconds(pid: int) -> float:
    clock = ctypes.c_int()
    ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    return time.clock_gettime(clock.value)


def free_port() -> int:
    """Return the first of ten free ports, below those that the system assigns."""
    first = secrets.choice(range(10_000, 30_000, 10))
    return first if all(map(is_free, range(first, first + 10))) else free_port()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@contextmanager
def started(*command: str, port: int, ready: str | None = "/", **environment: str) -> Iterator[Server]:
    """Run ``python -m command`` until the end of the block. Yields once *ready* responds.

    If *ready* is None, the server does not speak HTTP, and is ready when it accepts connections.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", *command], env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    )
    server = Server(process.pid, f"http://127.0.0.1:{port}")
    try:
        if ready is None:
            wait_until_open(port, process)
        else:
            wait_for(server.url + ready, process)
        yield server
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def asgi(module: str, **environment: str) -> Iterator[Server]:
    """Run an ASGI application on uvicorn, like the gateway, with connections that outlast the pauses of a load."""
    port = free_port()
    quiet = ("--no-access-log", "--log-level", "warning", "--no-server-header", "--no-proxy-headers")
    options = ("--port", str(port), "--http", "httptools", "--timeout-keep-alive", "60", *quiet)
    with started("uvicorn", module, *options, port=port, **environment) as server:
        yield server


def wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while is_free(port):
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"nothing takes connections on port {port}")
        time.sleep(0.02)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    # A client loads certificates, which takes longer than the pause.
    with httpx.Client(timeout=5) as client:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                client.get(url)
            except httpx.TransportError:
                time.sleep(0.02)
            else:
                return
    raise RuntimeError(f"nothing answers at {url}")


def environment_of(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment of a gateway that stores its state in *folder*."""
    return {
        "GATEWAY_DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}",
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_OPERATOR_TOKEN": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
        "GATEWAY_WATCH": "off",
        **settings,
    }
