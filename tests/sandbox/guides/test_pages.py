"""The five-minute pages of the sandbox: what they show is run."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workspace_sandbox import APPLICATIONS
from workspace_sandbox.running import Running, running

HERE = Path(__file__).parent
PAGES = HERE.parents[2] / "docs" / "guide" / "sandbox"
BLOCK = re.compile(r"```(python|js)\n(.*?)```", re.DOTALL)
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning",  # two vendors' libraries leave their pools to the garbage collector
    "ignore::pytest.PytestUnraisableExceptionWarning",  # the same, seen later
)


@pytest.fixture(scope="module")
def started() -> Iterator[Running]:
    with running() as started:
        yield started


def block(application: str, language: str) -> str:
    """What the page of *application* shows in that language."""
    blocks: dict[str, str] = dict(BLOCK.findall((PAGES / f"{application}.md").read_text(encoding="utf-8")))
    return blocks[language]


def shown(application: str) -> dict[str, Callable[[Running], None]]:
    """The tests that a page shows, by name."""
    names: dict[str, Any] = {}
    exec(compile(block(application, "python"), f"{application}.md", "exec"), names)  # our own page
    return {name: value for name, value in names.items() if name.startswith("test_")}


TESTS = [(application, name) for application in APPLICATIONS for name in shown(application)]


@pytest.mark.parametrize(("application", "name"), TESTS)
def test_a_test_of_a_page_passes(started: Running, application: str, name: str) -> None:
    started.reset()

    shown(application)[name](started)

    assert started[application].journal()


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the vendors' libraries for JavaScript; they are fetched only for who asks for this test."""
    npm = shutil.which("npm")
    if npm is None or not os.environ.get("JAVASCRIPT"):
        pytest.skip("the libraries for JavaScript are fetched from npm with `make javascript` only")
    folder = tmp_path_factory.mktemp("javascript")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    subprocess.run(install, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.javascript
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_program_of_a_page_runs(started: Running, packages: Path, application: str) -> None:
    started.reset()
    program = packages / f"{application}.mjs"
    program.write_text(block(application, "js"), encoding="utf-8")
    given = {**os.environ, "SANDBOX": json.dumps(started._sandbox.describe())}

    ended = subprocess.run(["node", program], cwd=packages, env=given, capture_output=True, text=True, check=False)

    assert (0, "") == (ended.returncode, ended.stderr if ended.returncode else "")
    assert 404 in {exchange.status for exchange in started[application].journal()} or application == "chat"
