"""What callers of the boards room notice when the application refuses, fails, or falls silent."""

from collections import deque
from datetime import datetime
from typing import Any

import pytest

from gateway.tests.connectors.boards.desk import STEPS, Desk, Move
from harness.interrupted_writes import done_step, interrupted_write, planned_step, sent_step
from harness.requirement import requirement
from workspace_sandbox.boards.access import APP
from workspace_sandbox.boards.data.state import format_timestamp

HTML = "<html><body>Bad Gateway</body></html>"


def fail(desk: Desk, path: str, **fault: Any) -> None:
    """Let requests to a path of the card go wrong."""
    desk.gateway.fault("boards", path=path, **fault)


def fail_comments(desk: Desk, **fault: Any) -> None:
    fail(desk, f"/1/cards/{desk.card_id}/actions/comments", **fault)


def fail_item(desk: Desk, index: int, **fault: Any) -> None:
    """Let the item at *index* of the next checklist go wrong."""
    fail(desk, "/1/checklists", method="POST", fault="delay", times=index)
    fail(desk, "/1/checklists", method="POST", **fault)


def ago(desk: Desk, seconds: float) -> float:
    """An instant that many seconds ago."""
    return desk.emulator.context.clock.now() - seconds


def dies_commenting(desk: Desk, key: str, text: str = "Last words") -> None:
    """Leave a comment in doubt behind, as a process does that died 30 s ago."""
    step = sent_step("post the comment", {"card_id": desk.card_id, "text": text}, at=ago(desk, 30))
    path = {"card_id": desk.card_id}
    interrupted_write(
        desk.gateway,
        "boards",
        "comment_on_card",
        key,
        {"text": text},
        [planned_step(desk.card_id), step],
        path=path,
        makes={"post the comment": "comment"},
    )


# Throttling


@pytest.mark.parametrize(("error", "other"), [("API_TOKEN_LIMIT_EXCEEDED", 200), ("API_KEY_LIMIT_EXCEEDED", 429)])
def test_a_token_rests_alone_and_a_key_with_all_its_tokens(desk: Desk, impatient: Move, error: str, other: int) -> None:
    desk = impatient(desk)
    oauth = desk.emulator.oauth
    credentials = {"key": APP.key, "token": oauth.issue_key(oauth.default_token.grant, None).value}
    made = desk.gateway.operator(
        "POST",
        "/v1/connections",
        json={"workspace_id": desk.gateway.workspace_id, "connector": "boards", "credentials": credentials},
    )
    fail_comments(desk, fault="status", status=429, body={"error": error, "message": "Rate limit exceeded"})

    first = desk.comment()
    second = desk.comment("From the other", connection_id=made.data["connection_id"])

    assert "upstream_rate_limited" == first.code
    assert second.status == other


def test_where_the_account_cannot_be_asked_for_the_refusal_is_believed(desk: Desk, impatient: Move) -> None:
    desk = impatient(desk)
    body = {"error": "RATE_LIMIT_EXCEEDED", "message": "Exceeded rate limit to /1/member"}
    fail(desk, "/1/members", fault="status", status=429, body=body)

    reply = desk.gateway.get("/boards/lists", board_id=desk.examples["hidden_board_id"])

    assert "board_not_authorised" == reply.code
    assert 200 == desk.comment().status


# Revoked, out of sight, or not allowed


@pytest.mark.parametrize("text", ["unauthorized card permission requested", "something new", {"message": "new"}])
def test_of_any_other_401_the_account_decides(desk: Desk, text: Any) -> None:
    fail_comments(desk, fault="status", status=401, body=text, times=2)

    alive = desk.comment()
    fail(desk, "/1/members/me", fault="status", status=401, body="invalid token")
    dead = desk.comment()

    assert (403, "board_not_authorised") == (alive.status, alive.code)
    assert (401, "connection_revoked") == (dead.status, dead.code)


@requirement("common-48")
@pytest.mark.parametrize(
    ("status", "text", "code", "reason"),
    [
        (400, "invalid value for text", "upstream_refused", [{"vendor_message": "invalid value for text"}]),
        (
            400,
            {"message": "invalid value for name", "error": "ERROR"},
            "upstream_refused",
            [{"vendor_code": "ERROR", "vendor_message": "invalid value for name"}],
        ),
        (403, "Comments are\r\noff", "upstream_forbidden", [{"vendor_message": "Comments are off"}]),
        (403, {"error": "PLAN"}, "upstream_forbidden", [{"vendor_code": "PLAN"}]),
        (403, {"message": {"text": "no"}}, "outcome_unknown", []),
        (403, ["no"], "outcome_unknown", []),
        (414, HTML, "outcome_unknown", []),
        (
            429,
            {"error": "API_TOO_MANY_CARDS_REQUESTED", "message": "Requested too many cards"},
            "upstream_refused",
            [{"vendor_code": "API_TOO_MANY_CARDS_REQUESTED", "vendor_message": "Requested too many cards"}],
        ),
    ],
)
def test_a_refusal_of_values_or_rights_carries_the_applications_reason(
    desk: Desk, status: int, text: Any, code: str, reason: list[dict[str, str]]
) -> None:
    fail_comments(desk, status=status, fault="status", body=text)

    reply = desk.comment()

    assert (code, reason) == (reply.code, reply.facts)
    assert [] == desk.comments()


def test_a_list_that_leaves_the_board_meanwhile_is_not_found(desk: Desk) -> None:
    text = f"List {desk.examples['list_ids'][1]} does not exist on board {desk.examples['board_id']}"
    fail(desk, f"/1/cards/{desk.card_id}", method="PUT", fault="status", status=404, body=text)

    reply = desk.move(desk.examples["list_ids"][1])

    assert (404, "list_not_found") == (reply.status, reply.code)


def test_answers_with_202_are_as_good(desk: Desk) -> None:
    desk.gateway.knob("boards", write_status=202)

    assert 200 == desk.comment().status


# Comments in doubt


def test_a_comment_of_another_call_or_person_is_not_taken_for_ours(desk: Desk) -> None:
    desk.comment("+1")
    desk.gateway.act("boards", action="comment", card_id=desk.card_id, text="+1")
    fail_comments(desk, fault="drop_before")

    first = desk.comment("+1", idempotency_key="a third")
    again = desk.comment("+1", idempotency_key="a third")

    assert "outcome_unknown" == first.code
    assert 200 == again.status
    assert ["+1", "+1", "+1"] == desk.comments()


@requirement("common-94")
def test_a_comment_of_a_process_that_died_is_found(desk: Desk) -> None:
    comment_id = desk.holds_comment("Last words", desk.author(seconds_ago=25))
    dies_commenting(desk, "dead")

    reply = desk.comment("Last words", idempotency_key="dead")

    assert reply.data["comment_id"] == comment_id
    assert ["Last words"] == desk.comments()


@pytest.mark.parametrize(("seconds_ago", "person"), [(40, False), (25, True)])
def test_a_comment_from_before_or_by_somebody_else_is_not_the_one_of_a_process_that_died(
    desk: Desk, seconds_ago: float, *, person: bool
) -> None:
    desk.holds_comment("Last words", desk.author(seconds_ago=seconds_ago, person=person))
    dies_commenting(desk, f"dead {person}")

    reply = desk.comment("Last words", idempotency_key=f"dead {person}")

    assert reply.data["comment_id"] == desk.last_action_id()
    assert ["Last words", "Last words"] == desk.comments()


def test_a_comment_is_found_below_a_thousand_others(desk: Desk) -> None:
    comment_id = desk.holds_comment("Last words", desk.author(seconds_ago=25))
    deque((desk.holds_comment(f"Noise {number}", desk.author()) for number in range(1000)), maxlen=0)
    dies_commenting(desk, "noise")

    reply = desk.comment("Last words", idempotency_key="noise")

    assert reply.data["comment_id"] == comment_id


# Moves in doubt


@pytest.mark.parametrize("fault", ["drop_after", "garbage"])
def test_a_move_that_was_made_all_the_same_is_told(desk: Desk, fault: str) -> None:
    fail(desk, f"/1/cards/{desk.card_id}", method="PUT", fault=fault)

    reply = desk.move(desk.examples["list_ids"][1], comment="Moved")

    assert ("To do", "In progress") == (reply.data["list_from"], reply.data["list_to"])
    assert reply.data["comment_posted"] is True
    assert ["Moved"] == desk.comments()


@requirement("boards-12")
def test_a_move_that_is_found_later_was_when_the_application_logged_it(desk: Desk) -> None:
    key = {"Idempotency-Key": "found later"}
    fail(desk, f"/1/cards/{desk.card_id}", method="PUT", fault="drop_after")
    fail(desk, f"/1/cards/{desk.card_id}", method="GET", fault="delay", times=1)
    fail(desk, f"/1/cards/{desk.card_id}", method="GET", fault="status", status=503, times=6)

    first = desk.move(desk.examples["list_ids"][1], headers=key)
    moved_at = desk.emulator.store.cards[desk.card_id].actions[-1].author.at
    desk.gateway.act("boards", action="comment", card_id=desk.card_id, text="Later")
    again = desk.move(desk.examples["list_ids"][1], headers=key)

    assert "outcome_unknown" == first.code
    assert format_timestamp(moved_at) == format_timestamp(datetime.fromisoformat(again.data["moved_at"]).timestamp())


def test_of_a_move_within_one_list_nothing_is_claimed(desk: Desk) -> None:
    fail(desk, f"/1/cards/{desk.card_id}", method="PUT", fault="drop_after")

    assert "outcome_unknown" == desk.move(desk.examples["list_ids"][0], position="top").code


@requirement("boards-11")
@pytest.mark.parametrize(
    ("fault", "posted"),
    [
        ({"fault": "drop_after"}, True),
        ({"fault": "status", "status": 403, "body": "Too many comments"}, False),
    ],
)
def test_a_comment_that_goes_wrong_is_looked_for_and_the_move_stands(
    desk: Desk, fault: dict[str, Any], *, posted: bool
) -> None:
    fail_comments(desk, **fault)

    reply = desk.move(desk.examples["list_ids"][1], comment="Moved")

    assert (200, "ok", posted) == (reply.status, reply.body["status"], reply.data["comment_posted"])
    assert desk.comments() == ["Moved"] * posted
    assert desk.list_id() == desk.examples["list_ids"][1]


@pytest.mark.parametrize(
    "fault",
    [{"fault": "drop_before"}, *({"fault": "status", "status": status, "body": HTML} for status in (403, 500, 503))],
)
def test_a_comment_that_may_still_come_is_not_told_as_lost_and_a_repeat_completes_the_move(
    desk: Desk, fault: dict[str, Any]
) -> None:
    key = {"Idempotency-Key": f"half {fault}"}
    fail_comments(desk, **fault)

    first = desk.move(desk.examples["list_ids"][1], comment="Moved", headers=key)
    again = desk.move(desk.examples["list_ids"][1], comment="Moved", headers=key)

    assert 502 == first.status
    assert first.details == [{"done": "move the card", "card_id": desk.card_id}]
    assert ("To do", True) == (again.data["list_from"], again.data["comment_posted"])
    assert ["Moved"] == desk.comments()


@pytest.mark.parametrize("posted", [0, 1])
def test_a_move_of_a_process_that_died_before_or_after_its_comment_is_finished(desk: Desk, posted: int) -> None:
    list_id, key = desk.examples["list_ids"][1], f"died {posted}"
    desk.is_in(list_id)
    deque((desk.holds_comment("Moved", desk.author()) for _ in range(posted)), maxlen=0)
    intent = {
        "card_id": desk.card_id,
        "list_id": list_id,
        "position": "bottom",
        "list_from": "Then",
        "list_to": "In progress",
        "within": False,
    }
    moved = done_step("move the card", intent, {"id": desk.card_id, "moved_at": "2026-11-01T10:00:00.000Z"})
    comment = sent_step("post the comment", {"card_id": desk.card_id, "text": "Moved"}, at=ago(desk, 1))
    interrupted_write(
        desk.gateway,
        "boards",
        "move_card",
        key,
        {"list_id": list_id, "comment": "Moved"},
        [planned_step(intent), moved, comment],
        path={"card_id": desk.card_id},
        makes={"post the comment": "comment"},
    )

    reply = desk.move(list_id, comment="Another", headers={"Idempotency-Key": key})

    assert ("Then", "In progress") == (reply.data["list_from"], reply.data["list_to"])
    assert reply.data["comment_posted"] is True
    assert ["Moved"] == desk.comments()


# Checklists in doubt


@pytest.mark.parametrize("fault", [{"fault": "drop_after"}, {"fault": "garbage"}])
@pytest.mark.parametrize("index", [0, 2, 4])
def test_a_checklist_goes_on_where_an_item_was_in_doubt(desk: Desk, fault: dict[str, Any], index: int) -> None:
    fail_item(desk, index, **fault)

    reply = desk.attach("QA", STEPS)

    assert (5, False) == (reply.data["items_added"], reply.data["skipped"])
    assert [("QA", STEPS)] == desk.checklists()


@pytest.mark.parametrize("fault", ["drop_after", "drop_before"])
def test_an_empty_checklist_in_doubt_is_made_once_and_is_not_taken_for_somebody_elses(desk: Desk, fault: str) -> None:
    key = {"Idempotency-Key": f"empty {fault}"}
    fail(desk, f"/1/cards/{desk.card_id}/checklists", method="POST", fault=fault)

    replies = [desk.attach("QA", [], headers=key) for _ in range(2)]

    assert [(0, False)] == [(reply.data["items_added"], reply.data["skipped"]) for reply in replies[1:]]
    assert [("QA", [])] == desk.checklists()


@requirement("boards-24")
@pytest.mark.parametrize("skip_if_present", [True, False])
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(
    "fault",
    [{"fault": "drop_before"}, {"fault": "status", "status": 403, "body": "Too many items"}],
    ids=["cut", "refused"],
)
def test_a_repeat_completes_what_was_left_half_made(
    desk: Desk, fault: dict[str, Any], request: pytest.FixtureRequest, *, skip_if_present: bool, keyed: bool
) -> None:
    more = {"headers": {"Idempotency-Key": request.node.name}} if keyed else {}
    fail_item(desk, 2, **fault)

    first = desk.attach("QA", STEPS, skip_if_present=skip_if_present, **more)
    half = desk.checklists()
    again = desk.attach("QA", STEPS, skip_if_present=skip_if_present, **more)

    assert first.code in {"outcome_unknown", "upstream_forbidden"}
    assert "create the checklist" in [detail.get("done") for detail in first.details]
    assert half == [("QA", STEPS[:2])]
    assert (5, False) == (again.data["items_added"], again.data["skipped"])
    assert [("QA", STEPS)] == desk.checklists()


@requirement("boards-24")
def test_a_process_that_remembers_nothing_completes_the_half_of_another(desk: Desk, afresh: Move) -> None:
    fail_item(desk, 3, fault="drop_before")

    first = desk.attach("QA", STEPS)
    again = afresh(desk).attach("QA", STEPS)

    assert "outcome_unknown" == first.code
    assert (5, False) == (again.data["items_added"], again.data["skipped"])
    assert [("QA", STEPS)] == desk.checklists()


def test_a_process_that_remembers_nothing_does_not_prolong_what_was_complete(desk: Desk, afresh: Move) -> None:
    desk.attach("QA", STEPS[:3])

    again = afresh(desk).attach("QA", STEPS)

    assert again.data["skipped"] is True
    assert desk.checklists() == [("QA", STEPS[:3])]


def test_what_was_left_unfinished_days_ago_is_left_alone(desk: Desk) -> None:
    desk.holds_checklist("QA", STEPS[:2], desk.author(seconds_ago=100_000))

    assert desk.attach("QA", STEPS).data["skipped"] is True
    assert desk.checklists() == [("QA", STEPS[:2])]


def test_a_checklist_of_a_process_that_died_is_finished_under_its_key(desk: Desk) -> None:
    fail_item(desk, 3, fault="status", status=403)
    desk.attach("QA", STEPS)
    (checklist_id,) = desk.emulator.store.cards[desk.card_id].checklists
    made = {"id": checklist_id, "name": "QA", "checkItems": []}
    place = {"card_id": desk.card_id, "checklist_id": checklist_id}
    items = [
        done_step("add an item", place | {"name": name, "place": 16_389 * number}, {"item_id": name})
        for number, name in enumerate(STEPS[:2], 1)
    ]
    last = sent_step("add an item", place | {"name": STEPS[2], "place": 16_389 * 3}, at=ago(desk, 1))
    created = done_step("create the checklist", {"card_id": desk.card_id, "name": "QA"}, made)
    body = {"name": "QA", "items": STEPS, "skip_if_present": False}
    plan = planned_step({"unfinished": None, "skipped": None})
    path = {"card_id": desk.card_id}
    interrupted_write(
        desk.gateway, "boards", "attach_checklist", "died", body, [plan, created, *items, last], path=path
    )

    reply = desk.attach("QA", ["Else"], skip_if_present=False, headers={"Idempotency-Key": "died"})

    assert 5 == reply.data["items_added"]
    assert [("QA", STEPS)] == desk.checklists()


def test_an_item_that_may_still_come_is_not_sent_again_by_a_call_without_a_key(desk: Desk, unsettled: Move) -> None:
    desk = unsettled(desk)
    fail_item(desk, 1, fault="delay", seconds=5)

    first = desk.attach("QA", STEPS)
    again = desk.attach("QA", STEPS)

    assert "outcome_unknown" == first.code
    assert first.details[0] == {"done": "create the checklist", "checklist_id": first.details[0]["checklist_id"]}
    assert (409, "upstream_conflict") == (again.status, again.code)
    assert 50 < again.body["retry_after"] <= 60
    assert desk.checklists() == [("QA", STEPS[:1])]


def test_a_full_checklist_is_refused_by_the_application(desk: Desk) -> None:
    desk.gateway.knob("boards", items_per_checklist=3)

    reply = desk.attach("QA", STEPS)

    assert (403, "upstream_forbidden") == (reply.status, reply.code)
    assert {"vendor_code": "LIMIT_EXCEEDED", "vendor_message": "Checklist item limit exceeded"} == reply.facts[0]
    assert "limit" in reply.body["error"]["remedy"]
