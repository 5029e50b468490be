"""Histories with all faults on: a few hundred for one process and for two, and those that once broke a promise."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
HISTORIES = 150


def simulated(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simulation", *options]
    return subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("processes", [1, 2])
def test_the_promise_about_writes_holds_whatever_fails(processes: int) -> None:
    ran = simulated("--seeds", str(HISTORIES), "--processes", str(processes))

    assert 0 == ran.returncode, ran.stdout


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(10045, id="killed while a refused draft is deleted"),
        pytest.param(14532, id="a clock ten minutes off, told by no answer before the look"),
        pytest.param(15814, id="left while the claim is given back and storage is away"),
        pytest.param(16208, id="woken up after the claim was taken over, before it had sent"),
        pytest.param(30013, id="woken up after an equal write took the object"),
        pytest.param(40530, id="twins woken up after both were taken over"),
        pytest.param(43168, id="woken up between two tries of one step"),
        pytest.param(52299, id="a comment that failed, and could not be looked for"),
        pytest.param(206266, id="a record that is refused twice, told as partial"),
        pytest.param(311033, id="a checklist that a refused call left and a later one finished"),
    ],
)
def test_what_once_broke_a_promise_does_so_no_more(seed: int) -> None:
    ran = simulated("--start", str(seed), "--seeds", "1")

    assert 0 == ran.returncode, ran.stdout
