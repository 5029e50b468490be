"""The images of both Containerfiles, and the services of deploy/compose.yaml as containers of podman."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deploy.processes import DEPLOY

PROJECT = DEPLOY.parent
IMAGES = Path(__file__).parent / "images"
PROGRAMS = ("podman", "runc", "debootstrap")
BASE = "localhost/debian-with-python"
DEBIAN = "ca-certificates,python3,python3-pip,python3-venv"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"

# Where rights are restricted, the engine's own defaults exceed the hard limits, and containers do not start.
ULIMITS = ("--ulimit", "nofile=16384:16384", "--ulimit", "nproc=4096:4096")


def unavailable() -> str:
    """Return the reason why this machine cannot build and run containers, or an empty string."""
    if not os.environ.get("CONTAINERS"):
        return "containers are built and run with `make containers` only"
    if os.geteuid() != 0:
        return "building the base image requires root"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed here: {', '.join(missing)}" if missing else ""


def podman(*words: str) -> str:
    """Run a command of podman, which must succeed, and return its output."""
    return _run("podman", "--runtime", "runc", *words)


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def build_base() -> None:
    """Create an image of Debian with Python from the package archive that this machine uses."""
    targets = _run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages")
    site, codename = targets.splitlines()[0].split()
    with TemporaryDirectory() as folder:
        root = Path(folder, "root")
        _run("debootstrap", "--variant=minbase", f"--include={DEBIAN}", codename, str(root), site)
        shutil.copy(Path("/", CERTIFICATES), root / CERTIFICATES)
        # The image python:3.13-slim has this name, too, and lets pip install packages for everyone.
        (root / "usr/bin/python").symlink_to("python3")
        for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            marker.unlink()
        archive = Path(folder, "base.tar")
        _run("tar", "--create", "--directory", str(root), "--file", str(archive), ".")
        podman("import", str(archive), BASE)


def build(tag: str, containerfile: Path, context: Path, *options: str) -> None:
    """Build an image. Packages come from the index that this machine uses."""
    index = [f"--env=PIP_INDEX_URL={os.environ['PIP_INDEX_URL']}"] if "PIP_INDEX_URL" in os.environ else []
    where = ("--file", str(containerfile), "--tag", tag, str(context))
    podman("build", "--format", "docker", "--network", "host", *index, *ULIMITS, *options, *where)


def build_images() -> None:
    """Build the images of both Containerfiles and of the services around them."""
    if not podman("images", "--quiet", BASE):
        build_base()
    base = ("--build-arg", f"PYTHON_IMAGE={BASE}")
    build("connector-gateway", DEPLOY / "Containerfile", PROJECT, *base)
    build("workspace-sandbox", PROJECT / "sandbox" / "Containerfile", PROJECT, *base)
    for name in ("nginx", "postgres", "valkey"):
        build(f"tests-{name}", IMAGES / "Containerfile", IMAGES, "--build-arg", f"BASE={BASE}", "--target", name)


class Stack:
    """The running services."""

    def __init__(self, environment_file: Path) -> None:
        files = ("--file", str(DEPLOY / "compose.yaml"), "--file", str(IMAGES / "sandbox.yaml"))
        self._options = ("--podman-run-args", " ".join(ULIMITS), *files, "--env-file", str(environment_file))

    def compose(self, *words: str) -> str:
        """Run a command of compose, which must succeed, and return its output."""
        return _run("podman-compose", "--podman-args", "--runtime runc", *self._options, *words)

    def inspect(self, service: str) -> dict[str, Any]:
        """Return what the engine reports of the container of *service*."""
        report: list[dict[str, Any]] = json.loads(podman("inspect", _container(service)))
        return report[0]

    def process_status(self, service: str) -> Mapping[str, str]:
        """Return the kernel's view of the main process of *service*, such as its user and its capabilities."""
        lines = Path("/proc", str(self.inspect(service)["State"]["Pid"]), "status").read_text(encoding="utf-8")
        return dict(line.split(":\t", 1) for line in lines.splitlines())

    def execute(self, service: str, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the container of *service*."""
        words: Sequence[str] = ("podman", "--runtime", "runc", "exec", _container(service), *command)
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def is_healthy(self, service: str) -> bool:
        """Run the health check of *service* once. Without systemd, the engine does not run it periodically."""
        words = ("podman", "--runtime", "runc", "healthcheck", "run", _container(service))
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _container(service: str) -> str:
    return f"connector-gateway_{service}_1"


@contextmanager
def run_stack(environment_file: Path) -> Iterator[Stack]:
    """Run deploy/compose.yaml with the sandbox as vendors and the values of *environment_file*."""
    stack = Stack(environment_file)
    stack.compose("up", "--detach")
    try:
        yield stack
    finally:
        stack.compose("down", "--volumes")
