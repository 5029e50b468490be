"""Rate limits of the Slack emulator."""

import pytest

from harness.clocks import ManualClock
from harness.sandbox_server import create_emulator
from sandbox.tests.chat.slack_client import GENERAL, METHODS, ChatClient
from workspace_sandbox.chat import ChatEmulator


def test_each_method_has_its_own_rate_limit(chat: ChatClient, clock: ManualClock) -> None:
    responses = [chat.send("users.list", data={"limit": 1}) for _ in range(21)]
    other = chat("auth.test")
    clock.at += 59.5
    waiting = chat.send("users.list")
    clock.at += 0.5
    after = chat.send("users.list")

    assert [response.status_code for response in responses] == [200] * 20 + [429]
    assert ("60", {"ok": False, "error": "ratelimited"}) == (responses[-1].headers["Retry-After"], responses[-1].json())
    assert ("1", True, 200) == (waiting.headers["Retry-After"], other["ok"], after.status_code)


@pytest.mark.parametrize(
    ("method", "per_minute"),
    [
        ("conversations.list", 20),
        ("users.conversations", 50),
        ("conversations.history", 50),
        ("conversations.members", 100),
        ("chat.postMessage", 300),
        ("chat.update", 50),
        ("reactions.add", 50),
        ("auth.test", 600),
    ],
)
def test_rate_limits_match_the_vendors(chat: ChatClient, method: str, per_minute: int) -> None:
    limits = create_emulator(chat.sandbox, ChatEmulator).limits

    assert per_minute == limits._per_minute(method, METHODS[method].per_minute)


def test_posts_per_channel_are_limited_after_a_burst(chat: ChatClient, clock: ManualClock) -> None:
    burst = [chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"}) for _ in range(6)]
    elsewhere = chat("chat.postMessage", channel="random", text="x")
    clock.at += 1
    after = [chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"}).status_code for _ in range(2)]

    assert [response.status_code for response in burst] == [200] * 5 + [429]
    assert ("1", "rate_limited") == (burst[-1].headers["Retry-After"], burst[-1].json()["error"])
    assert (True, [200, 429]) == (elsewhere["ok"], after)


def test_rate_limits_can_be_disabled(chat: ChatClient) -> None:
    chat.control("knobs", limits=False)

    assert all(chat("users.list", limit=1)["ok"] for _ in range(25))
