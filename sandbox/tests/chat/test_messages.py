"""Messages of the Slack emulator: posts, threads, edits and deletions."""

import json
from itertools import pairwise

import pytest

from harness.clocks import ManualClock
from sandbox.tests.chat.slack_client import DELETED_IM, FOREIGN_IM, GENERAL, UNJOINED_PUBLIC, ChatClient
from workspace_sandbox.chat.api.messages import escape


def test_post_returns_the_created_message(chat: ChatClient) -> None:
    response = chat("chat.postMessage", channel=GENERAL, text="deploy *ok* ✅")

    message = response["message"]
    assert "U05RELAYBOT" == message.pop("bot_profile")["user_id"]
    assert response == {
        "ok": True,
        "channel": GENERAL,
        "ts": response["ts"],
        "message": {
            "type": "message",
            "ts": response["ts"],
            "text": "deploy *ok* ✅",
            "team": "T04NW2K7QLM",
            "user": "U05RELAYBOT",
            "bot_id": "B05RELAY9KD",
            "app_id": "A05RELAY7X2",
        },
    }


@pytest.mark.parametrize(
    ("named", "channel"),
    [
        ("general", GENERAL),
        ("#general", GENERAL),
        ("finance", UNJOINED_PUBLIC),
        ("war-room", "C04WARROOM1"),
        ("東京オフィス", "C04TOKYO001"),
        ("G04WARROOM2", "G04WARROOM2"),
        ("U04NW000002", "D04IM000001"),
        ("D04IM000001", "D04IM000001"),
    ],
)
def test_post_accepts_channel_ids_public_names_and_users(chat: ChatClient, named: str, channel: str) -> None:
    assert channel == chat("chat.postMessage", channel=named, text="x")["channel"]


def test_first_post_to_a_user_opens_a_conversation(chat: ChatClient) -> None:
    posted = chat("chat.postMessage", channel="U04NW000030", text="hello")
    opened = chat("conversations.open", users="U04NW000030")

    assert (posted["channel"][0], posted["channel"], True) == ("D", opened["channel"]["id"], opened["already_open"])


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("C04NOWHERE1", "channel_not_found"),
        ("leadership-sync", "channel_not_found"),
        ("C04FOREIGN1", "channel_not_found"),
        (FOREIGN_IM, "channel_not_found"),
        (DELETED_IM, "channel_not_found"),
        ("U04NW000045", "channel_not_found"),
        ("U04NOBODY01", "channel_not_found"),
        ("C04ARCHIVE1", "is_archived"),
        ("C04ARCHIVE2", "is_archived"),
    ],
)
def test_post_to_an_inaccessible_channel_is_rejected(chat: ChatClient, channel: str, error: str) -> None:
    assert chat("chat.postMessage", channel=channel, text="x") == {"ok": False, "error": error}


def test_post_to_an_unjoined_public_channel_requires_its_scope(chat: ChatClient) -> None:
    with_scope = chat("chat.postMessage", channel=UNJOINED_PUBLIC, text="x")
    chat.control("knobs", scopes="chat:write")
    without = chat("chat.postMessage", channel=UNJOINED_PUBLIC, text="x")

    assert [True, "not_in_channel"] == [with_scope["ok"], without["error"]]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({}, "no_text"),
        ({"text": ""}, "no_text"),
        ({"text": "  \n"}, "no_text"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "x", "blocks": "{"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": "[{}]"}, "invalid_blocks"),
        ({"text": "x", "blocks": json.dumps([{"type": "divider"}] * 51)}, "invalid_blocks"),
        ({"text": "x", "attachments": "5"}, "invalid_attachments"),
        ({"text": "x", "attachments": json.dumps([{}] * 101)}, "too_many_attachments"),
        ({"text": "x", "metadata": "{"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": "[]"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": '{"event_type": "a"}'}, "invalid_metadata_schema"),
        (
            {"text": "x", "metadata": json.dumps({"event_type": "a", "event_payload": {"k": "x" * 9000}})},
            "metadata_too_large",
        ),
        ({"text": "x", "thread_ts": "17"}, "invalid_thread_ts"),
        ({"text": "x", "thread_ts": "1700000000.000001"}, "thread_not_found"),
    ],
)
def test_invalid_posts_are_rejected(chat: ChatClient, content: dict[str, str], error: str) -> None:
    assert error == chat("chat.postMessage", channel=GENERAL, **content)["error"]


def test_longest_allowed_post_is_stored_complete(chat: ChatClient) -> None:
    response = chat("chat.postMessage", channel=GENERAL, text="ü" * 40_000)

    assert 40_000 == len(response["message"]["text"])


def test_long_posts_can_be_split_as_in_the_old_api(chat: ChatClient) -> None:
    chat.control("knobs", long_text="split")
    response = chat("chat.postMessage", channel=GENERAL, text="a" * 4_000 + "b")
    newest = chat("conversations.history", channel=GENERAL, limit=2)["messages"]

    assert [message["text"] for message in newest] == ["b", "a" * 4_000]
    assert response["ts"] == newest[1]["ts"]


@pytest.mark.parametrize(
    ("sent", "escaped"),
    [
        ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
        ("a &amp; b", "a &amp; b"),
        (
            "<@U04NW000002> <https://a.example/?b&c|label> <!here>",
            "<@U04NW000002> <https://a.example/?b&c|label> <!here>",
        ),
        ("> quoted <b>", "&gt; quoted &lt;b&gt;"),
    ],
)
def test_special_characters_are_escaped_outside_markup(sent: str, escaped: str) -> None:
    assert escaped == escape(sent)


def test_metadata_is_returned_only_on_request(chat: ChatClient) -> None:
    metadata = {"event_type": "gw_post", "event_payload": {"k": "9f"}}
    ts = chat.post("marked", metadata=json.dumps(metadata))
    nested = chat.send("chat.postMessage", json={"channel": GENERAL, "text": "also", "metadata": metadata}).json()
    chat("chat.update", channel=GENERAL, ts=ts, text="changed")
    messages = chat("conversations.history", channel=GENERAL, limit=2, include_all_metadata="1")["messages"]
    hidden = chat("conversations.history", channel=GENERAL, limit=2)["messages"]

    assert [metadata, metadata] == [message["metadata"] for message in messages]
    assert [nested["ts"], ts] == [message["ts"] for message in hidden]
    assert [] == [message for message in hidden if "metadata" in message]


def test_message_ids_increase_while_the_clock_stands_still(chat: ChatClient, clock: ManualClock) -> None:
    ids = [chat.post(f"{number}") for number in range(5)]

    assert ["1790000000.000000", "1790000000.000001"] == ids[:2]
    assert all(earlier < later for earlier, later in pairwise(ids))


def test_repeated_client_message_id_is_deduplicated_only_with_the_knob(chat: ChatClient) -> None:
    first = chat.post("x", client_msg_id="6f-1")
    second = chat.post("x", client_msg_id="6f-1")
    chat.control("knobs", dedupe_client_msg_id=True)
    third = chat.post("x", client_msg_id="6f-1")

    assert first != second
    assert second == third


def test_reply_is_listed_in_its_thread_but_not_in_the_history(chat: ChatClient) -> None:
    root = chat.post("root")
    replies = [chat.post("one", thread_ts=root), chat.post("two", thread_ts=root)]
    thread = chat("conversations.replies", channel=GENERAL, ts=root)
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"][0]

    assert [root, *replies] == [message["ts"] for message in thread["messages"]]
    assert [root, "U05RELAYBOT"] == [thread["messages"][1][key] for key in ("thread_ts", "parent_user_id")]
    assert (root, 2, replies[1]) == (newest["ts"], newest["reply_count"], newest["latest_reply"])


def test_a_reply_to_a_reply_joins_the_same_thread(chat: ChatClient) -> None:
    root = chat.post("root")
    reply = chat.post("one", thread_ts=root)
    response = chat("chat.postMessage", channel=GENERAL, text="two", thread_ts=reply)

    assert root == response["message"]["thread_ts"]


def test_reply_to_a_reply_can_be_hidden_with_the_stray_knob(chat: ChatClient) -> None:
    chat.control("knobs", reply_to_reply="stray")
    root = chat("chat.postMessage", channel=GENERAL, text="root")["ts"]
    first = chat("chat.postMessage", channel=GENERAL, text="first", thread_ts=root)["ts"]
    stray = chat("chat.postMessage", channel=GENERAL, text="second", thread_ts=first)

    messages = chat("conversations.replies", channel=GENERAL, ts=root)["messages"]
    assert first == stray["message"]["thread_ts"]
    assert ["root", "first"] == [message["text"] for message in messages]


def test_broadcast_reply_is_also_in_the_history(chat: ChatClient) -> None:
    root = chat.post("root")
    reply = chat.post("all", thread_ts=root, reply_broadcast="true")
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"][0]

    assert (reply, "thread_broadcast") == (newest["ts"], newest["subtype"])


def test_message_with_a_numeric_thread_ts_is_lost(chat: ChatClient, clock: ManualClock) -> None:
    root = chat.post("root")
    lost = chat.send("chat.postMessage", json={"channel": GENERAL, "text": "lost", "thread_ts": float(root)}).json()
    thread = chat("conversations.replies", channel=GENERAL, ts=root)["messages"]
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"]

    assert lost["ok"]
    assert [[root], [root]] == [[message["ts"] for message in messages] for messages in (thread, newest)]


def test_permalinks_of_threaded_messages_name_the_thread(chat: ChatClient) -> None:
    alone, root = chat.post("alone"), chat.post("root")
    reply = chat.post("reply", thread_ts=root)
    links = [
        chat("chat.getPermalink", channel=GENERAL, message_ts=ts)["permalink"].partition(f"{GENERAL}/")[2]
        for ts in (alone, root, reply)
    ]

    thread = f"?thread_ts={root}&cid={GENERAL}"
    assert [f"p{alone}", f"p{root}{thread}", f"p{reply}{thread}"] == [f"{link[:11]}.{link[11:]}" for link in links]


@pytest.mark.parametrize(("channel", "error"), [("C04FOREIGN1", "channel_not_found"), (GENERAL, "message_not_found")])
def test_permalinks_of_unknown_messages_are_rejected(chat: ChatClient, channel: str, error: str) -> None:
    assert error == chat("chat.getPermalink", channel=channel, message_ts="1700000000.000001")["error"]


def test_edit_records_its_user_and_time(chat: ChatClient, clock: ManualClock) -> None:
    ts = chat.post("before", blocks='[{"type": "divider"}]', attachments='[{"text": "kept"}]')
    clock.at += 54.5
    response = chat("chat.update", channel=GENERAL, ts=ts, text="after")

    assert {"user": "U05RELAYBOT", "ts": "1790000054.000000"} == response["message"]["edited"]
    assert ("after", "after", False) == (response["text"], response["message"]["text"], "blocks" in response["message"])
    assert [{"id": 1, "text": "kept"}] == response["message"]["attachments"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"ts": "1759000200.000200"}, "cant_update_message"),
        ({"ts": "1700000000.000001"}, "message_not_found"),
        ({"text": "x" * 4_001}, "msg_too_long"),
        ({"text": "x" * 3_996 + "&"}, "msg_too_long"),
        ({"text": ""}, "no_text"),
        ({"channel": "general"}, "channel_not_found"),
        ({"channel": "U04NW000002"}, "channel_not_found"),
    ],
)
def test_invalid_edits_are_rejected(chat: ChatClient, arguments: dict[str, str], error: str) -> None:
    params = {"channel": GENERAL, "ts": "1759000100.000100", "text": "x"} | arguments

    assert error == chat("chat.update", **params)["error"]


def test_edits_in_archived_channels_or_after_the_edit_window_are_rejected(chat: ChatClient, clock: ManualClock) -> None:
    ts = chat.post("x")
    chat.control("knobs", edit_window_seconds=60)
    clock.at += 61
    late = chat("chat.update", channel=GENERAL, ts=ts, text="y")
    chat.perform("archive", channel_id=GENERAL)
    archived = chat("chat.update", channel=GENERAL, ts=ts, text="y")

    assert ["edit_window_closed", "is_inactive"] == [late["error"], archived["error"]]


def test_bot_can_delete_its_own_messages(chat: ChatClient) -> None:
    alone, root = chat.post("alone"), chat.post("root")
    chat.post("reply", thread_ts=root)
    responses = [chat("chat.delete", channel=GENERAL, ts=ts) for ts in (alone, root, "1759000200.000200", alone)]
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"][0]

    assert [{"ok": True, "channel": GENERAL, "ts": alone}, True] == [responses[0], responses[1]["ok"]]
    assert ["cant_delete_message", "message_not_found"] == [response["error"] for response in responses[2:]]
    assert (root, "tombstone") == (newest["ts"], newest["subtype"])
