"""Events that the chat stand-in delivers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.clocks import ManualClock
from harness.webhook_receiver import Answer, Inbox
from sandbox.tests.chat.calling import GENERAL, UNJOINED_PUBLIC, Chat


def test_a_message_is_delivered_in_an_envelope(chat: Chat, inbox: Inbox) -> None:
    said = chat.act("message", channel_id=GENERAL, text="deploy now", user="U04NW000007")
    envelope = inbox.next()

    event = envelope["event"]
    assert ("event_callback", "T04NW2K7QLM", "A05RELAY7X2") == (
        envelope["type"],
        envelope["team_id"],
        envelope["api_app_id"],
    )
    assert envelope["event_id"].startswith("Ev")
    assert "U05RELAYBOT" == envelope["authorizations"][0]["user_id"]
    assert (said["ts"], said["ts"], "U04NW000007") == (event["ts"], event["event_ts"], event["user"])
    assert (
        "message",
        GENERAL,
        "channel",
        "deploy now",
    ) == tuple(event[key] for key in ("type", "channel", "channel_type", "text"))


def test_the_bots_own_posts_are_delivered_with_their_metadata(chat: Chat, inbox: Inbox) -> None:
    metadata = {"event_type": "gw_post", "event_payload": {"k": "9f"}}
    chat.post("x", channel="G04WARROOM2", metadata=json.dumps(metadata))
    event = inbox.next()["event"]

    assert ("group", "B05RELAY9KD", metadata) == (event["channel_type"], event["bot_id"], event["metadata"])


def test_edits_previews_and_deletions_are_delivered_as_such(chat: Chat, inbox: Inbox) -> None:
    ts = chat.post("before")
    inbox.next()
    chat("chat.update", channel=GENERAL, ts=ts, text="after")
    edited = inbox.next()["event"]
    chat.act("unfurl", channel_id=GENERAL, ts=ts)
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


def test_channels_without_the_bot_are_silent(chat: Chat, inbox: Inbox) -> None:
    chat.act("message", channel_id="C04FOREIGN1", text="secret")
    chat.act("message", channel_id=UNJOINED_PUBLIC, text="elsewhere")
    chat.act("message", channel_id=GENERAL, text="heard")

    assert "heard" == inbox.next()["event"]["text"]


@pytest.mark.parametrize(
    ("act", "types"),
    [
        (lambda chat: chat.act("invite", channel_id="C04FOREIGN1"), ["member_joined_channel", "message"]),
        (lambda chat: chat.act("archive", channel_id=GENERAL), ["message", "channel_archive"]),
        (lambda chat: chat.act("archive", channel_id="G04WARROOM2"), ["message", "group_archive"]),
        (lambda chat: chat.act("rename", channel_id=UNJOINED_PUBLIC, name="money"), ["channel_rename"]),
        (lambda chat: chat.act("create", name="fresh"), ["channel_created"]),
        (lambda chat: chat.steer("revoke"), ["tokens_revoked", "app_uninstalled"]),
        (lambda chat: chat("auth.revoke"), ["tokens_revoked", "app_uninstalled"]),
    ],
)
def test_changes_around_the_bot_are_delivered(
    chat: Chat, inbox: Inbox, act: Callable[[Chat], Any], types: list[str]
) -> None:
    act(chat)

    assert sorted(types) == sorted(inbox.next()["event"]["type"] for _ in types)


def test_a_removed_application_hears_nothing_more(chat: Chat, inbox: Inbox) -> None:
    chat.steer("revoke")
    last = {inbox.next()["event"]["type"] for _ in range(2)}
    chat.act("message", channel_id=GENERAL, text="unheard")
    chat.steer("authorise")
    chat.act("message", channel_id=GENERAL, text="heard")

    assert (last, "heard") == ({"tokens_revoked", "app_uninstalled"}, inbox.next()["event"]["text"])


def test_a_failed_delivery_is_tried_three_times_more(chat: Chat, clock: ManualClock, inbox: Inbox) -> None:
    inbox.answers += [(500, {}, b"")] * 4
    chat.act("message", channel_id=GENERAL, text="x")
    tries = [inbox.take() for _ in range(4)]

    assert 1 == len({json.loads(body)["event_id"] for _, body in tries})
    assert [
        (None, None),
        ("1", "http_error"),
        ("2", "http_error"),
        ("3", "http_error"),
    ] == [(headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason")) for headers, _ in tries]


def test_a_receiver_may_refuse_retries(chat: Chat, clock: ManualClock, inbox: Inbox) -> None:
    inbox.answers.append((500, {"X-Slack-No-Retry": "1"}, b""))
    chat.act("message", channel_id=GENERAL, text="first")
    inbox.take()
    chat.act("message", channel_id=GENERAL, text="second")

    assert "second" == inbox.next()["event"]["text"]


def test_too_many_redirects_are_a_failure(chat: Chat, clock: ManualClock, inbox: Inbox) -> None:
    inbox.answers += [(307, {"Location": inbox.address}, b"")] * 3
    chat.act("message", channel_id=GENERAL, text="x")
    tries = [inbox.take()[0] for _ in range(4)]

    assert "too_many_redirects" == tries[3]["X-Slack-Retry-Reason"]


def test_an_event_can_come_twice_under_two_ids(chat: Chat, inbox: Inbox) -> None:
    chat.steer("knobs", deliver_twice=True)
    chat.act("message", channel_id=GENERAL, text="x")
    first, second = inbox.next(), inbox.next()

    assert first["event"] == second["event"]
    assert first["event_id"] != second["event_id"]


def test_events_can_come_in_disorder(chat: Chat, inbox: Inbox) -> None:
    chat.steer("knobs", deliver_disordered=True)
    chat.act("message", channel_id=GENERAL, text="first")
    chat.act("message", channel_id=GENERAL, text="second")

    assert ["second", "first"] == [inbox.next()["event"]["text"] for _ in range(2)]


def test_too_many_events_are_dropped_and_said_so(chat: Chat, inbox: Inbox) -> None:
    chat.steer("knobs", events_per_hour=1)
    chat.act("message", channel_id=GENERAL, text="x")
    inbox.take()
    chat.act("message", channel_id=GENERAL, text="y")
    limited = inbox.next()

    assert ("app_rate_limited", "T04NW2K7QLM", False) == (limited["type"], limited["team_id"], "event" in limited)


@pytest.mark.parametrize(("answer", "reason"), [((200, {}, b"repeat"), None), ((200, {}, b"ok"), "challenge_mismatch")])
def test_an_address_proves_itself_by_repeating_the_challenge(
    chat: Chat, inbox: Inbox, answer: Answer, reason: str | None
) -> None:
    inbox.answers.append(answer)
    challenge = chat.act("verify_url")["challenge"]
    asked = inbox.next()
    chat.act("message", channel_id=GENERAL, text="x")
    inbox.take()
    first = next(d for d in chat.act("deliveries")["deliveries"] if d["type"] == "url_verification")

    assert ("url_verification", challenge) == (asked["type"], asked["challenge"])
    assert (200, reason) == (first["status"], first["reason"])


def test_ids_of_events_do_not_return_after_a_reset(chat: Chat, inbox: Inbox) -> None:
    chat.act("message", channel_id=GENERAL, text="x")
    before = inbox.next()["event_id"]
    chat.reset()
    chat.steer("knobs", events_url=inbox.address)
    chat.act("message", channel_id=GENERAL, text="x")

    assert before != inbox.next()["event_id"]
