"""A server with systemd, on a copy of this machine's files that is discarded, and with a network of its own."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.processes import DEPLOY
from harness.wait import wait_until

CHECKOUT = DEPLOY.parent
BOOT = Path(__file__).parent / "boot.sh"
SYSTEMD = "/lib/systemd/systemd"
PROGRAMS = (SYSTEMD, "ip", "nsenter", "unshare")
UNSHARE = ("unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
CLONE_NEWNET = 0x40000000
LONGEST_SECONDS = 300


def unavailable() -> str:
    """Return the reason why this machine cannot boot such a server, or an empty string."""
    if os.geteuid() != 0:
        return "namespaces with systemd require root"
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"not installed here: {', '.join(missing)}"
    if _control_groups() is None:
        return "there are no writable control groups here"
    probe = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    return f"namespaces are not allowed here: {probe.stderr.strip()}" if probe.returncode else ""


class NotBooted(Exception):
    """systemd did not start on this machine, for the reason in its output."""


@dataclass(frozen=True)
class VirtualServer:
    """A booted server. The checkout has the same path there as here, and changes of it are discarded too."""

    process_id: int
    """Its systemd."""

    def run(self, lines: str, **variables: str) -> str:
        """Type *lines* as root in the checkout, each of which must succeed, and return their output."""
        done = self.attempt(lines, **variables)
        assert 0 == done.returncode, f"{lines}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def attempt(self, lines: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Type *lines* as root in the checkout until one fails."""
        spaces = ("--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--root", f"--wdns={CHECKOUT}")
        return subprocess.run(
            ["nsenter", "--target", str(self.process_id), *spaces, "bash", "-euo", "pipefail", "-c", lines],
            env=ENVIRONMENT | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )

    @contextmanager
    def network(self) -> Iterator[None]:
        """Let this thread, and those that it starts, use the server's network."""
        with Path("/proc/thread-self/ns/net").open() as here, Path(f"/proc/{self.process_id}/ns/net").open() as there:
            _enter_network(there.fileno())
            try:
                yield
            finally:
                _enter_network(here.fileno())


@contextmanager
def boot(folder: Path) -> Iterator[VirtualServer]:
    """Boot a server without services in an empty *folder*, and kill it at the end."""
    groups = _control_groups()
    assert groups is not None, unavailable()
    group = groups / f"server-{os.getpid()}"
    group.mkdir()
    join = 'echo 0 > "$0/cgroup.procs"; exec "$@"'
    log = folder.with_suffix(".log")
    command = ["sh", "-c", join, str(group), *UNSHARE, "sh", str(BOOT), str(folder), str(CHECKOUT)]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            with suppress(TimeoutError):
                wait_until(lambda: process.poll() is not None or _booted(process.pid), pause=0.1)
            if process.poll() is not None or not _booted(process.pid):
                raise NotBooted(log.read_text(encoding="utf-8")[-500:])
            yield VirtualServer(_children(process.pid)[0])
        finally:
            process.kill()
    wait_until(lambda: "populated 0" in (group / "cgroup.events").read_text(encoding="utf-8"))
    for inner in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
        inner.rmdir()
    group.rmdir()


def _booted(process_id: int) -> bool:
    """Return True if systemd runs as the child of a process, and has started what services need."""
    return any(
        not VirtualServer(child).attempt("systemctl is-active basic.target").returncode
        for child in _children(process_id)
    )


def _children(process_id: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process_id}/task/{process_id}/children").read_text(encoding="utf-8").split()))


def _control_groups() -> Path | None:
    """Return the folder in which control groups of version 2 can be made."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
    found = (Path(folder) for _, folder, kind, *_ in mounts if kind == "cgroup2")
    return next((folder for folder in found if os.access(folder, os.W_OK)), None)


def _enter_network(namespace: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot enter the network")
