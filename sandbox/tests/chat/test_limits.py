"""How many requests the chat stand-in takes."""

import pytest

from harness.clocks import ManualClock
from harness.sandbox_server import create_emulator
from sandbox.tests.chat.calling import GENERAL, METHODS, Chat
from workspace_sandbox.chat import ChatEmulator


def test_a_method_is_throttled_by_itself(chat: Chat, clock: ManualClock) -> None:
    answers = [chat.send("users.list", data={"limit": 1}) for _ in range(21)]
    other = chat("auth.test")
    clock.at += 59.5
    waiting = chat.send("users.list")
    clock.at += 0.5
    after = chat.send("users.list")

    assert [answer.status_code for answer in answers] == [200] * 20 + [429]
    assert ("60", {"ok": False, "error": "ratelimited"}) == (answers[-1].headers["Retry-After"], answers[-1].json())
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
def test_budgets_are_the_vendors(chat: Chat, method: str, per_minute: int) -> None:
    limits = create_emulator(chat.sandbox, ChatEmulator).limits

    assert per_minute == limits._per_minute(method, METHODS[method].per_minute)


def test_a_channel_takes_a_post_a_second_after_a_small_burst(chat: Chat, clock: ManualClock) -> None:
    burst = [chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"}) for _ in range(6)]
    elsewhere = chat("chat.postMessage", channel="random", text="x")
    clock.at += 1
    after = [chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"}).status_code for _ in range(2)]

    assert [answer.status_code for answer in burst] == [200] * 5 + [429]
    assert ("1", "rate_limited") == (burst[-1].headers["Retry-After"], burst[-1].json()["error"])
    assert (True, [200, 429]) == (elsewhere["ok"], after)


def test_throttling_can_be_switched_off(chat: Chat) -> None:
    chat.steer("knobs", limits=False)

    assert all(chat("users.list", limit=1)["ok"] for _ in range(25))
