"""The chat room when the application answers with something of another shape than it documents."""

from functools import partial
from typing import Any

import pytest

from connectors.chat.reading import GENERAL, OURS, PERSON, RANDOM, another_connection, asked, message, said
from harness.requirement import requirement
from harness.serving import Gateway, Reply

CHANNEL = {"id": "C1", "name": "ops", "is_private": False, "is_member": True, "num_members": 3}
FOUND = {"user": "U05RELAYBOT", "type": "message", "text": "hello", "ts": OURS}


def answer(gateway: Gateway, method: str, body: Any, times: int = 1) -> None:
    """Let the application answer a method with *body*, as though that were a success."""
    gateway.fault("chat", path=f"/api/{method}", fault="status", status=200, body=body, times=times)


def write(gateway: Gateway, method: str, **more: Any) -> Reply:
    """The call that comes down to one method which writes."""
    if method == "chat.postMessage":
        return gateway.post("/chat/messages", channel=RANDOM, text="odd", **more)
    if method == "chat.update":
        return gateway.patch(f"/chat/messages/{OURS}", channel=GENERAL, text="odd", **more)
    return gateway.post("/chat/reactions", channel=GENERAL, message_ts=OURS, emoji="rocket", **more)


@requirement("calls:upstream-error")
@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"ok": True}, []),
        ({"ok": True, "channels": {}}, ["channels"]),
        ({"ok": True, "channels": [7]}, ["channels[0]"]),
        ({"ok": True, "channels": [CHANNEL, CHANNEL | {"id": 7}]}, ["channels[1].id"]),
        ({"ok": True, "channels": [{"id": "C1", "is_private": False}]}, ["channels[0]"]),
        ({"ok": True, "channels": [{"id": "C1", "name": "ops"}]}, ["channels[0]"]),
        ({"ok": True, "channels": [{"id": "D1", "is_im": True}]}, ["channels[0]"]),
        ({"ok": True, "channels": [CHANNEL | {"is_archived": "no"}]}, ["channels[0].is_archived"]),
        ({"ok": True, "channels": [CHANNEL | {"num_members": "3"}]}, ["channels[0].num_members"]),
        ({"ok": True, "channels": [], "response_metadata": {"next_cursor": 5}}, ["response_metadata.next_cursor"]),
    ],
)
def test_a_listing_of_another_shape_is_told_with_its_place(gateway: Gateway, body: Any, place: list[str]) -> None:
    answer(gateway, "conversations.list", body)

    odd = gateway.get("/chat/channels")

    assert (502, "upstream_unexpected") == (odd.status, odd.code)
    assert place == [detail["place"] for detail in odd.details]


@pytest.mark.parametrize("code", [{"code": "internal_error"}, ["ratelimited"], 7, True])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update", "reactions.add"])
def test_an_error_without_a_readable_code_leaves_a_write_in_doubt(gateway: Gateway, method: str, code: Any) -> None:
    answer(gateway, method, {"ok": False, "error": code})

    refused = write(gateway, method)

    assert (502, "outcome_unknown") == (refused.status, refused.code)


@pytest.mark.parametrize(("status", "code"), [(403, "upstream_forbidden"), (404, "upstream_unexpected")])
def test_a_refusal_by_status_may_say_anything(gateway: Gateway, status: int, code: str) -> None:
    gateway.fault("chat", path="/api/conversations.list", fault="status", status=status, body={"error": {"code": 1}})

    refused = gateway.get("/chat/channels")

    assert code == refused.code


def test_a_throttle_may_say_anything(gateway: Gateway) -> None:
    throttle: dict[str, Any] = {"status": 429, "headers": {"Retry-After": "0"}, "body": {"error": {"code": 1}}}
    gateway.fault("chat", path="/api/conversations.list", fault="status", **throttle)

    assert 200 == gateway.get("/chat/channels").status


@requirement("calls:outcome-looked-for")
@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("chat.postMessage", {"ok": True, "channel": 5, "message": FOUND}),
        ("chat.postMessage", {"ok": True, "channel": RANDOM, "message": []}),
        ("chat.postMessage", {"ok": True, "channel": RANDOM, "message": FOUND | {"ts": 1759000100.0001}}),
        ("chat.postMessage", {"ok": True, "channel": RANDOM, "message": FOUND | {"ts": "lately"}}),
        ("chat.postMessage", {"ok": True, "channel": RANDOM, "message": FOUND | {"thread_ts": False}}),
        ("chat.postMessage", {"ok": "yes"}),
        ("chat.update", {"ok": True, "message": FOUND}),
        ("chat.update", {"ok": True, "ts": OURS, "message": {"edited": {"ts": "lately"}}}),
        ("chat.update", {"ok": True, "ts": OURS, "message": {"edited": "lately"}}),
        ("reactions.add", {"ok": "yes"}),
    ],
)
def test_a_write_that_is_answered_in_another_shape_is_in_doubt(gateway: Gateway, method: str, body: Any) -> None:
    # A reaction that another test has made would be found.
    message(gateway, GENERAL, OURS).reactions.clear()
    answer(gateway, method, body)

    unknown = write(gateway, method)

    assert 502 == unknown.status
    assert unknown.code in {"outcome_unknown", "upstream_error"}
    assert (1, []) == (asked(gateway, method), said(gateway, "odd"))


@pytest.mark.parametrize(
    "messages",
    [
        None,
        [FOUND | {"ts": 1759000100.0001}],
        [FOUND | {"metadata": "gateway_post"}],
        [FOUND | {"metadata": {"event_type": 5}}],
        [FOUND | {"metadata": {"event_type": "gateway_post", "event_payload": []}}],
    ],
)
def test_a_post_that_cannot_be_looked_for_in_what_is_answered_stays_in_doubt(gateway: Gateway, messages: Any) -> None:
    gateway.fault("chat", path="/api/chat.postMessage", fault="drop_after")
    answer(gateway, "conversations.history", {"ok": True, "messages": messages}, times=2)

    unknown = gateway.post("/chat/messages", channel=RANDOM, text="hidden")

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)


@pytest.mark.parametrize("payload", [{"k": 5}, {"k": {"deep": []}}, {"other": None}])
def test_what_other_apps_say_in_their_metadata_is_theirs(gateway: Gateway, payload: Any) -> None:
    others = FOUND | {"metadata": {"event_type": "theirs", "event_payload": payload}}
    gateway.fault("chat", path="/api/chat.postMessage", fault="drop_before")
    answer(gateway, "conversations.history", {"ok": True, "messages": [others]})

    unknown = gateway.post("/chat/messages", channel=RANDOM, text="not theirs")

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)
    assert 2 == asked(gateway, "conversations.history")


@pytest.mark.parametrize(
    "reactions", ["eyes", [{"name": "rocket"}], [{"name": 5, "users": []}], [{"name": "rocket", "users": [None]}]]
)
def test_a_reaction_that_cannot_be_looked_for_in_what_is_answered_stays_in_doubt(
    gateway: Gateway, reactions: Any
) -> None:
    gateway.fault("chat", path="/api/reactions.add", fault="drop_after")
    answer(gateway, "conversations.replies", {"ok": True, "messages": [FOUND | {"reactions": reactions}]}, times=2)

    unknown = gateway.post("/chat/reactions", channel=GENERAL, message_ts=OURS, emoji="rocket")

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)


@pytest.mark.parametrize(
    ("method", "channel", "body"),
    [
        ("auth.test", RANDOM, {"ok": True, "url": 5}),
        ("auth.test", RANDOM, {"ok": True, "url": "https://northwind-labs.slack.com/"}),
        ("users.conversations", "random", {"ok": True, "channels": [{"id": "C1"}]}),
        ("conversations.list", "random", {"ok": True, "channels": [CHANNEL | {"name": ["random"]}]}),
        ("conversations.open", PERSON, {"ok": True, "channel": {}}),
        ("conversations.open", PERSON, {"ok": True, "channel": {"id": None}}),
    ],
)
def test_what_cannot_be_read_is_not_remembered(gateway: Gateway, method: str, channel: str, body: Any) -> None:
    fresh = another_connection(gateway)
    answer(gateway, method, body)

    odd = gateway.post("/chat/messages", connection_id=fresh, channel=channel, text="remembered?")
    again = gateway.post("/chat/messages", connection_id=fresh, channel=channel, text="not remembered")

    assert (502, "upstream_unexpected", 200) == (odd.status, odd.code, again.status)


@pytest.mark.parametrize("messages", [{}, [{}], [FOUND | {"ts": 5}], [FOUND | {"thread_ts": 5}]])
def test_a_thread_that_cannot_be_read_is_not_remembered_and_not_replied_to(gateway: Gateway, messages: Any) -> None:
    fresh = another_connection(gateway)
    reply = partial(gateway.post, "/chat/messages", connection_id=fresh, channel=GENERAL, thread_ts=OURS)
    answer(gateway, "conversations.replies", {"ok": True, "messages": messages})

    odd = reply(text="into an odd thread")
    again = reply(text="into the thread")

    assert (502, "upstream_unexpected", 200) == (odd.status, odd.code, again.status)
    assert [] == said(gateway, "into an odd thread")


@pytest.mark.parametrize("body", [{"ok": True}, {"ok": True, "team_id": 5}, {"ok": "yes"}, {"ok": False, "error": {}}])
def test_reading_events_survives_any_answer(gateway: Gateway, body: Any) -> None:
    answer(gateway, "auth.test", body)
    answer(gateway, "conversations.info", body)

    assert gateway.get("/chat/events", channel=GENERAL).status in {200, 502}
