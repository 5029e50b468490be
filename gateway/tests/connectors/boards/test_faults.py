"""Boards operations when the vendor rejects requests, fails or does not respond."""

from collections import deque
from datetime import datetime
from typing import Any

import pytest

from gateway.tests.connectors.boards.card_client import STEPS, CardClient, Switch
from harness.interrupted_writes import interrupted_write, planned_step, sent_step
from harness.requirement import requirement
from workspace_sandbox.boards.access import APP
from workspace_sandbox.kit.clock import format_timestamp

HTML = "<html><body>Bad Gateway</body></html>"


def inject_fault(client: CardClient, path: str, **fault: Any) -> None:
    """Make requests to a path of the card fail."""
    client.gateway.fault("boards", path=path, **fault)


def inject_comment_fault(client: CardClient, **fault: Any) -> None:
    inject_fault(client, f"/1/cards/{client.card_id}/actions/comments", **fault)


def inject_item_fault(client: CardClient, index: int, **fault: Any) -> None:
    """Make the item at *index* of the next checklist fail."""
    inject_fault(client, "/1/checklists", method="POST", fault="delay", times=index)
    inject_fault(client, "/1/checklists", method="POST", **fault)


def time_before(client: CardClient, seconds: float) -> float:
    """Return the time that many seconds ago."""
    return client.emulator.context.clock.now() - seconds


def leave_comment_in_doubt(client: CardClient, key: str, text: str = "Last words") -> None:
    """Store a comment in doubt of a process that crashed 30 s ago."""
    step = sent_step("post the comment", {"card_id": client.card_id, "text": text}, at=time_before(client, 30))
    path = {"card_id": client.card_id}
    interrupted_write(
        client.gateway,
        "boards",
        "comment_on_card",
        key,
        {"text": text},
        [planned_step(client.card_id), step],
        path=path,
        makes={"post the comment": "comment"},
    )


# Throttling


@pytest.mark.parametrize(
    ("error", "other_status"), [("API_TOKEN_LIMIT_EXCEEDED", 200), ("API_KEY_LIMIT_EXCEEDED", 429)]
)
def test_throttling_blocks_one_token_or_all_tokens_of_a_key(
    client: CardClient, with_short_queue: Switch, error: str, other_status: int
) -> None:
    client = with_short_queue(client)
    oauth = client.emulator.oauth
    credentials = {"key": APP.key, "token": oauth.issue_key(oauth.default_token.grant, None).value}
    connection = client.gateway.operator(
        "POST",
        "/v1/connections",
        json={"workspace_id": client.gateway.workspace_id, "connector": "boards", "credentials": credentials},
    )
    inject_comment_fault(client, fault="status", status=429, body={"error": error, "message": "Rate limit exceeded"})

    first = client.comment()
    second = client.comment("From the other", connection_id=connection.data["connection_id"])

    assert "upstream_rate_limited" == first.code
    assert second.status == other_status


def test_401_counts_as_unauthorised_board_if_the_check_is_throttled(
    client: CardClient, with_short_queue: Switch
) -> None:
    client = with_short_queue(client)
    body = {"error": "RATE_LIMIT_EXCEEDED", "message": "Exceeded rate limit to /1/member"}
    inject_fault(client, "/1/members", fault="status", status=429, body=body)

    reply = client.gateway.get("/boards/lists", board_id=client.examples["hidden_board_id"])

    assert "board_not_authorised" == reply.code
    assert 200 == client.comment().status


# Revoked, hidden or forbidden


@pytest.mark.parametrize("text", ["unauthorized card permission requested", "something new", {"message": "new"}])
def test_ambiguous_401_is_resolved_by_checking_the_account(client: CardClient, text: Any) -> None:
    inject_comment_fault(client, fault="status", status=401, body=text, times=2)

    with_valid_token = client.comment()
    inject_fault(client, "/1/members/me", fault="status", status=401, body="invalid token")
    with_invalid_token = client.comment()

    assert (403, "board_not_authorised") == (with_valid_token.status, with_valid_token.code)
    assert (401, "connection_revoked") == (with_invalid_token.status, with_invalid_token.code)


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
def test_error_includes_the_vendor_reason(
    client: CardClient, status: int, text: Any, code: str, reason: list[dict[str, str]]
) -> None:
    inject_comment_fault(client, status=status, fault="status", body=text)

    reply = client.comment()

    assert (code, reason) == (reply.code, reply.facts)
    assert [] == client.comments()


def test_list_that_leaves_the_board_during_a_move_is_not_found(client: CardClient) -> None:
    text = f"List {client.examples['list_ids'][1]} does not exist on board {client.examples['board_id']}"
    inject_fault(client, f"/1/cards/{client.card_id}", method="PUT", fault="status", status=404, body=text)

    reply = client.move(client.examples["list_ids"][1])

    assert (404, "list_not_found") == (reply.status, reply.code)


def test_status_202_counts_as_success(client: CardClient) -> None:
    client.gateway.knob("boards", write_status=202)

    assert 200 == client.comment().status


# Comments in doubt


def test_comment_of_another_call_or_person_is_not_taken_for_ours(client: CardClient) -> None:
    client.comment("+1")
    client.gateway.act("boards", action="comment", card_id=client.card_id, text="+1")
    inject_comment_fault(client, fault="drop_before")

    first = client.comment("+1", idempotency_key="a third")
    again = client.comment("+1", idempotency_key="a third")

    assert "outcome_unknown" == first.code
    assert 200 == again.status
    assert ["+1", "+1", "+1"] == client.comments()


@pytest.mark.parametrize(("seconds_ago", "person"), [(40, False), (25, True)])
def test_earlier_or_foreign_comment_is_not_taken_for_a_crashed_call(
    client: CardClient, seconds_ago: float, *, person: bool
) -> None:
    client.add_stored_comment("Last words", client.author(seconds_ago=seconds_ago, person=person))
    leave_comment_in_doubt(client, f"dead {person}")

    reply = client.comment("Last words", idempotency_key=f"dead {person}")

    assert reply.data["comment_id"] == client.last_action_id()
    assert ["Last words", "Last words"] == client.comments()


def test_comment_is_found_below_a_thousand_others(client: CardClient) -> None:
    comment_id = client.add_stored_comment("Last words", client.author(seconds_ago=25))
    deque((client.add_stored_comment(f"Noise {number}", client.author()) for number in range(1000)), maxlen=0)
    leave_comment_in_doubt(client, "noise")

    reply = client.comment("Last words", idempotency_key="noise")

    assert reply.data["comment_id"] == comment_id


# Moves in doubt


@requirement("boards-12")
def test_move_found_later_has_the_time_of_its_action(client: CardClient) -> None:
    key = {"Idempotency-Key": "found later"}
    inject_fault(client, f"/1/cards/{client.card_id}", method="PUT", fault="drop_after")
    inject_fault(client, f"/1/cards/{client.card_id}", method="GET", fault="delay", times=1)
    inject_fault(client, f"/1/cards/{client.card_id}", method="GET", fault="status", status=503, times=6)

    first = client.move(client.examples["list_ids"][1], headers=key)
    moved_at = client.emulator.store.cards[client.card_id].actions[-1].author.at
    client.gateway.act("boards", action="comment", card_id=client.card_id, text="Later")
    again = client.move(client.examples["list_ids"][1], headers=key)

    assert "outcome_unknown" == first.code
    assert format_timestamp(moved_at) == format_timestamp(datetime.fromisoformat(again.data["moved_at"]).timestamp())


def test_lost_response_of_a_move_within_a_list_is_unknown(client: CardClient) -> None:
    inject_fault(client, f"/1/cards/{client.card_id}", method="PUT", fault="drop_after")

    assert "outcome_unknown" == client.move(client.examples["list_ids"][0], position="top").code


@requirement("boards-11")
@pytest.mark.parametrize(
    ("fault", "posted"),
    [
        ({"fault": "drop_after"}, True),
        ({"fault": "status", "status": 403, "body": "Too many comments"}, False),
    ],
)
def test_failed_comment_is_searched_and_the_move_remains(
    client: CardClient, fault: dict[str, Any], *, posted: bool
) -> None:
    inject_comment_fault(client, **fault)

    reply = client.move(client.examples["list_ids"][1], comment="Moved")

    assert (200, "ok", posted) == (reply.status, reply.body["status"], reply.data["comment_posted"])
    assert client.comments() == ["Moved"] * posted
    assert client.get_list_id() == client.examples["list_ids"][1]


@pytest.mark.parametrize(
    "fault",
    [{"fault": "drop_before"}, *({"fault": "status", "status": status, "body": HTML} for status in (403, 500, 503))],
)
def test_retry_posts_the_comment_in_doubt_of_a_move(client: CardClient, fault: dict[str, Any]) -> None:
    key = {"Idempotency-Key": f"half {fault}"}
    inject_comment_fault(client, **fault)

    first = client.move(client.examples["list_ids"][1], comment="Moved", headers=key)
    again = client.move(client.examples["list_ids"][1], comment="Moved", headers=key)

    assert 502 == first.status
    assert first.details == [{"done": "move the card", "card_id": client.card_id}]
    assert ("To do", True) == (again.data["list_from"], again.data["comment_posted"])
    assert ["Moved"] == client.comments()


# Checklists in doubt


@pytest.mark.parametrize("fault", [{"fault": "drop_after"}, {"fault": "garbage"}])
@pytest.mark.parametrize("index", [0, 2, 4])
def test_checklist_continues_after_an_item_in_doubt(client: CardClient, fault: dict[str, Any], index: int) -> None:
    inject_item_fault(client, index, **fault)

    reply = client.attach("QA", STEPS)

    assert (5, False) == (reply.data["items_added"], reply.data["skipped"])
    assert [("QA", STEPS)] == client.checklists()


@pytest.mark.parametrize("fault", ["drop_after", "drop_before"])
def test_empty_checklist_in_doubt_is_created_once(client: CardClient, fault: str) -> None:
    key = {"Idempotency-Key": f"empty {fault}"}
    inject_fault(client, f"/1/cards/{client.card_id}/checklists", method="POST", fault=fault)

    replies = [client.attach("QA", [], headers=key) for _ in range(2)]

    assert [(0, False)] == [(reply.data["items_added"], reply.data["skipped"]) for reply in replies[1:]]
    assert [("QA", [])] == client.checklists()


@requirement("boards-24")
@pytest.mark.parametrize("skip_if_present", [True, False])
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(
    "fault",
    [{"fault": "drop_before"}, {"fault": "status", "status": 403, "body": "Too many items"}],
    ids=["connection lost", "rejected"],
)
def test_retry_completes_an_unfinished_checklist(
    client: CardClient, fault: dict[str, Any], request: pytest.FixtureRequest, *, skip_if_present: bool, keyed: bool
) -> None:
    more = {"headers": {"Idempotency-Key": request.node.name}} if keyed else {}
    inject_item_fault(client, 2, **fault)

    first = client.attach("QA", STEPS, skip_if_present=skip_if_present, **more)
    unfinished = client.checklists()
    again = client.attach("QA", STEPS, skip_if_present=skip_if_present, **more)

    assert first.code in {"outcome_unknown", "upstream_forbidden"}
    assert "create the checklist" in [detail.get("done") for detail in first.details]
    assert unfinished == [("QA", STEPS[:2])]
    assert (5, False) == (again.data["items_added"], again.data["skipped"])
    assert [("QA", STEPS)] == client.checklists()


@requirement("boards-24")
def test_process_without_a_cache_completes_an_unfinished_checklist(
    client: CardClient, with_empty_cache: Switch
) -> None:
    inject_item_fault(client, 3, fault="drop_before")

    first = client.attach("QA", STEPS)
    again = with_empty_cache(client).attach("QA", STEPS)

    assert "outcome_unknown" == first.code
    assert (5, False) == (again.data["items_added"], again.data["skipped"])
    assert [("QA", STEPS)] == client.checklists()


def test_process_without_a_cache_does_not_extend_a_finished_checklist(
    client: CardClient, with_empty_cache: Switch
) -> None:
    client.attach("QA", STEPS[:3])

    again = with_empty_cache(client).attach("QA", STEPS)

    assert again.data["skipped"] is True
    assert client.checklists() == [("QA", STEPS[:3])]


def test_old_unfinished_checklist_is_not_changed(client: CardClient) -> None:
    client.add_stored_checklist("QA", STEPS[:2], client.author(seconds_ago=100_000))

    assert client.attach("QA", STEPS).data["skipped"] is True
    assert client.checklists() == [("QA", STEPS[:2])]


def test_item_in_doubt_is_not_resent_by_an_unkeyed_call(client: CardClient, with_long_settling: Switch) -> None:
    client = with_long_settling(client)
    inject_item_fault(client, 1, fault="delay", seconds=5)

    first = client.attach("QA", STEPS)
    again = client.attach("QA", STEPS)

    assert "outcome_unknown" == first.code
    assert first.details[0] == {"done": "create the checklist", "checklist_id": first.details[0]["checklist_id"]}
    assert (409, "upstream_conflict") == (again.status, again.code)
    assert 50 < again.body["retry_after"] <= 60
    assert client.checklists() == [("QA", STEPS[:1])]


def test_full_checklist_is_rejected_by_the_vendor(client: CardClient) -> None:
    client.gateway.knob("boards", items_per_checklist=3)

    reply = client.attach("QA", STEPS)

    assert (403, "upstream_forbidden") == (reply.status, reply.code)
    assert {"vendor_code": "LIMIT_EXCEEDED", "vendor_message": "Checklist item limit exceeded"} == reply.facts[0]
    assert "limit" in reply.body["error"]["remedy"]
