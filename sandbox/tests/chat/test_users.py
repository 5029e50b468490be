"""People and reactions of the Slack emulator."""

import pytest

from sandbox.tests.chat.slack_client import GENERAL, UNJOINED_PUBLIC, ChatClient
from workspace_sandbox.chat.api.emoji import canonical_name


def test_users_are_listed_with_or_without_pages(chat: ChatClient) -> None:
    members = chat("users.list")["members"]
    pages = chat.pages("users.list", "members", limit=20)

    assert [20, 20, 9] == [len(page) for page in pages]
    assert members == [user for page in pages for user in page]
    assert {"田中 さくら", "Slackbot"} <= {user["profile"]["real_name"] for user in members}


def test_a_reaction_is_added_once_per_user(chat: ChatClient) -> None:
    item = {"channel": GENERAL, "timestamp": "1759000200.000200"}
    chat.perform("react", channel_id=GENERAL, ts=item["timestamp"], name="eyes", user="U04NW000002")
    first = chat("reactions.add", name="eyes", **item)
    second = chat("reactions.add", name="eyes", **item)
    reactions = chat("reactions.get", **item)["message"]["reactions"]

    assert [{"ok": True}, {"ok": False, "error": "already_reacted"}] == [first, second]
    assert {"name": "eyes", "users": ["U04NW000002", "U05RELAYBOT"], "count": 2} in reactions


def test_a_reaction_is_removed_once(chat: ChatClient) -> None:
    item = {"channel": GENERAL, "timestamp": "1759000100.000100", "name": "rocket"}
    chat("reactions.add", **item)
    responses = [chat("reactions.remove", **item) for _ in range(2)]

    assert [{"ok": True}, {"ok": False, "error": "no_reaction"}] == responses


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("thumbsup", "+1"),
        ("thumbsup::skin-tone-3", "+1::skin-tone-3"),
        ("party_parrot", "party_parrot"),
        ("thumbsup::skin-tone-7", None),
        ("eyes::skin-tone-3", None),
        ("party_parrot::skin-tone-3", None),
        (":eyes:", None),
        ("no_such_thing", None),
    ],
)
def test_emoji_names_are_canonicalised(name: str, canonical: str | None) -> None:
    assert canonical == canonical_name(name)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "no_such_thing"}, "invalid_name"),
        ({"timestamp": "17"}, "bad_timestamp"),
        ({"timestamp": "1700000000.000001"}, "message_not_found"),
        ({"timestamp": ""}, "no_item_specified"),
        ({"channel": ""}, "no_item_specified"),
        ({"channel": "general"}, "channel_not_found"),
        ({"channel": "C04FOREIGN1"}, "channel_not_found"),
        ({"channel": UNJOINED_PUBLIC}, "not_in_channel"),
    ],
)
def test_invalid_reactions_are_rejected(chat: ChatClient, arguments: dict[str, str], error: str) -> None:
    params = {"channel": GENERAL, "timestamp": "1759000100.000100", "name": "eyes"} | arguments

    assert error == chat("reactions.add", **params)["error"]


def test_reactions_in_archived_channels_are_rejected(chat: ChatClient) -> None:
    ts = chat("conversations.history", channel="C04ARCHIVE1", limit=1)["messages"][0]["ts"]

    assert "is_archived" == chat("reactions.add", channel="C04ARCHIVE1", timestamp=ts, name="eyes")["error"]


def test_reactions_per_user_and_message_are_limited(chat: ChatClient) -> None:
    chat.control("knobs", limits=False)
    item = {"channel": GENERAL, "timestamp": "1759000100.000100"}
    names = [f"clock{hour}{half}" for half in ("", "30") for hour in range(1, 13)]
    responses = [chat("reactions.add", name=name, **item) for name in names]

    assert [response["ok"] for response in responses[:-1]] == [True] * 23
    assert "too_many_reactions" == responses[-1]["error"]


def test_custom_emoji_are_listed(chat: ChatClient) -> None:
    assert "alias:squirrel" == chat("emoji.list")["emoji"]["shipit"]
