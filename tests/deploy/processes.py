"""The services of deploy/compose.yaml, as local processes."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from harness.balancer import run_balancer
from harness.ports import free_port
from harness.subprocesses import COMMAND, python_environment, start
from harness.wait import wait_until

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
NAMES = ("gateway-1", "gateway-2")

NGINX = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/other;
    scgi_temp_path {folder}/other;
    uwsgi_temp_path {folder}/other;
{balancer}
}}
"""
"""The configuration around deploy/balancer.conf, as in the nginx image, with its files in a folder."""


def environment_of(service: str, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that compose gives to *service*, with *secrets*."""
    variables: dict[str, str] = COMPOSE["services"][service]["environment"]
    return {
        name: re.sub(r"\$\{(\w+)(?::\?|:-([^}]*))\}", lambda match: secrets.get(match[1], match[2] or ""), value)
        for name, value in variables.items()
    }


class Gateway:
    """One gateway, which uses the same port at every start, from other *sources* if given."""

    def __init__(
        self, name: str, folder: Path, logs: Path, environment: Mapping[str, str], sources: Path | None = None
    ) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._log = logs / f"{name}.log"
        # Otherwise it would be executed and not forked.
        self._environment = {"PATH": os.environ["PATH"]} | python_environment(os.environ) | dict(environment)
        self.admin_port = self.port
        if "GATEWAY_ADMIN_PORT" in self._environment:
            self.admin_port = free_port()
            self._environment["GATEWAY_ADMIN_PORT"] = str(self.admin_port)
        self.admin_address = f"http://127.0.0.1:{self.admin_port}"
        self._sources = sources
        self.process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        """Start it with the container's command, and wait until it is ready."""
        self._begin()
        with httpx.Client(timeout=30) as http:
            wait_until(lambda: self._is_ready(http))

    def start_in_vain(self) -> tuple[int, str]:
        """Start it, expect a failure, and return exit code and output."""
        self._begin()
        return self.ended(), self._log.read_text(encoding="utf-8")

    def _begin(self) -> None:
        words = [*re.findall(r'^CMD \["(.*)"\]$', CONTAINERFILE, re.MULTILINE)[-1].split('", "')[:-1], str(self.port)]
        with self._log.open("wb") as log:
            where: dict[str, Any] = {"cwd": self._folder, "stdout": log, "stderr": log}
            if self._sources is None:
                self.process = start(*words, env=self._environment, **where)
            else:
                environment = self._environment | {"PYTHONPATH": str(self._sources)}
                self.process = subprocess.Popen([*COMMAND, *words], env=environment, **where)

    def terminate(self) -> None:
        """Stop it like the container runtime."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it if it is running."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def ended(self) -> int:
        """Wait for the process to exit, and return its exit code."""
        return 0 if self.process is None else self.process.wait(60)

    def _is_ready(self, http: httpx.Client) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "it did not start"
        return readiness(http, self.address) == 200


def readiness(http: httpx.Client, address: str) -> int:
    """Return the status of ``/readyz``, or 0 without a response."""
    try:
        return http.get(f"{address}/readyz").status_code
    except httpx.TransportError:
        return 0


@contextmanager
def gateways(folder: Path, logs: Path, secrets: Mapping[str, str], **settings: str) -> Iterator[list[Gateway]]:
    """Start the two gateways in a folder, with *settings* replacing those of the file."""
    processes = [Gateway(name, folder, logs, environment_of(name, secrets) | settings) for name in NAMES]
    try:
        for one in processes:
            one.start()
        yield processes
    finally:
        for one in processes:
            one.terminate()
        statuses = [one.ended() for one in processes]
    assert [0] * len(processes) == statuses


def nginx_program() -> str | None:
    """Return the path of nginx, from ``TESTS_NGINX`` or the search path."""
    return os.environ.get("TESTS_NGINX") or shutil.which("nginx")


def balancer(
    both: Sequence[Gateway], port: int, folder: Path, program: str | None
) -> AbstractContextManager[int | None]:
    """Run a balancer at *port* in front of *both* according to deploy/balancer.conf; *program* is nginx.

    Yields the admin port of nginx.
    """
    if program:
        return nginx([(one.port, one.admin_port) for one in both], port, folder, program)
    return run_balancer([one.port for one in both], port)


@contextmanager
def nginx(backends: Sequence[tuple[int, int]], port: int, folder: Path, program: str, **replaced: str) -> Iterator[int]:
    """Run nginx with deploy/balancer.conf in front of *backends*, some directives *replaced*. Yields the admin port."""
    text = (DEPLOY / "balancer.conf").read_text(encoding="utf-8")
    for name, (one, admin) in zip(NAMES, backends, strict=True):
        text = text.replace(f"server {name}:8080", f"server 127.0.0.1:{one}")
        text = text.replace(f"server {name}:8081", f"server 127.0.0.1:{admin}")
    admin_port = free_port()
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace(
        "listen 8081", f"listen 127.0.0.1:{admin_port}"
    )
    text = text.replace("/dev/stdout", str(folder / "access.log")).replace("/dev/stderr", str(folder / "error.log"))
    for directive, value in replaced.items():
        text, times = re.subn(rf"^( *{directive}) .*;", rf"\1 {value};", text, flags=re.MULTILINE)
        assert times, directive
    path = folder / "nginx.conf"
    # As root it would run its workers as a user of the distribution's package.
    user = "user root;" if os.geteuid() == 0 else ""
    path.write_text(NGINX.format(folder=folder, balancer=text, user=user), encoding="utf-8")
    process = subprocess.Popen([program, "-p", folder, "-e", folder / "error.log", "-c", path])
    try:
        with httpx.Client(timeout=30) as http:
            wait_until(lambda: process.poll() is not None or readiness(http, f"http://127.0.0.1:{port}"))
        assert process.poll() is None, "nginx did not start"
        yield admin_port
    finally:
        process.terminate()
        process.wait(30)
