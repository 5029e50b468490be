"""Acts, knobs and faults of the chat stand-in."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from harness.sandbox_server import create_emulator
from sandbox.tests.chat.calling import GENERAL, Chat, code_of, consent
from workspace_sandbox.chat import ChatEmulator


def test_a_reset_repeats_the_same_state_with_another_code(chat: Chat, clock: ManualClock) -> None:
    def play() -> tuple[str, list[Any]]:
        code = code_of(consent(chat, auto_approve="1"))
        posted = chat("chat.postMessage", channel="U04NW000033", text="x")
        return code, [posted, chat("conversations.list", limit=999), chat("conversations.history", channel=GENERAL)]

    code, first = play()
    chat.act("message", channel_id=GENERAL, text="more")
    chat.steer("revoke")
    chat.reset()
    new_code, second = play()

    assert first == second
    assert code != new_code


def test_the_examples_are_what_they_say(chat: Chat) -> None:
    examples = chat.sandbox.emulators["chat"].examples()
    workspace = create_emulator(chat.sandbox, ChatEmulator).workspace
    channel = workspace.channels[examples["channel_id"]]

    assert examples["channel"] == channel.name
    assert workspace.is_member(channel)
    assert workspace.is_member(workspace.channels[examples["private_channel_id"]])
    assert not workspace.can_see(workspace.channels[examples["foreign_private_channel_id"]])
    assert workspace.channels[examples["archived_channel_id"]].is_archived
    assert "U05RELAYBOT" == channel.messages[examples["message_ts"]].user
    assert examples["user_id"] == channel.messages[examples["foreign_message_ts"]].user


def test_the_seed_is_a_workspace_with_a_past(chat: Chat) -> None:
    workspace = create_emulator(chat.sandbox, ChatEmulator).workspace
    channels = workspace.channels.values()

    assert (277, 49) == (len(channels), len(workspace.users))
    assert sum(len(channel.messages) for channel in channels) > 1_000
    assert all(list(channel.messages) == sorted(channel.messages) for channel in channels)


def test_people_talk_invite_and_archive(chat: Chat) -> None:
    said = chat.act("message", channel_id="C04FOREIGN1", text="a < b")
    chat.act("invite", channel_id="C04FOREIGN1")
    newest = chat("conversations.history", channel="C04FOREIGN1", limit=2)["messages"]
    chat.act("archive", channel_id="C04FOREIGN1")
    archived = chat("chat.postMessage", channel="C04FOREIGN1", text="x")
    chat.act("unarchive", channel_id="C04FOREIGN1")
    chat.act("kick", channel_id="C04FOREIGN1")
    kicked = chat("conversations.info", channel="C04FOREIGN1")

    assert [("channel_join", None), (None, "a &lt; b")] == [
        (newest[0].get("subtype"), None),
        (newest[1].get("subtype"), newest[1]["text"]),
    ]
    assert (said["ts"], "is_archived", "channel_not_found") == (newest[1]["ts"], archived["error"], kicked["error"])


def test_people_create_and_rename_channels(chat: Chat) -> None:
    channel = chat.act("create", name="new-plans")["channel_id"]
    chat.act("rename", channel_id=channel, name="newer-plans")
    shown = chat("conversations.info", channel=channel)["channel"]

    assert ("newer-plans", ["new-plans"]) == (shown["name"], shown["previous_names"])


@pytest.mark.parametrize(
    "action",
    [
        {"action": "message", "channel_id": "C04NOWHERE1", "text": "x"},
        {"action": "message", "channel_id": GENERAL},
        {"action": "message", "channel_id": GENERAL, "text": "x", "user": "U04NOBODY01"},
        {"action": "message", "channel_id": GENERAL, "text": "x", "thread_ts": "1"},
        {"action": "message", "channel_id": GENERAL, "text": "x", "subtype": "odd"},
        {"action": "message", "channel_id": "C04ARCHIVE1", "text": "x"},
        {"action": "message", "channel_id": "D04IM000001", "text": "x", "user": "U04NW000009"},
        {"action": "edit", "channel_id": GENERAL, "ts": "1", "text": "x"},
        {"action": "react", "channel_id": GENERAL, "ts": "1759000100.000100", "name": "odd_thing"},
        {"action": "invite", "channel_id": "D04IM000001"},
        {"action": "archive", "channel_id": "D04IM000001"},
        {"action": "rename", "channel_id": GENERAL, "name": "Big Name"},
        {"action": "create", "name": "general"},
        {"action": "verify_url"},
    ],
)
def test_what_people_cannot_do_is_a_value_error(chat: Chat, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        chat.sandbox.emulators["chat"].perform(action)


def history_length(chat: Chat) -> int:
    return len(chat("conversations.history", channel=GENERAL, limit=999)["messages"])


def test_a_fatal_error_may_follow_the_write(chat: Chat) -> None:
    before = history_length(chat)
    chat.steer("knobs", fatal_after_commit=1)
    refused = chat("chat.postMessage", channel=GENERAL, text="x")
    accepted = chat("chat.postMessage", channel=GENERAL, text="y")

    assert ({"ok": False, "error": "fatal_error"}, True) == (refused, accepted["ok"])
    assert 2 == history_length(chat) - before
