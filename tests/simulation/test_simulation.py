"""The simulation itself: it reports no violations without faults, and a seed reproduces its history."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simulation import HASH_SEED
from simulation.parallel_histories import StoryRunner
from simulation.scenarios import ByHand, Story, Write, story
from simulation.vendors import OWN, Trouble, Unexpected, consistent
from simulation.writes import KINDS

TESTS = Path(__file__).parent.parent
SEEDS = (7, 23, 101)
PRINT_LINES = f"""
import json, shutil
from simulation.simulated_history import install
from simulation.scenarios import story
from simulation.parallel_histories import run_one
installation = install()
histories = [run_one(installation, story(seed)).lines for seed in {SEEDS}]
shutil.rmtree(installation.template.parent)
print(json.dumps(histories))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_writes_meet_all_promises_without_failures(runner: StoryRunner, kind: str) -> None:
    write = Write(0.5, kind, "Content", "key")
    outcome = runner(Story(1, (write, Write(0.6, kind, "Content", "key"), Write(9.0, kind, "Content", "key"))))

    assert [] == list(outcome.broken)
    assert any("is answered 200" in line for line in outcome.lines)


@pytest.mark.parametrize(
    ("connector", "status", "done_after"),
    [("crm", 500, 3.0), ("tables", 500, 3.0), ("notes", 500, 20.0), ("crm", 503, 20.0), ("crm", 400, None)],
)
def test_vendors_execute_nothing_that_they_have_reported_as_failed(
    connector: str, status: int, done_after: float | None
) -> None:
    trouble = consistent(Trouble(Unexpected(status, OWN), 20.0, 3.0), connector)

    assert trouble is not None
    assert done_after == trouble.done_after


def lines_in_new_process() -> list[list[str]]:
    """Return three histories, run by a new interpreter."""
    environment = {"PYTHONPATH": str(TESTS), HASH_SEED: "0"}
    ran = subprocess.run([sys.executable, "-c", PRINT_LINES], env=environment, capture_output=True, check=True)
    lines: list[list[str]] = json.loads(ran.stdout)
    return lines


def test_a_seed_reproduces_its_history(runner: StoryRunner) -> None:
    lines = [list(runner(story(seed)).lines) for seed in SEEDS]

    assert lines == lines_in_new_process()
    assert all(lines)


@pytest.mark.parametrize("processes", [1, 2])
def test_objects_of_colleagues_are_observed_once_and_in_order(runner: StoryRunner, processes: int) -> None:
    by_hand = [
        ByHand(2.0, "notes.create_page", "First"),
        ByHand(3.0, "chat.post_message", "Second"),
        ByHand(4.0, "chat.post_message", "Third"),
    ]
    write = Write(1.0, "chat.post_message", "Second", "key")
    outcome = runner(Story(1, (write, *by_hand), processes=processes, watch=True))

    assert [] == list(outcome.broken)


def test_stories_differ_from_seed_to_seed() -> None:
    assert 50 == len({str(story(seed)) for seed in range(50)})
