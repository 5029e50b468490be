"""Mentions in written texts are neutralised if the key, the call or its surface requires it."""

from functools import partial
from typing import Any

import pytest

from connector_gateway.connectors.chat.models import EDIT_LENGTH, PostMessage
from connector_gateway.core.calls.arguments import Arguments, Body
from gateway.tests.connectors.chat.vendor_view import RANDOM, find_channels, message
from harness.gateway_server import Gateway
from harness.mcp_clients import agent
from harness.requirement import requirement

LOUD = "<!channel> look, <@U04NW000002|anna>"
QUIET = "&lt;!channel&gt; look, &lt;@U04NW000002|anna&gt;"
REQUESTED = {"Prefer": "mentions=neutralise"}


def written(gateway: Gateway, ts: str) -> str:
    """Return the emulator's text of a message."""
    return str(message(gateway, RANDOM, ts).text)


@requirement("chat-56", "connections-35")
@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("<!here|here>", "&lt;!here|here&gt;"),
        ("<!everyone>", "&lt;!everyone&gt;"),
        ("<!HERE>", "&lt;!HERE&gt;"),
        ("<!subteam^S0123|@team>", "&lt;!subteam^S0123|@team&gt;"),
        ("<@W0123>", "&lt;@W0123&gt;"),
        ("<!channel", "&lt;!channel"),
        ("<!channel <@U1>", "&lt;!channel &lt;@U1&gt;"),
        ("<!date^0^<!here>|now>", "<!date^0^&lt;!here&gt;|now>"),
        ("<#C0123|general> <https://a.example|@here> a <b> @here &amp;", None),
        ("<!date^1700000000^{date}|a day>", None),
    ],
)
def test_only_mentions_become_plain_text(text: str, neutral: str | None) -> None:
    body = Body(b'{"connection_id": "conn_1", "channel": "c", "text": "%s"}' % text.encode())
    params = Arguments(path={}, body=body, neutralises_mentions=True).read(PostMessage)

    assert (text if neutral is None else neutral) == params.text


@requirement("connections-36")
def test_a_call_can_request_neutralised_mentions(gateway: Gateway) -> None:
    loud = gateway.post("/chat/messages", channel=RANDOM, text=LOUD)
    quiet = gateway.post("/chat/messages", channel=RANDOM, text=LOUD, headers=REQUESTED)

    assert LOUD == written(gateway, loud.data["message_ts"])
    assert QUIET == written(gateway, quiet.data["message_ts"])
    assert "mentions=neutralise" == quiet.headers["preference-applied"]
    assert "preference-applied" not in loud.headers


@requirement("connections-36")
def test_a_key_can_enforce_neutralised_mentions(gateway: Gateway) -> None:
    quiet = gateway.with_key(mentions="neutralise")
    posted = quiet.post("/chat/messages", channel=RANDOM, text=LOUD).data
    first = written(gateway, posted["message_ts"])
    quiet.patch(f"/chat/messages/{posted['message_ts']}", channel=RANDOM, text=f"{LOUD}!")

    assert [QUIET, f"{QUIET}!"] == [first, written(gateway, posted["message_ts"])]


@requirement("connections-36")
@pytest.mark.parametrize(("mentions", "text"), [(None, QUIET), ("neutralise", QUIET), ("allow", LOUD)])
async def test_an_agents_mentions_are_neutralised_unless_its_key_allows_them(
    gateway: Gateway, mentions: Any, text: str
) -> None:
    arguments = {"connection_id": gateway.connections["chat"], "channel": RANDOM, "text": LOUD}
    async with agent(gateway.with_key(mentions=mentions)) as client:
        result = await client.call_tool("chat_post_message", arguments)
    fields: Any = result.structured_content

    assert text == written(gateway, fields["data"]["message_ts"])


@requirement("connections-36")
@pytest.mark.parametrize("value", ["mentions=allow", "mentions", 'mentions="neutral"', "dry-run, mentions=off"])
def test_an_unknown_mentions_preference_is_rejected_without_a_write(gateway: Gateway, value: str) -> None:
    reply = gateway.post("/chat/messages", channel=RANDOM, text=f"refused {value}", headers={"Prefer": value})

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["mentions=neutralise"] == reply.details[0]["allowed"]
    assert [] == find_channels(gateway, f"refused {value}")


@requirement("connections-35")
def test_a_dry_run_shows_the_text_that_would_be_sent(gateway: Gateway) -> None:
    headers = {"Prefer": 'dry-run, Mentions="neutralise"'}
    reply = gateway.post("/chat/messages", channel=RANDOM, text=LOUD, headers=headers)

    assert [QUIET] == [request["body"]["text"] for request in reply.data["requests"]]
    assert "dry-run, mentions=neutralise" == reply.headers["preference-applied"]


@requirement("connections-35")
@pytest.mark.parametrize("repeat", [{}, REQUESTED], ids=["without preference", "with preference"])
def test_an_interrupted_post_is_matched_by_its_neutralised_text(gateway: Gateway, repeat: dict[str, str]) -> None:
    key = f"cut {bool(repeat)}"
    post = partial(gateway.post, "/chat/messages", channel=RANDOM, text=f"{LOUD} {key}", idempotency_key=key)
    gateway.fault("chat", path="/api/chat.postMessage", fault="drop_after")
    post(headers=REQUESTED)
    repeated = post(headers=repeat)

    assert 200 == repeated.status
    assert [RANDOM] == find_channels(gateway, f"{QUIET} {key}")
    assert [] == find_channels(gateway, f"{LOUD} {key}")


@requirement("connections-35")
def test_an_interrupted_edit_is_matched_by_its_neutralised_text(gateway: Gateway) -> None:
    ts = gateway.post("/chat/messages", channel=RANDOM, text="before").data["message_ts"]
    gateway.fault("chat", path="/api/chat.update", fault="drop_after")
    edit = partial(gateway.patch, f"/chat/messages/{ts}", channel=RANDOM, text=LOUD, headers=REQUESTED)
    edit()
    repeated = edit()

    assert QUIET == written(gateway, ts)
    assert 200 == repeated.status


def test_the_length_of_an_edit_is_counted_after_neutralisation(gateway: Gateway) -> None:
    ts = gateway.post("/chat/messages", channel=RANDOM, text="short").data["message_ts"]
    text = "<!here>".ljust(EDIT_LENGTH, "x")
    replies = [gateway.patch(f"/chat/messages/{ts}", channel=RANDOM, text=text, headers=how) for how in ({}, REQUESTED)]

    assert [200, 422] == [reply.status for reply in replies]
