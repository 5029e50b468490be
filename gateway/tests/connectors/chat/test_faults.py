"""Errors, throttling, failures and lost responses of the chat connector."""

from functools import partial
from typing import Any

import pytest

from connector_gateway.connectors.chat import client
from gateway.tests.connectors.chat.vendor_view import (
    GENERAL,
    PERSON,
    PRIVATE,
    RANDOM,
    THEIRS,
    UNJOINED,
    count_requests,
    create_connection_without_cache,
    find_channels,
    get_scopes_without,
    message,
    workspace,
)
from harness.gateway_server import Gateway
from harness.requirement import requirement

POST = "/api/chat.postMessage"
UPDATE = "/api/chat.update"
REACT = "/api/reactions.add"
LIST = "/api/conversations.list"
HISTORY = "/api/conversations.history"
GLITCH = "<!doctype html><title>There has been a glitch</title>"


def inject_error(gateway: Gateway, path: str, code: str, **more: Any) -> None:
    """Inject a vendor error with status 200."""
    body = {"ok": False, "error": code}
    gateway.fault("chat", path=path, fault="status", **{"status": 200, "body": body} | more)


# Vendor errors


@requirement("common-48")
def test_the_vendors_warnings_on_an_error_are_reported_without_secrets(gateway: Gateway) -> None:
    remarks = ["[ERROR] must be less than 3001 characters", "[ERROR] token=xoxb-1-2 is odd"]
    body = {"ok": False, "error": "invalid_arguments", "response_metadata": {"messages": remarks}}
    gateway.fault("chat", path=POST, fault="status", status=200, body=body)

    response = gateway.post("/chat/messages", channel=RANDOM, text="hello")

    fields = "[ERROR] must be less than 3001 characters; [ERROR] token=… is odd"
    assert [{"vendor_code": "invalid_arguments", "vendor_message": fields}] == response.facts


# Throttling


def test_a_throttle_without_a_delay_lasts_a_second(gateway: Gateway) -> None:
    gateway.fault("chat", path=LIST, fault="status", status=429, body="")

    reply = gateway.get("/chat/channels", limit=1)

    assert 200 == reply.status
    assert float(reply.headers["server-timing"].partition("queue;dur=")[2].partition(",")[0]) >= 900


# Failures


@pytest.mark.parametrize("answer", [{"ok": False, "error": "internal_error"}, {"ok": False}, [], ""])
def test_a_listing_that_repeatedly_fails_with_status_200_reports_the_error(gateway: Gateway, answer: Any) -> None:
    gateway.fault("chat", path=LIST, fault="status", status=200, body=answer, times=10)

    failed = gateway.get("/chat/channels", limit=1)

    assert (502, "upstream_error") == (failed.status, failed.code)


UNDONE: dict[str, dict[str, Any]] = {
    "cut": {"fault": "drop_before"},
    "failed": {"fault": "status", "status": 500, "body": GLITCH},
    "edge": {"fault": "status", "status": 502, "body": GLITCH},
    "unavailable": {"fault": "status", "status": 200, "body": {"ok": False, "error": "service_unavailable"}},
    "without what was made": {"fault": "status", "status": 200, "body": {"ok": True}},
    "without its identifier": {"fault": "status", "status": 200, "body": {"ok": True, "channel": "C", "message": {}}},
}
"""Faults after which a write was not performed, but its outcome is unknown."""


def test_a_post_is_not_started_if_the_workspace_cannot_be_read(gateway: Gateway) -> None:
    fresh = create_connection_without_cache(gateway)
    gateway.fault("chat", path="/api/auth.test", fault="status", status=500, times=3)

    failed = gateway.post("/chat/messages", connection_id=fresh, channel=RANDOM, text="never begun")

    assert "upstream_error" == failed.code
    assert 0 == count_requests(gateway, "chat.postMessage")


# Posts with a lost response


CUTS = [{"fault": "drop_after"}, {"fault": "garbage"}]


@requirement("common-80")
def test_a_post_that_could_not_be_searched_is_matched_by_the_repeat(gateway: Gateway) -> None:
    post = partial(gateway.post, "/chat/messages", channel=RANDOM, text="blind", idempotency_key="blind")
    gateway.fault("chat", path=POST, fault="drop_after")
    gateway.fault("chat", path=HISTORY, fault="status", status=500, times=6)
    unknown = post()

    response = post()

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)
    assert [RANDOM] == find_channels(gateway, "blind")
    assert "blind" == message(gateway, RANDOM, response.data["message_ts"]).text


@pytest.mark.parametrize("channel", [PERSON, "leadership-sync"])
def test_a_post_is_matched_by_any_name_of_its_channel(gateway: Gateway, channel: str) -> None:
    gateway.fault("chat", path=POST, fault="drop_after")

    posted = gateway.post("/chat/messages", channel=channel, text=f"found in {channel}").data

    assert find_channels(gateway, f"found in {channel}") == [posted["channel_id"]]


def test_a_reply_to_a_reply_with_a_lost_response_is_matched(gateway: Gateway) -> None:
    first = gateway.post("/chat/messages", channel=GENERAL, text="reply one", thread_ts=THEIRS).data["message_ts"]
    gateway.fault("chat", path=POST, fault="drop_after")

    second = gateway.post("/chat/messages", channel=GENERAL, text="reply two", thread_ts=first).data["message_ts"]

    assert [GENERAL] == find_channels(gateway, "reply two")
    assert THEIRS == message(gateway, GENERAL, second).thread_ts


def test_the_first_part_of_a_split_text_is_matched(gateway: Gateway) -> None:
    gateway.knob("chat", long_text="split")
    gateway.fault("chat", path=POST, fault="drop_after")

    posted = gateway.post("/chat/messages", channel=RANDOM, text="1" * 4_000 + "2" * 4_000).data

    assert message(gateway, RANDOM, posted["message_ts"]).text == "1" * 4_000


def test_a_post_is_matched_after_the_first_page_of_later_messages(gateway: Gateway) -> None:
    post = partial(gateway.post, "/chat/messages", channel=RANDOM, text="buried", idempotency_key="buried")
    gateway.fault("chat", path=POST, fault="drop_after")
    gateway.fault("chat", path=HISTORY, fault="status", status=500, times=6)
    post()
    space = workspace(gateway)
    [space.post(space.channels[RANDOM], "chatter", PERSON) for _ in range(250)]

    response = post()

    assert "buried" == message(gateway, RANDOM, response.data["message_ts"]).text
    assert [RANDOM] == find_channels(gateway, "buried")


@requirement("common-97")
def test_an_equal_post_of_another_author_is_not_matched(gateway: Gateway) -> None:
    post = partial(gateway.post, "/chat/messages", channel=RANDOM, text="+1", idempotency_key="plus one")
    gateway.fault("chat", path=POST, fault="drop_before")
    post()
    space = workspace(gateway)
    theirs = space.post(space.channels[RANDOM], "+1", PERSON).ts
    others = gateway.post("/chat/messages", channel=RANDOM, text="+1", idempotency_key="another one").data["message_ts"]

    repeat = post()

    assert repeat.data["message_ts"] not in {theirs, others}
    assert find_channels(gateway, "+1") == [RANDOM] * 3


@requirement("common-81")
def test_nothing_is_reposted_while_later_messages_cannot_all_be_read(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = partial(gateway.post, "/chat/messages", channel=RANDOM, text="too much", idempotency_key="too much")
    gateway.fault("chat", path=POST, fault="drop_before")
    post()
    space = workspace(gateway)
    [space.post(space.channels[RANDOM], "chatter", PERSON) for _ in range(5)]
    monkeypatch.setattr(client, "MAX_MESSAGE_PAGES", 2)
    monkeypatch.setattr(client, "PAGE_SIZE", 2)

    repeat = post()

    assert (502, "outcome_unknown") == (repeat.status, repeat.code)
    assert [] == find_channels(gateway, "too much")


@requirement("common-93")
def test_a_post_to_a_reused_channel_name_is_not_sent_twice(gateway: Gateway) -> None:
    gateway.post("/chat/messages", channel="news-billing", text="to the old one")
    (old,) = find_channels(gateway, "to the old one")
    gateway.act("chat", action="rename", channel_id=old, name="news-billing-old")
    gateway.act("chat", action="archive", channel_id=old)
    new = gateway.act("chat", action="create", name="news-billing")["channel_id"]
    gateway.act("chat", action="invite", channel_id=new)
    post = partial(gateway.post, "/chat/messages", channel="news-billing", text="moved on", idempotency_key="moved on")
    inject_error(gateway, POST, "is_archived")
    gateway.fault("chat", path=POST, fault="drop_after")
    gateway.fault("chat", path=HISTORY, fault="status", status=500, times=6)

    unknown = post()
    gateway.act("chat", action="unarchive", channel_id=old)
    response = post()

    assert (unknown.status, response.data["channel_id"]) == (502, new)
    assert find_channels(gateway, "moved on") == [new]


def test_a_post_to_an_unreadable_channel_stays_unknown(gateway: Gateway) -> None:
    post = partial(gateway.post, "/chat/messages", channel=UNJOINED, text="unread", idempotency_key="unread")
    gateway.fault("chat", path=POST, fault="drop_after")

    first, repeat = post(), post()

    assert ("outcome_unknown", "outcome_unknown") == (first.code, repeat.code)
    assert [UNJOINED] == find_channels(gateway, "unread")


def test_a_post_without_the_read_scope_stays_unknown(gateway: Gateway) -> None:
    gateway.knob("chat", scopes=get_scopes_without("groups:history"))
    gateway.fault("chat", path=POST, fault="drop_after")

    assert "outcome_unknown" == gateway.post("/chat/messages", channel=PRIVATE, text="no eyes").code


def test_one_search_suffices_with_a_restricted_history(gateway: Gateway) -> None:
    gateway.knob("chat", history_tier="restricted", limits=True)
    gateway.fault("chat", path=POST, fault="drop_after")

    posted = gateway.post("/chat/messages", channel="C04PUB00003", text="rationed")

    assert 200 == posted.status
    assert ["C04PUB00003"] == find_channels(gateway, "rationed")


# Edits and reactions with a lost response


def test_an_edit_of_a_reply_with_a_lost_response_is_matched(gateway: Gateway) -> None:
    ts = gateway.post("/chat/messages", channel=GENERAL, text="to edit", thread_ts=THEIRS).data["message_ts"]
    gateway.fault("chat", path=UPDATE, fault="drop_after")

    assert gateway.patch(f"/chat/messages/{ts}", channel="general", text="edited").data["message_ts"] == ts


def test_an_edit_of_a_deleted_message_is_not_found(gateway: Gateway) -> None:
    ts = gateway.post("/chat/messages", channel=RANDOM, text="to vanish").data["message_ts"]
    edit = partial(gateway.patch, f"/chat/messages/{ts}", headers={"Idempotency-Key": "gone"}, channel=RANDOM, text="x")
    gateway.fault("chat", path=UPDATE, fault="drop_before")
    edit()
    gateway.act("chat", action="delete", channel_id=RANDOM, ts=ts)

    assert "message_not_found" == edit().code


@requirement("chat-24", "common-95")
@pytest.mark.parametrize("emoji", ["eyes", "thumbsup"])
@pytest.mark.parametrize("injected", [*CUTS, UNDONE["cut"], UNDONE["failed"], UNDONE["edge"], UNDONE["unavailable"]])
def test_a_reaction_completed_by_a_repeat_is_reported_as_new(
    gateway: Gateway, injected: dict[str, Any], emoji: str
) -> None:
    ts = gateway.post("/chat/messages", channel=RANDOM, text="cut reaction").data["message_ts"]
    body = {"channel": RANDOM, "message_ts": ts, "emoji": emoji}
    gateway.fault("chat", path=REACT, **injected)

    gateway.post("/chat/reactions", headers={"Idempotency-Key": ts}, **body)
    added = gateway.post("/chat/reactions", headers={"Idempotency-Key": ts}, **body)

    assert added.data == {"message_ts": ts, "emoji": emoji, "already_present": False}
    assert [["U05RELAYBOT"]] == list(message(gateway, RANDOM, ts).reactions.values())


@requirement("chat-24")
def test_an_unsearchable_reaction_is_still_completed(gateway: Gateway) -> None:
    ts = gateway.post("/chat/messages", channel=PRIVATE, text="unseen reaction").data["message_ts"]
    body = {"channel": PRIVATE, "message_ts": ts, "emoji": "eyes"}
    gateway.knob("chat", scopes=get_scopes_without("groups:history"))
    gateway.fault("chat", path=REACT, fault="drop_after")

    first = gateway.post("/chat/reactions", headers={"Idempotency-Key": ts}, **body)
    added = gateway.post("/chat/reactions", headers={"Idempotency-Key": ts}, **body)

    assert "outcome_unknown" == first.code
    assert added.data == {"message_ts": ts, "emoji": "eyes", "already_present": False}


# Limited listings


def test_a_name_missing_in_a_truncated_listing_is_not_reported_as_unknown(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_CHANNEL_PAGES", 1)
    monkeypatch.setattr(client, "PAGE_SIZE", 1)

    reply = gateway.post(
        "/chat/messages",
        connection_id=create_connection_without_cache(gateway),
        channel="no-such-channel",
        text="to whom",
    )

    assert (422, "channel_list_too_long") == (reply.status, reply.code)
    assert [{"parameter": "channel", "value": "no-such-channel"}] == reply.facts
