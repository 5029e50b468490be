"""Undocumented response shapes of the chat vendor."""

from functools import partial
from typing import Any

import pytest

from connector_gateway.connectors.chat.vendor_errors import read_warnings
from connector_gateway.kit.upstream.pool import UpstreamResponse
from gateway.tests.connectors.chat.vendor_view import (
    GENERAL,
    OURS,
    RANDOM,
    count_requests,
    create_connection_without_cache,
    find_channels,
)
from harness.gateway_server import Gateway

SEARCH_RESPONSE = {"user": "U05RELAYBOT", "type": "message", "text": "hello", "ts": OURS}


def script_response(gateway: Gateway, method: str, body: Any, times: int = 1) -> None:
    """Make a method of the vendor respond with *body* as a success."""
    gateway.fault("chat", path=f"/api/{method}", fault="status", status=200, body=body, times=times)


@pytest.mark.parametrize(
    "messages",
    [
        None,
        [SEARCH_RESPONSE | {"ts": 1759000100.0001}],
        [SEARCH_RESPONSE | {"metadata": "gateway_post"}],
        [SEARCH_RESPONSE | {"metadata": {"event_type": 5}}],
        [SEARCH_RESPONSE | {"metadata": {"event_type": "gateway_post", "event_payload": []}}],
    ],
)
def test_a_post_stays_in_doubt_if_the_search_response_is_unreadable(gateway: Gateway, messages: Any) -> None:
    gateway.fault("chat", path="/api/chat.postMessage", fault="drop_after")
    script_response(gateway, "conversations.history", {"ok": True, "messages": messages}, times=2)

    unknown = gateway.post("/chat/messages", channel=RANDOM, text="hidden")

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)


@pytest.mark.parametrize("payload", [{"k": 5}, {"k": {"deep": []}}, {"other": None}])
def test_unreadable_metadata_of_other_apps_is_ignored(gateway: Gateway, payload: Any) -> None:
    others = SEARCH_RESPONSE | {"metadata": {"event_type": "theirs", "event_payload": payload}}
    gateway.fault("chat", path="/api/chat.postMessage", fault="drop_before")
    script_response(gateway, "conversations.history", {"ok": True, "messages": [others]})

    unknown = gateway.post("/chat/messages", channel=RANDOM, text="not theirs")

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)
    assert 2 == count_requests(gateway, "conversations.history")


@pytest.mark.parametrize(
    "reactions", ["eyes", [{"name": "rocket"}], [{"name": 5, "users": []}], [{"name": "rocket", "users": [None]}]]
)
def test_a_reaction_stays_in_doubt_if_the_search_response_is_unreadable(gateway: Gateway, reactions: Any) -> None:
    gateway.fault("chat", path="/api/reactions.add", fault="drop_after")
    script_response(
        gateway,
        "conversations.replies",
        {"ok": True, "messages": [SEARCH_RESPONSE | {"reactions": reactions}]},
        times=2,
    )

    unknown = gateway.post("/chat/reactions", channel=GENERAL, message_ts=OURS, emoji="rocket")

    assert (502, "outcome_unknown") == (unknown.status, unknown.code)


@pytest.mark.parametrize("messages", [{}, [{}], [SEARCH_RESPONSE | {"ts": 5}], [SEARCH_RESPONSE | {"thread_ts": 5}]])
def test_an_unreadable_thread_is_not_cached_and_gets_no_reply(gateway: Gateway, messages: Any) -> None:
    fresh = create_connection_without_cache(gateway)
    reply = partial(gateway.post, "/chat/messages", connection_id=fresh, channel=GENERAL, thread_ts=OURS)
    script_response(gateway, "conversations.replies", {"ok": True, "messages": messages})

    odd = reply(text="into an odd thread")
    repeat = reply(text="into the thread")

    assert (502, "upstream_unexpected", 200) == (odd.status, odd.code, repeat.status)
    assert [] == find_channels(gateway, "into an odd thread")


@pytest.mark.parametrize("body", [{"ok": True}, {"ok": True, "team_id": 5}, {"ok": "yes"}, {"ok": False, "error": {}}])
def test_reading_events_survives_any_vendor_response(gateway: Gateway, body: Any) -> None:
    script_response(gateway, "auth.test", body)
    script_response(gateway, "conversations.info", body)

    assert gateway.get("/chat/events", channel=GENERAL).status in {200, 502}


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b'{"ok": true, "warning": "missing_charset,superfluous_charset"}', {"missing_charset", "superfluous_charset"}),
        (b'{"ok": true, "response_metadata": {"warnings": ["superfluous_charset"]}}', {"superfluous_charset"}),
        (b'{"ok": true, "messages": [{"text": "a \\"warning\\""}]}', set()),
        (b'{"ok": true, "warning": 5}', set()),
    ],
)
def test_warnings_are_read_by_their_codes(body: bytes, codes: set[str]) -> None:
    assert codes == set(read_warnings(UpstreamResponse(200, {}, body)))
