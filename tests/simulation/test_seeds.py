"""Histories with all faults: a few hundred for one process and for two, and regression seeds."""

import sys
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest

TESTS = Path(__file__).parent.parent
HISTORIES = 150


BROKE = {
    10045: "killed while a refused draft is deleted",
    14532: "a clock ten minutes off, told by no answer before the look",
    15814: "left while the claim is given back and storage is away",
    16208: "woken up after the claim was taken over, before it had sent",
    30013: "woken up after an equal write took the object",
    40530: "twins woken up after both were taken over",
    43168: "woken up between two tries of one step",
    52299: "a comment that failed, and could not be looked for",
    206266: "a record that is refused twice, told as partial",
    311033: "a checklist that a refused call left and a later one finished",
    1600197: "asked for a run that a process which stood still had yet to write",
    1506036: "a refused step's row stayed when storage was away, as if somebody still made an equal object",
    1308742: "two pages of one minute, which nobody can tell the order of",
    1013930: "an equal write took the object while its own was still on the way",
    1901861: "a call without a key and the repeat of one with a key filled one checklist together",
    9004698: "a move in doubt while the backup was made, and another's after it",
    10008615: "a change in doubt through an unknown account, and a later one through another account",
    40014745: "the events of a removed connection were expected",
    40023392: "the last repeat was rate limited, and not repeated",
    40026112: "a change in doubt waited for its reservation while a later one was acknowledged",
}


@pytest.fixture(scope="module")
def result() -> CompletedProcess[str]:
    """The outcomes of all histories, run by one process."""
    named = [f"--seed={seed}" for seed in BROKE]
    command = [sys.executable, "-m", "simulation", *named, "--seeds", str(HISTORIES), "--processes", "1", "2"]
    return run(command, cwd=TESTS, capture_output=True, text=True, check=False)


def test_writes_hold_their_promise_under_random_failures(result: CompletedProcess[str]) -> None:
    assert 0 == result.returncode, result.stdout
    assert f"{len(BROKE) + 2 * HISTORIES} histories in " in result.stdout


@pytest.mark.parametrize("seed", BROKE, ids=BROKE.get)
def test_seeds_that_once_broke_a_promise_pass(result: CompletedProcess[str], seed: int) -> None:
    assert f"{len(BROKE) + 2 * HISTORIES} histories in " in result.stdout
    assert f"seed {seed}:" not in result.stdout
