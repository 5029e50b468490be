"""User actions, knobs and faults of the Slack emulator."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from harness.sandbox_server import create_emulator
from sandbox.tests.chat.slack_client import GENERAL, ChatClient, authorization_code, consent
from workspace_sandbox.chat import ChatEmulator


def test_reset_restores_the_state_but_changes_codes(chat: ChatClient, clock: ManualClock) -> None:
    def run_scenario() -> tuple[str, list[Any]]:
        code = authorization_code(consent(chat, auto_approve="1"))
        posted = chat("chat.postMessage", channel="U04NW000033", text="x")
        return code, [posted, chat("conversations.list", limit=999), chat("conversations.history", channel=GENERAL)]

    code, first = run_scenario()
    chat.perform("message", channel_id=GENERAL, text="more")
    chat.control("revoke")
    chat.reset()
    new_code, second = run_scenario()

    assert first == second
    assert code != new_code


def test_examples_match_the_default_data(chat: ChatClient) -> None:
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


def test_default_data_contains_a_workspace_with_history(chat: ChatClient) -> None:
    workspace = create_emulator(chat.sandbox, ChatEmulator).workspace
    channels = workspace.channels.values()

    assert (277, 49) == (len(channels), len(workspace.users))
    assert sum(len(channel.messages) for channel in channels) > 1_000
    assert all(list(channel.messages) == sorted(channel.messages) for channel in channels)


def test_user_actions_post_invite_and_archive(chat: ChatClient) -> None:
    posted = chat.perform("message", channel_id="C04FOREIGN1", text="a < b")
    chat.perform("invite", channel_id="C04FOREIGN1")
    newest = chat("conversations.history", channel="C04FOREIGN1", limit=2)["messages"]
    chat.perform("archive", channel_id="C04FOREIGN1")
    archived = chat("chat.postMessage", channel="C04FOREIGN1", text="x")
    chat.perform("unarchive", channel_id="C04FOREIGN1")
    chat.perform("kick", channel_id="C04FOREIGN1")
    kicked = chat("conversations.info", channel="C04FOREIGN1")

    assert [("channel_join", None), (None, "a &lt; b")] == [
        (newest[0].get("subtype"), None),
        (newest[1].get("subtype"), newest[1]["text"]),
    ]
    assert (posted["ts"], "is_archived", "channel_not_found") == (newest[1]["ts"], archived["error"], kicked["error"])


def test_user_actions_create_and_rename_channels(chat: ChatClient) -> None:
    channel = chat.perform("create", name="new-plans")["channel_id"]
    chat.perform("rename", channel_id=channel, name="newer-plans")
    renamed = chat("conversations.info", channel=channel)["channel"]

    assert ("newer-plans", ["new-plans"]) == (renamed["name"], renamed["previous_names"])


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
def test_invalid_user_actions_raise_a_value_error(chat: ChatClient, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        chat.sandbox.emulators["chat"].perform(action)


def history_length(chat: ChatClient) -> int:
    return len(chat("conversations.history", channel=GENERAL, limit=999)["messages"])


def test_fatal_error_can_follow_a_committed_write(chat: ChatClient) -> None:
    before = history_length(chat)
    chat.control("knobs", fatal_after_commit=1)
    failed = chat("chat.postMessage", channel=GENERAL, text="x")
    accepted = chat("chat.postMessage", channel=GENERAL, text="y")

    assert ({"ok": False, "error": "fatal_error"}, True) == (failed, accepted["ok"])
    assert 2 == history_length(chat) - before
