"""Channels that a bot makes and changes."""

from typing import Any

import pytest

from sandbox.tests.chat.calling import GENERAL, UNJOINED_PUBLIC, Chat

USER = "U04NW000007"


def made(chat: Chat, name: str = "ships", **arguments: Any) -> str:
    """A new channel of the bot's."""
    return str(chat("conversations.create", name=name, **arguments)["channel"]["id"])


def test_a_channel_is_made_with_the_bot_in_it(chat: Chat) -> None:
    channel = chat("conversations.create", name="ships")["channel"]

    assert ("ships", True, False) == (channel["name"], channel["is_member"], channel["is_private"])
    assert chat.post("hello", channel=channel["id"])


def test_a_private_channel_is_seen_by_its_members(chat: Chat) -> None:
    channel = made(chat, is_private=True)

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
def test_a_name_that_will_not_do_is_refused(chat: Chat, name: str, code: str) -> None:
    assert code == chat("conversations.create", name=name)["error"]


def test_people_are_invited_and_told_of(chat: Chat) -> None:
    channel = made(chat)
    chat("conversations.invite", channel=channel, users=USER)

    assert USER in chat("conversations.members", channel=channel)["members"]
    assert "already_in_channel" == chat("conversations.invite", channel=channel, users=USER)["error"]


@pytest.mark.parametrize(
    ("users", "code"),
    [("", "no_user"), ("U0NOBODY000", "user_not_found"), ("U05RELAYBOT", "cant_invite_self")],
    ids=str,
)
def test_an_invitation_that_cannot_be_is_refused(chat: Chat, users: str, code: str) -> None:
    assert code == chat("conversations.invite", channel=GENERAL, users=users)["error"]


def test_a_topic_is_set_and_a_channel_put_away(chat: Chat) -> None:
    channel = made(chat)
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
def test_a_channel_that_is_not_the_bots_to_change_stays(chat: Chat, method: str, channel: str, code: str) -> None:
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
def test_what_cannot_be_done_is_refused_in_the_vendors_words(
    chat: Chat, method: str, arguments: dict[str, str], code: str
) -> None:
    assert code == chat(method, channel=GENERAL, **arguments)["error"]


def test_a_conversation_of_several_is_opened_with_its_scope_alone(chat: Chat) -> None:
    refused = chat("conversations.open", users=f"{USER},U04NW000008")["needed"]
    scopes = chat.sandbox.emulators["chat"].context.knobs["scopes"]
    chat.steer("knobs", scopes=f"{scopes},mpim:write,mpim:read")
    opened = chat("conversations.open", users=f"{USER},U04NW000008", return_im="true")["channel"]
    closed = [chat("conversations.close", channel=opened["id"]) for _ in range(2)]

    assert ("mpim:write", True, 3) == (
        refused,
        opened["is_mpim"],
        len(chat("conversations.members", channel=opened["id"])["members"]),
    )
    assert [None, True] == [one.get("already_closed") for one in closed]
    assert opened["id"] in [one["id"] for one in chat.pages("conversations.list", "channels", types="mpim")[-1]]
