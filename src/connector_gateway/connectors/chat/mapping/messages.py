"""Messages: as they are kept, and as callers are told of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.models import EditedMessage, PostedMessage

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""


def kept_post(channel_id: str, message: wire.Message) -> Kept:
    """What is kept of a message that was posted."""
    return {"channel_id": channel_id, "ts": message.ts, "thread_ts": message.thread_ts}


def posted_message(workspace: str, kept: Kept) -> PostedMessage:
    """The result of a post; *workspace* is the address under which people open it."""
    return PostedMessage(
        message_ts=kept["ts"],
        channel_id=kept["channel_id"],
        permalink=permalink(workspace, kept["channel_id"], kept["ts"], kept["thread_ts"]),
        posted_at=instant(kept["ts"]),
    )


def permalink(workspace: str, channel_id: str, ts: str, thread_ts: str | None) -> str:
    """A message's address, with its thread. Source: docs.slack.dev/reference/methods/chat.getPermalink, 2026-11."""
    address = f"{workspace}archives/{channel_id}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel_id}" if thread_ts else address


def kept_edit(channel_id: str, ts: str, edited: wire.Edit | None, now: float) -> Kept:
    """What is kept of a message that was edited, *now* where the vendor does not say when."""
    return {"channel_id": channel_id, "ts": ts, "edited_ts": edited.ts if edited else message_ts(now)}


def edited_message(kept: Kept) -> EditedMessage:
    """The result of an edit."""
    return EditedMessage(message_ts=kept["ts"], channel_id=kept["channel_id"], edited_at=instant(kept["edited_ts"]))


def told_message(kept: Kept) -> Kept:
    """What callers are told of a message when something else fails."""
    return {"channel_id": kept["channel_id"], "message_ts": kept["ts"]}


def message_ts(seconds: float) -> str:
    """The identifier that a message of that instant has; they sort as text."""
    return f"{seconds:017.6f}"


def instant(ts: str) -> datetime:
    """The instant that a message's identifier names, to the microsecond."""
    seconds, _, micros = ts.partition(".")
    return datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(micros or 0))
