"""Known failures of writes, each as a story."""

import pytest

from simulation.parallel_histories import StoryRunner
from simulation.scenarios import ByHand, Crash, Disk, Freeze, Item, Network, Restore, Story, Write
from simulation.vendors import Trouble
from simulation.writes import KINDS

CREATED = ["notes.create_page", "boards.create_card", "boards.comment_on_card", "crm.create_deal"]
ONE_REQUEST_KINDS = [*CREATED, "tables.create_records", "tables.attach_file", "chat.post_message"]
LOST = Trouble("cut")
"""The connection breaks, and the request is never performed."""

SILENT = Trouble("silence")
LATE = Trouble("silence", done_after=20.0)
"""No response in time, although the request was performed."""


def broken_promises(runner: StoryRunner, *items: Item, processes: int = 1, sleeps: bool = False) -> list[str]:
    """Return the promises broken by these events."""
    outcome = runner(Story(0, items, processes=processes, sleeps=sleeps))
    print(outcome.story, "--", *outcome.lines, "--", *outcome.broken, sep="\n")  # noqa: T201  # shown when it fails
    return list(outcome.broken)


def write(kind: str, at: float = 0.0, key: str | None = "key", content: str = "Content") -> Write:
    """Return a caller's write."""
    return Write(at, kind, content, key)


def dies(moves: int, *, at: float = 0.0, again: float = 0.05) -> Crash:
    """Return a crash at a move, with a restart."""
    return Crash(at, 0, moves, again)


# 2. Objects of colleagues are not adopted


@pytest.mark.parametrize("trouble", [LOST, Trouble("failure")], ids=["disconnected", "failed"])
@pytest.mark.parametrize("kind", ["tables.create_vague_record", "notes.create_vague_page", "crm.create_deal"])
def test_an_older_object_of_a_colleague_is_not_adopted(runner: StoryRunner, kind: str, trouble: Trouble) -> None:
    broken = broken_promises(runner, ByHand(-30, kind, "nothing"), Network(0, trouble), write(kind, content="nothing"))

    assert [] == broken


def test_an_empty_page_is_not_matched_with_an_older_one(runner: StoryRunner) -> None:
    older = write("notes.create_vague_page", key="older", content="nothing")
    newer = write("notes.create_vague_page", at=20, key="newer", content="nothing")
    broken = broken_promises(runner, older, dies(1, at=10), Network(1, LOST), newer)

    assert [] == broken


# 3. One object has one owner


@pytest.mark.parametrize("kind", ["tables.create_vague_record", "notes.create_vague_page", "crm.create_deal"])
def test_simultaneous_repeats_of_equal_writes_find_an_object_each(runner: StoryRunner, kind: str) -> None:
    done = Trouble("silence", done_after=0.05)
    calls = [
        Write(at, kind, "nothing", key, leaves_after=leaves)
        for at, leaves in ((0.0, 1.0), (400.0, None))
        for key in ("first", "second")
    ]
    broken = broken_promises(runner, *calls, Network(0, done), Network(1, done))

    assert [] == broken


def test_an_unkeyed_call_does_not_finish_a_keyed_write(runner: StoryRunner) -> None:
    kind = "boards.attach_checklist"
    broken = broken_promises(
        runner,
        Network(0, Trouble("silence", done_after=20.0)),
        write(kind),
        dies(1, at=1),
        write(kind, at=20.5, key=None),
        Write(20.8, kind, "Content", "key", process=1),
        processes=2,
    )

    assert [] == broken


# 4. No step is sent while the previous one may still be performed


def test_blocks_in_transit_at_a_crash_are_not_appended_twice(runner: StoryRunner) -> None:
    late = Network(1, Trouble("silence", done_after=8.0))
    broken = broken_promises(runner, late, write("notes.create_long_page"), dies(1, at=1.2))

    assert [] == broken


def test_a_note_in_transit_at_a_crash_is_not_logged_twice(runner: StoryRunner) -> None:
    late = Network(1, Trouble("silence", done_after=20.0))
    broken = broken_promises(runner, late, write("crm.update_deal"), dies(1, at=2))

    assert [] == broken


@pytest.mark.parametrize("key", ["key", None], ids=["with a key", "without"])
def test_a_draft_in_transit_is_not_resent(runner: StoryRunner, key: str | None) -> None:
    late = Network(1, Trouble("cut", done_after=3.0))
    broken = broken_promises(runner, late, write("mail.send_message", key=key))

    assert [] == broken


# 5. The wait after a crash or an edge failure is as long as after a timeout


@pytest.mark.parametrize("kind", ONE_REQUEST_KINDS)
def test_a_request_that_outlives_the_process_is_not_repeated(runner: StoryRunner, kind: str) -> None:
    late = Network(0, Trouble("silence", done_after=25.0))
    broken = broken_promises(runner, late, write(kind), dies(1, at=2))

    assert [] == broken


# 6. Storage can fail


@pytest.mark.parametrize("seconds", [1.0, 25.0])
@pytest.mark.parametrize("at", [0.02, 0.12])
def test_unavailable_storage_does_not_block_a_key(runner: StoryRunner, at: float, seconds: float) -> None:
    broken = broken_promises(runner, write("boards.comment_on_card"), Disk(at, "away", seconds))

    assert [] == broken


@pytest.mark.parametrize("what", ["refused", "unacknowledged"])
@pytest.mark.parametrize("at", [0.0, 0.02, 0.2])
def test_a_failed_commit_does_not_block_a_key(runner: StoryRunner, at: float, what: str) -> None:
    kind = "refused" if what == "refused" else "unacknowledged"
    broken = broken_promises(runner, write("chat.post_message"), Disk(at, kind, 2))  # type: ignore[arg-type]

    assert [] == broken


# 7. A process that is considered dead changes nothing


@pytest.mark.parametrize("kind", ONE_REQUEST_KINDS)
def test_a_second_process_does_not_take_over_an_active_claim(runner: StoryRunner, kind: str) -> None:
    elsewhere = Write(0.0, "mail.create_draft", "Other", "other", process=1)
    broken = broken_promises(
        runner,
        Network(0, LATE),
        write(kind),
        elsewhere,
        Crash(0.6, 1, 1, 0.05),
        Write(3.0, kind, "Content", "key", process=1),
        processes=2,
    )

    assert [] == broken


@pytest.mark.parametrize("kind", ONE_REQUEST_KINDS)
def test_a_process_resumed_late_overwrites_nothing(runner: StoryRunner, kind: str) -> None:
    broken = broken_promises(
        runner,
        write(kind),
        Freeze(0.04, 0, 40.0),
        Write(20.0, kind, "Content", "key", process=1),
        Write(30.0, kind, "Content", "key", process=1),
        processes=2,
    )

    assert [] == broken


# 8. An own first step is not a foreign change


@pytest.mark.parametrize("trouble", [LOST, SILENT, Trouble("failure")], ids=["disconnected", "timeout", "failed"])
def test_a_guarded_update_can_be_finished(runner: StoryRunner, trouble: Trouble) -> None:
    broken = broken_promises(runner, Network(1, trouble), write("notes.update_page"))

    assert [] == broken


# 10. Errors report the completed steps


@pytest.mark.parametrize(
    "kind",
    [
        "notes.create_long_page",
        "tables.create_records",
        "mail.change_message_labels",
        "crm.create_or_update_contact",
        "notes.update_page",
        "boards.attach_checklist",
    ],
)
def test_a_rejection_halfway_reports_the_completed_steps(runner: StoryRunner, kind: str) -> None:
    broken = broken_promises(runner, Network(1, Trouble("refusal")), write(kind))

    assert [] == broken


# 9. Restored databases


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "detected"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "vague" not in kind])
def test_writes_unknown_to_a_restored_database_are_not_repeated(
    runner: StoryRunner, kind: str, *, declared: bool
) -> None:
    assert [] == broken_promises(runner, write(kind, at=1), Restore(20, 0.5, declared))


@pytest.mark.parametrize("kind", ["notes.create_long_page", "boards.attach_checklist", "mail.send_message"])
def test_a_write_lost_halfway_is_finished_after_a_restore(runner: StoryRunner, kind: str) -> None:
    assert [] == broken_promises(runner, write(kind, at=1), Network(1, LOST), Restore(20, 0.5, declared=False))


@pytest.mark.parametrize("kind", ["boards.comment_on_card", "mail.send_message"])
def test_requests_in_transit_are_awaited_after_a_restore(runner: StoryRunner, kind: str) -> None:
    late = Network(0, Trouble("silence", done_after=26.0))
    assert [] == broken_promises(runner, write(kind, at=1), late, Restore(5, 0.5, declared=True))


def test_an_own_guarded_change_is_no_conflict_after_a_restore(runner: StoryRunner) -> None:
    kind = "notes.update_page"
    late = Network(1, Trouble("silence", done_after=0.05))
    assert [] == broken_promises(runner, write(kind, at=1.6), late, Restore(3.5, 0.5, declared=False), processes=2)
