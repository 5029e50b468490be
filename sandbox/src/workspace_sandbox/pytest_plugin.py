"""The pytest plugin with the fixture ``sandbox``, which is reset for every test."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

# Every run of pytest imports its plugins, so the sandbox is imported with the first test that uses it.
if TYPE_CHECKING:
    from workspace_sandbox.in_process_sandbox import RunningSandbox

ONLY = "sandbox_only"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the setting for the emulators to run."""
    parser.addini(ONLY, "Emulators to run, such as: notes chat. Default: all.", "args", [])


@pytest.fixture(scope="session")
def started_sandbox(pytestconfig: pytest.Config) -> Iterator["RunningSandbox"]:
    """One sandbox for the whole run, on free ports."""
    from workspace_sandbox.in_process_sandbox import run_sandbox  # noqa: PLC0415  # most runs of pytest use none

    with run_sandbox(*pytestconfig.getini(ONLY)) as started:
        yield started


@pytest.fixture
def sandbox(started_sandbox: "RunningSandbox") -> "RunningSandbox":
    """A sandbox of six applications, which is reset to its initial state before the test."""
    started_sandbox.reset()
    return started_sandbox
