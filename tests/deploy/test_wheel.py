"""The production wheel: the gateway without sandbox and client, in a separate environment."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from connector_gateway.http.pages.guides import guides
from harness.requirement import requirement

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=REPOSITORY / "gateway", check=True, capture_output=True, timeout=60)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment with the wheel, which borrows its dependencies."""
    environment = tmp_path_factory.mktemp("production")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=60)
    python = environment / "bin" / "python"
    install = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True, timeout=60)
    # A folder in the path ignores .pth files, which would make the sandbox importable.
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return environment / "bin" / "connector-gateway"


def run(command: Path, *words: str) -> subprocess.CompletedProcess[str]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("GATEWAY_", "PYTHON"))}
    return subprocess.run(
        [command, *words], env=bare, cwd=command.parent, capture_output=True, text=True, timeout=60, check=False
    )


@requirement("deployment-3")
def test_the_wheel_contains_only_the_gateway(wheel: Path) -> None:
    packages = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {"connector_gateway"} == {name for name in packages if not name.endswith(".dist-info")}


def test_the_wheel_contains_the_served_guides(wheel: Path) -> None:
    names = {name.removeprefix("connector_gateway/docs/") for name in zipfile.ZipFile(wheel).namelist()}

    assert set() == guides().keys() - names


@requirement("deployment-3")
@pytest.mark.parametrize("name", ["dev", "sandbox", "connector-check"])
def test_commands_that_need_the_sandbox_name_the_package_to_install(command: Path, name: str) -> None:
    ended = run(command, name)

    remedy = "Run pip install ./sandbox in a checkout of the sources."
    message = f"Error: '{name}' requires the package workspace-sandbox. {remedy}\n"
    assert (1, message) == (ended.returncode, ended.stderr)


def test_help_lists_only_available_commands(command: Path) -> None:
    output = run(command, "--help").stdout

    assert "serve" in output
    assert "sandbox" not in output
