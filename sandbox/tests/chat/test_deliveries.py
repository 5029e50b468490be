"""Event deliveries of the Slack emulator."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.clocks import ManualClock
from harness.webhook_receiver import Answer, Inbox
from sandbox.tests.chat.slack_client import GENERAL, UNJOINED_PUBLIC, ChatClient


def test_a_message_is_delivered_in_an_envelope(chat: ChatClient, inbox: Inbox) -> None:
    posted = chat.perform("message", channel_id=GENERAL, text="deploy now", user="U04NW000007")
    envelope = inbox.next()

    event = envelope["event"]
    assert ("event_callback", "T04NW2K7QLM", "A05RELAY7X2") == (
        envelope["type"],
        envelope["team_id"],
        envelope["api_app_id"],
    )
    assert envelope["event_id"].startswith("Ev")
    assert "U05RELAYBOT" == envelope["authorizations"][0]["user_id"]
    assert (posted["ts"], posted["ts"], "U04NW000007") == (event["ts"], event["event_ts"], event["user"])
    assert (
        "message",
        GENERAL,
        "channel",
        "deploy now",
    ) == tuple(event[key] for key in ("type", "channel", "channel_type", "text"))


def test_bot_posts_are_delivered_with_their_metadata(chat: ChatClient, inbox: Inbox) -> None:
    metadata = {"event_type": "gw_post", "event_payload": {"k": "9f"}}
    chat.post("x", channel="G04WARROOM2", metadata=json.dumps(metadata))
    event = inbox.next()["event"]

    assert ("group", "B05RELAY9KD", metadata) == (event["channel_type"], event["bot_id"], event["metadata"])


def test_edits_previews_and_deletions_are_delivered_with_their_subtypes(chat: ChatClient, inbox: Inbox) -> None:
    ts = chat.post("before")
    inbox.next()
    chat("chat.update", channel=GENERAL, ts=ts, text="after")
    edited = inbox.next()["event"]
    chat.perform("unfurl", channel_id=GENERAL, ts=ts)
    unfurled = inbox.next()["event"]
    chat("chat.delete", channel=GENERAL, ts=ts)
    deleted = inbox.next()["event"]

    assert ("message_changed", "before", "after") == (
        edited["subtype"],
        edited["previous_message"]["text"],
        edited["message"]["text"],
    )
    assert (True, edited["message"]["edited"]) == (unfurled["hidden"], unfurled["message"]["edited"])
    assert ("message_deleted", ts) == (deleted["subtype"], deleted["deleted_ts"])


def test_channels_without_the_bot_deliver_no_events(chat: ChatClient, inbox: Inbox) -> None:
    chat.perform("message", channel_id="C04FOREIGN1", text="secret")
    chat.perform("message", channel_id=UNJOINED_PUBLIC, text="elsewhere")
    chat.perform("message", channel_id=GENERAL, text="heard")

    assert "heard" == inbox.next()["event"]["text"]


@pytest.mark.parametrize(
    ("change", "types"),
    [
        (lambda chat: chat.perform("invite", channel_id="C04FOREIGN1"), ["member_joined_channel", "message"]),
        (lambda chat: chat.perform("archive", channel_id=GENERAL), ["message", "channel_archive"]),
        (lambda chat: chat.perform("archive", channel_id="G04WARROOM2"), ["message", "group_archive"]),
        (lambda chat: chat.perform("rename", channel_id=UNJOINED_PUBLIC, name="money"), ["channel_rename"]),
        (lambda chat: chat.perform("create", name="fresh"), ["channel_created"]),
        (lambda chat: chat.control("revoke"), ["tokens_revoked", "app_uninstalled"]),
        (lambda chat: chat("auth.revoke"), ["tokens_revoked", "app_uninstalled"]),
    ],
)
def test_channel_and_installation_changes_are_delivered(
    chat: ChatClient, inbox: Inbox, change: Callable[[ChatClient], Any], types: list[str]
) -> None:
    change(chat)

    assert sorted(types) == sorted(inbox.next()["event"]["type"] for _ in types)


def test_removed_app_receives_no_further_events(chat: ChatClient, inbox: Inbox) -> None:
    chat.control("revoke")
    last = {inbox.next()["event"]["type"] for _ in range(2)}
    chat.perform("message", channel_id=GENERAL, text="unheard")
    chat.control("authorise")
    chat.perform("message", channel_id=GENERAL, text="heard")

    assert (last, "heard") == ({"tokens_revoked", "app_uninstalled"}, inbox.next()["event"]["text"])


def test_failed_delivery_is_retried_three_times(chat: ChatClient, clock: ManualClock, inbox: Inbox) -> None:
    inbox.answers += [(500, {}, b"")] * 4
    chat.perform("message", channel_id=GENERAL, text="x")
    tries = [inbox.take() for _ in range(4)]

    assert 1 == len({json.loads(body)["event_id"] for _, body in tries})
    assert [
        (None, None),
        ("1", "http_error"),
        ("2", "http_error"),
        ("3", "http_error"),
    ] == [(headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason")) for headers, _ in tries]


def test_receiver_can_decline_retries(chat: ChatClient, clock: ManualClock, inbox: Inbox) -> None:
    inbox.answers.append((500, {"X-Slack-No-Retry": "1"}, b""))
    chat.perform("message", channel_id=GENERAL, text="first")
    inbox.take()
    chat.perform("message", channel_id=GENERAL, text="second")

    assert "second" == inbox.next()["event"]["text"]


def test_too_many_redirects_fail_the_delivery(chat: ChatClient, clock: ManualClock, inbox: Inbox) -> None:
    inbox.answers += [(307, {"Location": inbox.address}, b"")] * 3
    chat.perform("message", channel_id=GENERAL, text="x")
    tries = [inbox.take()[0] for _ in range(4)]

    assert "too_many_redirects" == tries[3]["X-Slack-Retry-Reason"]


def test_duplicate_events_have_different_ids(chat: ChatClient, inbox: Inbox) -> None:
    chat.control("knobs", deliver_twice=True)
    chat.perform("message", channel_id=GENERAL, text="x")
    first, second = inbox.next(), inbox.next()

    assert first["event"] == second["event"]
    assert first["event_id"] != second["event_id"]


def test_events_can_arrive_out_of_order(chat: ChatClient, inbox: Inbox) -> None:
    chat.control("knobs", deliver_disordered=True)
    chat.perform("message", channel_id=GENERAL, text="first")
    chat.perform("message", channel_id=GENERAL, text="second")

    assert ["second", "first"] == [inbox.next()["event"]["text"] for _ in range(2)]


def test_excess_events_are_replaced_by_a_rate_limit_event(chat: ChatClient, inbox: Inbox) -> None:
    chat.control("knobs", events_per_hour=1)
    chat.perform("message", channel_id=GENERAL, text="x")
    inbox.take()
    chat.perform("message", channel_id=GENERAL, text="y")
    limited = inbox.next()

    assert ("app_rate_limited", "T04NW2K7QLM", False) == (limited["type"], limited["team_id"], "event" in limited)


@pytest.mark.parametrize(
    ("response", "reason"), [((200, {}, b"repeat"), None), ((200, {}, b"ok"), "challenge_mismatch")]
)
def test_events_url_is_verified_by_echoing_the_challenge(
    chat: ChatClient, inbox: Inbox, response: Answer, reason: str | None
) -> None:
    inbox.answers.append(response)
    challenge = chat.perform("verify_url")["challenge"]
    request = inbox.next()
    chat.perform("message", channel_id=GENERAL, text="x")
    inbox.take()
    first = next(d for d in chat.perform("deliveries")["deliveries"] if d["type"] == "url_verification")

    assert ("url_verification", challenge) == (request["type"], request["challenge"])
    assert (200, reason) == (first["status"], first["reason"])


def test_event_ids_are_not_reused_after_a_reset(chat: ChatClient, inbox: Inbox) -> None:
    chat.perform("message", channel_id=GENERAL, text="x")
    before = inbox.next()["event_id"]
    chat.reset()
    chat.control("knobs", events_url=inbox.address)
    chat.perform("message", channel_id=GENERAL, text="x")

    assert before != inbox.next()["event_id"]
