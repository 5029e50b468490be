"""Messages: their stored and public forms."""

from datetime import UTC, datetime, timedelta
from typing import Any

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.models import EditedMessage, PostedMessage

StoredData = dict[str, Any]
"""A plan or the result of a step, as JSON in our own format. It is stored until the call has ended."""


def stored_post(channel_id: str, message: vendor_models.Message) -> StoredData:
    """Return the stored form of a posted message."""
    return {"channel_id": channel_id, "ts": message.ts, "thread_ts": message.thread_ts}


def posted_message(workspace: str, stored: StoredData) -> PostedMessage:
    """Return the result of a post. *workspace* is the workspace's URL."""
    return PostedMessage(
        message_ts=stored["ts"],
        channel_id=stored["channel_id"],
        permalink=permalink(workspace, stored["channel_id"], stored["ts"], stored["thread_ts"]),
        posted_at=parse_ts(stored["ts"]),
    )


def permalink(workspace: str, channel_id: str, ts: str, thread_ts: str | None) -> str:
    """Return a message's URL, with its thread. Source: docs.slack.dev/reference/methods/chat.getPermalink, 2026-11."""
    address = f"{workspace}archives/{channel_id}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel_id}" if thread_ts else address


def stored_edit(channel_id: str, ts: str, edited: vendor_models.Edit | None, now: float) -> StoredData:
    """Return the stored form of an edited message. *now* is used if the vendor sends no edit time."""
    return {"channel_id": channel_id, "ts": ts, "edited_ts": edited.ts if edited else message_ts(now)}


def edited_message(stored: StoredData) -> EditedMessage:
    """Return the result of an edit."""
    return EditedMessage(
        message_ts=stored["ts"], channel_id=stored["channel_id"], edited_at=parse_ts(stored["edited_ts"])
    )


def public_message(stored: StoredData) -> StoredData:
    """Return the part of a message that is included in the error when a later step fails."""
    return {"channel_id": stored["channel_id"], "message_ts": stored["ts"]}


def message_ts(seconds: float) -> str:
    """Return the identifier of a message at that time. Identifiers sort as text."""
    return f"{seconds:017.6f}"


def parse_ts(ts: str) -> datetime:
    """Return the time of a message's identifier, to the microsecond."""
    seconds, _, micros = ts.partition(".")
    return datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(micros or 0))
