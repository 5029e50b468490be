"""Conversations of the Slack emulator."""

import pytest

from harness.clocks import ManualClock
from sandbox.tests.chat.slack_client import DELETED_IM, FOREIGN_IM, GENERAL, UNJOINED_PUBLIC, ChatClient


def test_lists_contain_the_channels_visible_to_the_bot(chat: ChatClient) -> None:
    everything = [
        channel
        for page in chat.pages("conversations.list", "channels", types="public_channel,private_channel,im", limit=200)
        for channel in page
    ]
    by_id = {channel["id"]: channel for channel in everything}

    assert by_id.keys() >= {GENERAL, UNJOINED_PUBLIC, "C04PRIVATE1", "G04WARROOM2", "C04ARCHIVE1", DELETED_IM}
    assert not by_id.keys() & {"C04FOREIGN1", "G04FINANCE2", FOREIGN_IM}
    assert (True, False) == (by_id[GENERAL]["is_member"], by_id[UNJOINED_PUBLIC]["is_member"])
    assert 46 == by_id[GENERAL]["num_members"]
    assert (True, False) == (by_id["G04WARROOM2"]["is_group"], by_id["G04WARROOM2"]["is_channel"])


def test_an_im_has_a_user_and_no_name(chat: ChatClient) -> None:
    im = chat("conversations.info", channel=DELETED_IM)["channel"]

    assert ("U04NW000045", True) == (im["user"], im["is_user_deleted"])
    assert not im.keys() & {"name", "is_private", "num_members", "is_member"}


def test_lists_contain_only_public_channels_without_types(chat: ChatClient) -> None:
    plain = chat("conversations.list", limit=999)["channels"]
    misspelt = chat("conversations.list", limit=999, type="private_channel")["channels"]

    assert [False, False] == [any(c["is_private"] for c in channels) for channels in (plain, misspelt)]


def test_pages_are_filtered_after_pagination(chat: ChatClient) -> None:
    pages = chat.pages("conversations.list", "channels", limit=25, exclude_archived="true")
    lengths = [len(page) for page in pages]
    all_channels = chat("conversations.list", limit=999, exclude_archived="1")["channels"]

    assert 0 in lengths[:-1]
    assert all_channels == [channel for page in pages for channel in page]


def test_cursors_have_the_vendors_format(chat: ChatClient) -> None:
    cursor = chat("conversations.list", limit=10)["response_metadata"]["next_cursor"]

    assert cursor.endswith("=")


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("conversations.list", {"cursor": "nonsense"}, "invalid_cursor"),
        ("conversations.list", {"cursor": "ü"}, "invalid_cursor"),
        ("conversations.history", {"channel": GENERAL, "cursor": "ü"}, "invalid_cursor"),
        ("conversations.list", {"cursor": "dGVhbTpDMQ=="}, "invalid_cursor"),
        ("conversations.list", {"types": "channels"}, "invalid_types"),
        ("conversations.list", {"types": "public_channel,mpim"}, "missing_scope"),
        ("conversations.list", {"limit": "1000"}, "invalid_limit"),
        ("conversations.list", {"limit": "-1"}, "invalid_limit"),
        ("conversations.list", {"limit": "many"}, "invalid_limit"),
        ("users.conversations", {"user": "U04NOBODY01"}, "user_not_found"),
        ("users.list", {"cursor": "dGVhbTpDMQ=="}, "invalid_cursor"),
        ("users.info", {"user": "U04NOBODY01"}, "user_not_found"),
        ("conversations.info", {"channel": "C04FOREIGN1"}, "channel_not_found"),
        ("conversations.members", {"channel": FOREIGN_IM}, "channel_not_found"),
        ("conversations.history", {"channel": UNJOINED_PUBLIC}, "not_in_channel"),
        ("conversations.history", {"channel": "C04FOREIGN1"}, "channel_not_found"),
        ("conversations.history", {"channel": "general"}, "channel_not_found"),
        ("conversations.history", {"channel": GENERAL, "oldest": "soon"}, "invalid_ts_oldest"),
        ("conversations.history", {"channel": GENERAL, "latest": "now"}, "invalid_ts_latest"),
        ("conversations.history", {"channel": GENERAL, "cursor": "bmV4dF90czp4"}, "invalid_cursor"),
        ("conversations.replies", {"channel": GENERAL, "ts": "1700000000.000001"}, "thread_not_found"),
        ("conversations.join", {"channel": "C04ARCHIVE2"}, "is_archived"),
        ("conversations.join", {"channel": "C04FOREIGN1"}, "channel_not_found"),
        ("conversations.join", {"channel": "C04PRIVATE1"}, "method_not_supported_for_channel_type"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": "U04NOBODY01"}, "user_not_found"),
        ("conversations.open", {"users": "U04NW000045"}, "user_disabled"),
        ("conversations.open", {"users": "U04NW000002,U04NW000003"}, "missing_scope"),
        ("conversations.open", {"users": ",".join(["U04NW000002"] * 9)}, "too_many_users"),
        ("conversations.open", {"channel": GENERAL}, "method_not_supported_for_channel_type"),
    ],
)
def test_invalid_conversation_requests_are_rejected(
    chat: ChatClient, method: str, arguments: dict[str, str], error: str
) -> None:
    assert error == chat(method, **arguments)["error"]


def test_memberships_omit_member_counts(chat: ChatClient) -> None:
    pages = chat.pages("users.conversations", "channels", types="public_channel,private_channel", limit=200)
    channels = {channel["id"]: channel for page in pages for channel in page}

    assert channels.keys() >= {GENERAL, "C04PRIVATE1"}
    assert UNJOINED_PUBLIC not in channels
    assert not channels[GENERAL].keys() & {"num_members", "is_member"}


def test_member_count_of_a_channel_is_returned_on_request(chat: ChatClient) -> None:
    plain = chat("conversations.info", channel=GENERAL)["channel"]
    counted = chat("conversations.info", channel=GENERAL, include_num_members="true")["channel"]

    assert (False, 46) == ("num_members" in plain, counted["num_members"])


def test_members_are_paged(chat: ChatClient) -> None:
    pages = chat.pages("conversations.members", "members", channel=GENERAL, limit=20)

    assert [20, 20, 6] == [len(page) for page in pages]


def test_joining_twice_returns_a_warning(chat: ChatClient) -> None:
    first = chat("conversations.join", channel=UNJOINED_PUBLIC)
    second = chat("conversations.join", channel=UNJOINED_PUBLIC)

    assert (True, "already_in_channel") == (first["channel"]["is_member"], second["warning"])
    assert "channel_join" == chat("conversations.history", channel=UNJOINED_PUBLIC, limit=1)["messages"][0]["subtype"]


def test_history_is_paged_newest_first(chat: ChatClient) -> None:
    pages = chat.pages("conversations.history", "messages", channel=GENERAL, limit=50)
    ids = [message["ts"] for page in pages for message in page]
    history = chat("conversations.history", channel=GENERAL, limit=999)

    assert ids == sorted(ids, reverse=True)
    assert ids == [message["ts"] for message in history["messages"]]
    assert (False, False) == (history["has_more"], "response_metadata" in history)


def test_history_is_limited_by_oldest_and_latest(chat: ChatClient) -> None:
    a, b, c = (chat.post(text) for text in "abc")

    def ids(**arguments: str) -> list[str]:
        return [message["ts"] for message in chat("conversations.history", channel=GENERAL, **arguments)["messages"]]

    assert [c, b] == ids(oldest=a)
    assert [c, b, a] == ids(oldest=a, inclusive="1")
    assert [b] == ids(oldest=a, latest=c)
    assert [c, b, a] == ids(oldest=a, latest=c, inclusive="true")


def test_threads_are_paged_oldest_first_after_their_parent(chat: ChatClient) -> None:
    root = chat.post("root")
    replies = [chat.perform("message", channel_id=GENERAL, text=f"{n}", thread_ts=root)["ts"] for n in range(4)]
    pages = chat.pages("conversations.replies", "messages", channel=GENERAL, ts=root, limit=2)
    since = chat("conversations.replies", channel=GENERAL, ts=root, oldest=replies[2])["messages"]
    alone = chat("conversations.replies", channel=GENERAL, ts=replies[0])["messages"]

    assert [[root, replies[0]], replies[1:3], replies[3:]] == [[m["ts"] for m in page] for page in pages]
    assert [[root, replies[3]], [replies[0]]] == [[m["ts"] for m in messages] for messages in (since, alone)]


def test_restricted_tier_returns_fifteen_messages_once_a_minute(chat: ChatClient, clock: ManualClock) -> None:
    chat.control("knobs", history_tier="restricted")
    first = chat("conversations.history", channel=GENERAL, limit=200)
    second = chat.send("conversations.history", data={"channel": "C04PRIVATE1"})
    replies = chat("conversations.replies", channel=GENERAL, ts="1759000100.000100")
    clock.at += 60
    third = chat("conversations.history", channel=GENERAL, cursor=first["response_metadata"]["next_cursor"])

    assert (15, 15, True) == (len(first["messages"]), len(third["messages"]), replies["ok"])
    assert (429, "60") == (second.status_code, second.headers["Retry-After"])
