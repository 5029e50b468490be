"""Histories with all faults: a few hundred for one process and for two, and regression seeds."""

import sys
from pathlib import Path
from subprocess import CompletedProcess, run

import pytest

TESTS = Path(__file__).parent.parent
HISTORIES = 150


REGRESSIONS = {
    10045: "killed while a rejected draft is deleted",
    14532: "a clock ten minutes off, unknown before the search",
    15814: "disconnected while the claim is released and storage is unavailable",
    16208: "resumed after the claim was taken over, before its request",
    30013: "resumed after an equal write adopted the object",
    40530: "twins resumed after both were taken over",
    43168: "resumed between two attempts of one step",
    52299: "a failed comment that cannot be searched",
    206266: "a record rejected twice, reported as partial",
    311033: "a checklist left by a rejected call and completed by a later one",
    1600197: "read a run that a frozen process had not stored",
    1506036: "the row of a rejected step remained after a storage outage",
    1308742: "two pages of one minute, whose order is unknown",
    1013930: "an equal write adopted the object while its own was in transit",
    1901861: "an unkeyed call and a keyed repeat completed one checklist",
    9004698: "a move in doubt during the backup, and another one after it",
    10008615: "a change in doubt through an unknown account, and a later one through another account",
    70007184: "a rejected batch, sent again record by record before the database was restored",
    73001298: "one portal taken for two, whose deals have equal identifiers",
    73003591: "connections of known and unknown account, paced separately",
    90026835: "a request whose caller left arrived after later ones were let through",
    90045230: "messages of a vendor whose clock is ten minutes behind",
    97600538: "a change that was found undone, but not sent again, forgot its first sending",
    98026076: "an undo began because a step could not be stored, and was interrupted",
    97515614: "two repeats of equal writes chose the same one of two objects at the same time",
    40014745: "the events of a removed connection were expected",
    40023392: "the last repeat was rate limited, and not repeated",
    40026112: "a change in doubt waited for its reservation while a later one was acknowledged",
}


@pytest.fixture(scope="module")
def result() -> CompletedProcess[str]:
    """The outcomes of all histories, run by one process."""
    named = [f"--seed={seed}" for seed in REGRESSIONS]
    command = [sys.executable, "-m", "simulation", *named, "--seeds", str(HISTORIES), "--processes", "1", "2"]
    return run(command, cwd=TESTS, capture_output=True, text=True, check=False)


def test_writes_meet_all_promises_under_random_failures(result: CompletedProcess[str]) -> None:
    assert 0 == result.returncode, result.stdout
    assert f"{len(REGRESSIONS) + 2 * HISTORIES} histories in " in result.stdout


@pytest.mark.parametrize("seed", REGRESSIONS, ids=REGRESSIONS.get)
def test_regression_seeds_pass(result: CompletedProcess[str], seed: int) -> None:
    assert f"{len(REGRESSIONS) + 2 * HISTORIES} histories in " in result.stdout
    assert f"seed {seed}:" not in result.stdout
