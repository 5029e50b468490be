"""Several connections to one account, in one and two workspaces: their writes are distinguished, and not undone."""

import pytest

from harness.requirement import requirement
from simulation.accounts import WAYS
from simulation.parallel_histories import StoryRunner
from simulation.scenarios import Crash, Item, Network, Story, Write
from simulation.vendors import Trouble
from simulation.writes import KINDS, OVER

LOST = Network(0, Trouble("cut"))
"""The connection breaks, and the request is never performed."""

DONE = Network(0, Trouble("silence", done_after=0.05))
"""The request is performed, but there is no response."""

CREATED = [
    "notes.create_page",
    "boards.create_card",
    "boards.comment_on_card",
    "crm.create_deal",
    "tables.create_records",
    "tables.attach_file",
]
OVERWRITTEN = [name for name, kind in KINDS.items() if kind.overwriting]
PAIRS = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (0, 3), (2, 3)]
"""Both ways by number: of known and unknown account, in one workspace and in two."""


def broken(runner: StoryRunner, *items: Item, processes: int = 1) -> list[str]:
    """Return the promises broken by these events."""
    outcome = runner(Story(0, items, processes=processes, sleeps=False))
    print(outcome.story, "--", *outcome.lines, "--", *outcome.broken, sep="\n")  # noqa: T201  # shown when it fails
    return list(outcome.broken)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{WAYS[pair[0]]} then {WAYS[pair[1]]}")
def test_an_unfinished_checklist_is_not_adopted_through_another_connection(
    runner: StoryRunner, pair: tuple[int, int]
) -> None:
    mine, theirs = pair
    kind = "boards.attach_checklist"

    violations = broken(
        runner,
        Network(3, Trouble("cut")),
        Write(0, kind, "Content", "mine", way=mine),
        Crash(13, 0, 1, 0.05),
        Write(40, kind, "Content", None, way=theirs),
        Write(60, kind, "Content", "mine", way=mine),
    )

    assert [] == violations


@requirement("writes-3")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{WAYS[pair[0]]} and {WAYS[pair[1]]}")
def test_two_connections_create_one_company(runner: StoryRunner, pair: tuple[int, int]) -> None:
    kind = "crm.create_or_update_contact"

    violations = broken(
        runner,
        Network(0, Trouble("answer", done_after=4.0, response_after=4.1)),
        Write(0, kind, "Content", "mine", way=pair[0]),
        Write(1, kind, "Content", "theirs", way=pair[1]),
    )

    assert [] == violations


@pytest.mark.parametrize("lost", [DONE, LOST], ids=["performed", "lost"])
@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 2)], ids=lambda pair: f"{WAYS[pair[0]]} then {WAYS[pair[1]]}")
@pytest.mark.parametrize("kind", OVERWRITTEN)
def test_a_change_in_doubt_is_not_sent_over_a_later_one(
    runner: StoryRunner, kind: str, pair: tuple[int, int], lost: Network
) -> None:
    number = {"mail.change_message_labels": 1, "crm.create_or_update_contact": 1}.get(kind, 0)

    violations = broken(
        runner,
        Network(number, lost.trouble),
        Write(0, kind, "Content", "mine", way=pair[0], leaves_after=1),
        Write(14, kind, f"Content{OVER}", "theirs", way=pair[1]),
        Write(50, kind, "Content", "mine", way=pair[0]),
    )

    assert [] == violations
