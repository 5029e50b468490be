"""Checks of the facts of ``connectors/chat/facts.toml``."""

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from connector_gateway.verify.account_under_test import (
    FAILED,
    TEXT,
    Account,
    NotCheckable,
    UnsuitablePlace,
    VendorReply,
)
from connector_gateway.verify.checks import Checks, expect

LONGEST_EDIT = 4_000
"""The length limit of an edit, in stored characters."""

ESCAPED = f"{TEXT}: 1 < 2 & 3"
LOST = f"{TEXT}: lost response"
NO_SUCH_TS = "1000000000.000000"

FAILURES = {"internal_error", "fatal_error", "service_unavailable"}
"""Error codes of failures of the vendor, which also have status 200."""


async def open_place(account: Account) -> None:
    """Check that the place is a channel without messages, except those about the channel."""
    info = await get(account, "conversations.info", channel=account.place)
    if not (info.body["ok"] and info.body["channel"].get("is_member")) or info.body["channel"]["is_archived"]:
        raise UnsuitablePlace("It is not an active channel that the app is in.")
    history = (await get(account, "conversations.history", channel=account.place, limit=100)).body
    if history["has_more"] or not all(one.get("subtype", "").startswith("channel_") for one in history["messages"]):
        raise UnsuitablePlace("The channel has messages.")


CHECKS = Checks(open_place, "the ID of a channel without messages that the app is in")


async def get(account: Account, method: str, **arguments: Any) -> VendorReply:
    """Call a method that changes nothing."""
    return _check_served(await account.request("GET", f"/api/{method}", query=arguments))


async def post(account: Account, method: str, **arguments: Any) -> VendorReply:
    """Call a method in the place."""
    body = {"channel": account.place, **arguments}
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return _check_served(await account.request("POST", f"/api/{method}", body, headers=headers))


def _check_served(reply: VendorReply) -> VendorReply:
    """Return *reply*, unless the vendor failed."""
    if reply.body.get("error") in FAILURES:
        raise NotCheckable(FAILED)
    return reply


def failed_with(reply: VendorReply) -> tuple[int, Any]:
    """Return the status and the error code of a response."""
    return reply.status, reply.body.get("error", "no error")


# What several checks read or create


async def me(account: Account) -> VendorReply:
    """Return the identity of the connection."""
    return await get(account, "auth.test")


async def channels(account: Account) -> Any:
    """Return the first page of public channels."""
    query = {"types": "public_channel", "exclude_archived": True, "limit": 200}
    return (await get(account, "conversations.list", **query)).body


async def delete(account: Account, ts: str) -> VendorReply:
    """Delete a message in the place."""
    reply = await post(account, "chat.delete", ts=ts)
    if not reply.body["ok"]:
        raise NotCheckable("The message cannot be deleted.")
    return reply


async def create(account: Account, **arguments: Any) -> Any:
    """Post a message through the operation."""
    make = account.call("post_message", channel=account.place, **arguments)
    return await account.create("message", make, lambda one: str(one["message_ts"]), partial(delete, account))


async def post_message(account: Account, **arguments: Any) -> VendorReply:
    """Send a post that the vendor should reject. If it does not, the message is deleted afterwards."""
    make = post(account, "chat.postMessage", **arguments)
    return await account.create("message", make, lambda one: str(one.body.get("ts", "")), partial(delete, account))


async def read(account: Account, ts: str) -> Any:
    """Return a message in the place with its metadata."""
    period = {"oldest": ts, "latest": ts, "inclusive": True, "include_all_metadata": True, "limit": 1}
    return (await get(account, "conversations.history", channel=account.place, **period)).body["messages"][0]


async def own_post(account: Account) -> Any:
    """Post the first message of a thread."""
    return await create(account, text=ESCAPED)


async def own_ts(account: Account) -> str:
    """Return the identifier of the first message of the thread."""
    ts: str = (await account.once(own_post))["message_ts"]
    return ts


async def own_message(account: Account) -> Any:
    """Return the first message of the thread as the vendor does, before it is edited."""
    return await read(account, await own_ts(account))


async def own_reply(account: Account) -> Any:
    """Post a reply."""
    return await create(account, text=TEXT, thread_ts=await own_ts(account))


async def history(account: Account) -> list[Any]:
    """Return the messages in the place after one thread with a reply, and a second message."""
    await account.once(own_reply)
    await account.once(long_messages)
    return await messages(account)


async def messages(account: Account) -> list[Any]:
    """Return the messages in the place."""
    reply = await get(account, "conversations.history", channel=account.place, limit=100)
    found: list[Any] = reply.body["messages"]
    return found


async def thread(account: Account) -> list[str]:
    """Return the identifiers of the messages in the thread."""
    await account.once(own_reply)
    reply = await get(account, "conversations.replies", channel=account.place, ts=await own_ts(account))
    return [one["ts"] for one in reply.body["messages"]]


async def edited_message(account: Account) -> Any:
    """Edit the first message of the thread through the operation, and return it."""
    await account.once(own_message)
    ts = await own_ts(account)
    await account.call("edit_message", channel=account.place, message_ts=ts, text=f"{TEXT}: edited")
    return await read(account, ts)


async def reacted_message(account: Account) -> Any:
    """React through the operation, and return the message."""
    await account.once(own_message)
    ts = await own_ts(account)
    await account.call("add_reaction", channel=account.place, message_ts=ts, emoji="eyes")
    return await read(account, ts)


async def long_messages(account: Account) -> list[Any]:
    """Post a long message, and return the messages that the vendor made of it."""
    await create(account, text="a" * 2 * LONGEST_EDIT)
    return await _created_with(account, lambda text: set(text) == {"a"})


async def lost_messages(account: Account) -> list[Any]:
    """Post a message whose response is lost, and return all messages with its text."""
    make = account.call_losing_response("post_message", channel=account.place, text=LOST)
    remove = partial(delete, account)
    await account.create("message", make, lambda one: str(one["message_ts"]), remove)
    return await _created_with(account, LOST.__eq__)


async def _created_with(account: Account, is_ours: Callable[[str], bool]) -> list[Any]:
    """Return the messages with a text that one post created. All are deleted afterwards."""
    found = [one for one in await messages(account) if is_ours(one["text"])]
    for one in found:
        account.adopt("message", one["ts"], partial(delete, account))
    return found


# Reads


@CHECKS.reads
async def _errors_with_status_200(account: Account) -> None:
    reply = await get(account, "conversations.info", channel="C0000000000")
    expect((200, "channel_not_found"), failed_with(reply))


@CHECKS.reads
async def _unknown_method(account: Account) -> None:
    expect((200, "unknown_method"), failed_with(await get(account, "no.such.info")))


@CHECKS.reads
async def _own_identity(account: Account) -> None:
    await account.call("read_events", limit=1)
    names = {"bot_id", "team_id", "url", "user_id"}
    expect(names, names & set((await account.once(me)).body))


@CHECKS.reads
async def _scopes_in_header(account: Account) -> None:
    expect(True, "x-oauth-scopes" in (await account.once(me)).headers)


@CHECKS.reads
async def _invalid_cursor(account: Account) -> None:
    expect((200, "invalid_cursor"), failed_with(await get(account, "conversations.list", cursor="invalid")))


@CHECKS.reads
async def _pages_below_1000(account: Account) -> None:
    expect((200, "invalid_limit"), failed_with(await get(account, "conversations.list", limit=1000)))


@CHECKS.reads
async def _cursor_of_lists(account: Account) -> None:
    page = await account.once(channels)
    expect(True, isinstance(page["response_metadata"].get("next_cursor"), str))


@CHECKS.reads
async def _counts_in_list(account: Account) -> None:
    await account.call("list_channels", limit=1)
    own = (await get(account, "users.conversations", types="public_channel", limit=1)).body["channels"]
    names = {"is_member", "num_members"}
    expect((names, set()), (names & _names(await account.once(channels)), names & set(own[0] if own else ())))


def _names(page: Any) -> set[str]:
    """Return the fields of the first channel of a page."""
    if not page["channels"]:
        raise NotCheckable("The first page has no public channel.")
    return set(page["channels"][0])


@CHECKS.reads
async def _archived_excluded(account: Account) -> None:
    expect(False, any(one["is_archived"] for one in (await account.once(channels))["channels"]))


@CHECKS.reads
async def _ims_without_name(account: Account) -> None:
    reply = await get(account, "users.conversations", types="im", limit=200)
    if not reply.body["channels"]:
        raise NotCheckable("The app has no conversation with a person.")
    expect({"user"}, {"name", "user"} & set(reply.body["channels"][0]))


@CHECKS.reads
async def _public_is_not_in_channel(account: Account) -> None:
    others = [one["id"] for one in (await account.once(channels))["channels"] if not one.get("is_member")]
    if not others:
        raise NotCheckable("The app is in every public channel of the first page.")
    expect((200, "not_in_channel"), failed_with(await get(account, "conversations.history", channel=others[0])))


# Writes


@CHECKS.writes
async def _bot_is_author(account: Account) -> None:
    message, identity = await account.once(own_message), (await account.once(me)).body
    expect((True, True), (message.get("user") == identity["user_id"], "bot_id" in message))


@CHECKS.writes
async def _text_is_escaped(account: Account) -> None:
    text = (await account.once(own_message))["text"]
    expect(True, text == ESCAPED.replace("&", "&amp;").replace("<", "&lt;"))


@CHECKS.writes
async def _times_as_ids(account: Account) -> None:
    ts = (await account.once(own_message))["ts"]
    date = (await account.once(me)).headers["date"]
    expect(True, re.fullmatch(r"\d{10}\.\d{6}", ts) is not None)
    expect(True, abs(parsedate_to_datetime(date).timestamp() - float(ts)) < 600)


@CHECKS.writes
async def _stored_metadata(account: Account) -> None:
    metadata = (await account.once(own_message)).get("metadata", {})
    expect(("gateway_post", True), (metadata.get("event_type", "no type"), "k" in metadata.get("event_payload", {})))


@CHECKS.writes
async def _permalinks_from_url(account: Account) -> None:
    created = await account.once(own_post)
    reply = await get(account, "chat.getPermalink", channel=account.place, message_ts=created["message_ts"])
    # A message that has replies may be shown in its thread.
    expect(True, reply.body["permalink"].partition("?")[0] == created["permalink"])


@CHECKS.writes
async def _permalinks_of_replies(account: Account) -> None:
    created = await account.once(own_reply)
    reply = await get(account, "chat.getPermalink", channel=account.place, message_ts=created["message_ts"])
    expect(True, reply.body["permalink"] == created["permalink"])


@CHECKS.writes
async def _edited_in_seconds(account: Account) -> None:
    expect(".000000", (await account.once(edited_message))["edited"]["ts"][-7:])


@CHECKS.writes
async def _metadata_after_edits(account: Account) -> None:
    metadata = (await account.once(edited_message)).get("metadata", {})
    expect("gateway_post", metadata.get("event_type", "no type"))


@CHECKS.writes
async def _edits_of_4000(account: Account) -> None:
    ts = await own_ts(account)
    for text in ("a" * (LONGEST_EDIT + 1), "&" * (LONGEST_EDIT // 4)):
        expect((200, "msg_too_long"), failed_with(await post(account, "chat.update", ts=ts, text=text)))


@CHECKS.writes
async def _already_reacted(account: Account) -> None:
    await account.once(reacted_message)
    reply = await post(account, "reactions.add", timestamp=await own_ts(account), name="eyes")
    expect((200, "already_reacted"), failed_with(reply))


@CHECKS.writes
async def _users_of_reactions(account: Account) -> None:
    reactions = (await account.once(reacted_message))["reactions"]
    identity = (await account.once(me)).body
    expect([("eyes", True)], [(one["name"], identity["user_id"] in one["users"]) for one in reactions])


@CHECKS.writes
async def _unknown_emoji(account: Account) -> None:
    reply = await post(account, "reactions.add", timestamp=await own_ts(account), name="no_such_emoji_anywhere")
    expect((200, "invalid_name"), failed_with(reply))


@CHECKS.writes
async def _unknown_message(account: Account) -> None:
    expect((200, "message_not_found"), failed_with(await post(account, "chat.update", ts=NO_SUCH_TS, text=TEXT)))


@CHECKS.writes
async def _missing_thread(account: Account) -> None:
    reply = await post_message(account, text=TEXT, thread_ts=NO_SUCH_TS)
    expect((200, "thread_not_found"), failed_with(reply))


@CHECKS.writes
async def _malformed_thread(account: Account) -> None:
    reply = await post_message(account, text=TEXT, thread_ts="yesterday")
    expect((200, "invalid_thread_ts"), failed_with(reply))


@CHECKS.writes
async def _text_required(account: Account) -> None:
    expect((200, "no_text"), failed_with(await post_message(account, text="")))


@CHECKS.writes
async def _long_posts_whole(account: Account) -> None:
    expect([2 * LONGEST_EDIT], [len(one["text"]) for one in await account.once(long_messages)])


@CHECKS.writes
async def _newest_message_first(account: Account) -> None:
    times = [one["ts"] for one in await account.once(history)]
    expect(True, times == sorted(times, reverse=True))


@CHECKS.writes
async def _oldest_is_excluded(account: Account) -> None:
    ts = await own_ts(account)
    reply = await get(account, "conversations.history", channel=account.place, oldest=ts)
    expect(False, ts in [one["ts"] for one in reply.body["messages"]])


@CHECKS.writes
async def _replies_not_in_history(account: Account) -> None:
    reply = await account.once(own_reply)
    expect(False, reply["message_ts"] in [one["ts"] for one in await account.once(history)])


@CHECKS.writes
async def _thread_begins_with_root(account: Account) -> None:
    reply = await account.once(own_reply)
    expect(True, await account.once(thread) == [await own_ts(account), reply["message_ts"]])


@CHECKS.writes
async def _reply_alone(account: Account) -> None:
    ts = (await account.once(own_reply))["message_ts"]
    reply = await get(account, "conversations.replies", channel=account.place, ts=ts)
    expect(True, [one["ts"] for one in reply.body["messages"]] == [ts])


@CHECKS.writes
async def _scheduled_within_120_days(account: Account) -> None:
    date = parsedate_to_datetime((await account.once(me)).headers["date"]).timestamp()

    async def schedule() -> VendorReply:
        return await post(account, "chat.scheduleMessage", post_at=int(date) + 121 * 24 * 60 * 60, text=TEXT)

    remove = partial(post, account, "chat.deleteScheduledMessage")
    reply = await account.create(
        "scheduled message",
        schedule(),
        lambda one: str(one.body.get("scheduled_message_id", "")),
        lambda uid: remove(scheduled_message_id=uid),
    )
    expect((200, "time_too_far"), failed_with(reply))


@CHECKS.writes
async def _lost_post_is_found(account: Account) -> None:
    expect(1, len(await account.once(lost_messages)))
