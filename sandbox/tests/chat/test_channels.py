"""Channels created and managed by the bot."""

from typing import Any

import pytest

from sandbox.tests.chat.slack_client import GENERAL, UNJOINED_PUBLIC, ChatClient

USER = "U04NW000007"


def create_channel(chat: ChatClient, name: str = "ships", **arguments: Any) -> str:
    """Create a channel and return its id."""
    return str(chat("conversations.create", name=name, **arguments)["channel"]["id"])


def test_created_channel_contains_the_bot(chat: ChatClient) -> None:
    channel = chat("conversations.create", name="ships")["channel"]

    assert ("ships", True, False) == (channel["name"], channel["is_member"], channel["is_private"])
    assert chat.post("hello", channel=channel["id"])


def test_created_private_channel_is_visible_to_the_bot(chat: ChatClient) -> None:
    channel = create_channel(chat, is_private=True)

    assert chat("conversations.info", channel=channel)["channel"]["is_private"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "invalid_name_required"),
        ("a" * 81, "invalid_name_maxlength"),
        ("Big Ships", "invalid_name_specials"),
        ("general", "name_taken"),
    ],
    ids=str,
)
def test_invalid_channel_names_are_rejected(chat: ChatClient, name: str, code: str) -> None:
    assert code == chat("conversations.create", name=name)["error"]


def test_invited_users_are_listed_as_members(chat: ChatClient) -> None:
    channel = create_channel(chat)
    chat("conversations.invite", channel=channel, users=USER)

    assert USER in chat("conversations.members", channel=channel)["members"]
    assert "already_in_channel" == chat("conversations.invite", channel=channel, users=USER)["error"]


@pytest.mark.parametrize(
    ("users", "code"),
    [("", "no_user"), ("U0NOBODY000", "user_not_found"), ("U05RELAYBOT", "cant_invite_self")],
    ids=str,
)
def test_invalid_invitations_are_rejected(chat: ChatClient, users: str, code: str) -> None:
    assert code == chat("conversations.invite", channel=GENERAL, users=users)["error"]


def test_topic_is_set_and_channel_is_archived(chat: ChatClient) -> None:
    channel = create_channel(chat)
    topic = chat("conversations.setTopic", channel=channel, topic="Hulls")["channel"]["topic"]["value"]
    chat("conversations.archive", channel=channel)

    assert "Hulls" == topic
    assert "already_archived" == chat("conversations.archive", channel=channel)["error"]
    assert "is_archived" == chat("conversations.setTopic", channel=channel, topic="?")["error"]


@pytest.mark.parametrize(
    ("method", "channel", "code"),
    [
        ("conversations.archive", GENERAL, "cant_archive_general"),
        ("conversations.archive", UNJOINED_PUBLIC, "not_in_channel"),
        ("conversations.setTopic", "D04IM000014", "method_not_supported_for_channel_type"),
    ],
    ids=str,
)
def test_changes_to_restricted_channels_are_rejected(chat: ChatClient, method: str, channel: str, code: str) -> None:
    assert code == chat(method, channel=channel)["error"]


@pytest.mark.parametrize(
    ("method", "arguments", "code"),
    [
        ("conversations.rename", {"name": "ours"}, "not_authorized"),
        ("conversations.unarchive", {}, "not_archived"),
        ("conversations.kick", {"user": "U05RELAYBOT"}, "cant_kick_self"),
        ("conversations.kick", {"user": USER}, "cant_kick_from_general"),
        ("conversations.leave", {}, "cant_leave_general"),
        ("conversations.close", {}, "method_not_supported_for_channel_type"),
        ("conversations.mark", {"ts": "now"}, "invalid_timestamp"),
        ("chat.scheduleMessage", {"text": "x", "post_at": "soon"}, "invalid_time"),
        ("chat.scheduleMessage", {"text": "x", "post_at": "1000000000"}, "time_in_past"),
        ("chat.scheduleMessage", {"text": "x", "post_at": "9999999999"}, "time_too_far"),
        ("chat.deleteScheduledMessage", {"scheduled_message_id": "Q1"}, "invalid_scheduled_message_id"),
        ("chat.postEphemeral", {"text": "x", "user": "U0NOBODY000"}, "user_not_in_channel"),
        ("pins.remove", {"timestamp": "1759000200.000200"}, "not_pinned"),
        ("files.completeUploadExternal", {"files": '[{"id": "F0NOTHING"}]'}, "file_not_found"),
        ("files.info", {"file": "F0NOTHING"}, "file_not_found"),
        ("files.list", {"ts_from": "yesterday"}, "invalid_arguments"),
        ("files.upload", {"content": "x"}, "method_deprecated"),
        ("users.lookupByEmail", {"email": "nobody@northwind-labs.example"}, "users_not_found"),
        ("bots.info", {"bot": "B0NOBODY"}, "bot_not_found"),
    ],
    ids=str,
)
def test_invalid_calls_return_the_vendors_errors(
    chat: ChatClient, method: str, arguments: dict[str, str], code: str
) -> None:
    assert code == chat(method, channel=GENERAL, **arguments)["error"]


def test_group_conversation_requires_its_own_scope(chat: ChatClient) -> None:
    needed_scope = chat("conversations.open", users=f"{USER},U04NW000008")["needed"]
    scopes = chat.sandbox.emulators["chat"].context.knobs["scopes"]
    chat.control("knobs", scopes=f"{scopes},mpim:write,mpim:read")
    opened = chat("conversations.open", users=f"{USER},U04NW000008", return_im="true")["channel"]
    closed = [chat("conversations.close", channel=opened["id"]) for _ in range(2)]

    assert ("mpim:write", True, 3) == (
        needed_scope,
        opened["is_mpim"],
        len(chat("conversations.members", channel=opened["id"])["members"]),
    )
    assert [None, True] == [channel.get("already_closed") for channel in closed]
    assert opened["id"] in [channel["id"] for channel in chat.pages("conversations.list", "channels", types="mpim")[-1]]
