"""Between the vendor's JSON and our shapes: pure functions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from unicodedata import normalize

from connector_gateway.connectors.chat.models import AddedReaction, Channel, EditedMessage, PostedMessage
from connector_gateway.kit.errors import AmbiguousChannel, ChannelNotFound

Raw = Mapping[str, Any]
Names = Mapping[str, Sequence[str]]
"""Identifiers of channels by their name."""

CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{6,}")
USER_ID = re.compile(r"[UW][A-Z0-9]{6,}")
"""Identifiers are upper case and channel names are not, so that one is never taken for the other."""

TYPES = {"public": "public_channel", "private": "private_channel", "im": "im"}
POST_ANYWHERE = "chat:write.public"
"""The permission to post into public channels without being in them."""

ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


# Naming channels


def is_channel_id(named: str) -> bool:
    """Whether *named* is the identifier of a channel."""
    return CHANNEL_ID.fullmatch(named) is not None


def is_user_id(named: str) -> bool:
    """Whether *named* is the identifier of a person."""
    return USER_ID.fullmatch(named) is not None


def names(channels: Iterable[Raw]) -> Names:
    """The channels that each name stands for; archived ones only where no other has the name."""
    current: dict[str, dict[str, None]] = {}
    archived: dict[str, dict[str, None]] = {}
    for raw in channels:
        found = archived if raw.get("is_archived") else current
        found.setdefault(_folded(raw["name"]), {})[raw["id"]] = None
    return {name: list(ids) for name, ids in (archived | current).items()}


def named(known: Names, name: str) -> str:
    """The one channel of that name, with or without ``#``; ``ChannelNotFound`` or ``AmbiguousChannel`` otherwise."""
    ids = known.get(_folded(name.removeprefix("#")), [])
    if not ids:
        raise ChannelNotFound(
            f"No channel that this connection can see is called {name!r}.", {"parameter": "channel", "value": name}
        )
    if len(ids) > 1:
        raise AmbiguousChannel(
            f"{len(ids)} channels are called {name!r}.",
            *({"parameter": "channel", "value": name, "channel_id": channel_id} for channel_id in ids),
        )
    return ids[0]


def _folded(name: str) -> str:
    return normalize("NFC", name).lower()


# Channels


def vendor_types(types: str) -> str:
    """The vendor's form of a list of types."""
    return ",".join(dict.fromkeys(TYPES[word.strip()] for word in types.split(",")))


def channels(raws: Iterable[Raw], scopes: Collection[str]) -> list[Channel]:
    """Those of *raws* that an app of these *scopes* can post into."""
    return [channel(raw) for raw in raws if _open_to_posts(raw, everywhere=POST_ANYWHERE in scopes)]


def channel(raw: Raw) -> Channel:
    """A channel; the vendor gives a conversation with one person neither a name nor a count."""
    if raw.get("is_im"):
        return Channel(channel_id=raw["id"], name=raw["user"], is_private=True, member_count=2)
    return Channel(
        channel_id=raw["id"],
        name=raw["name"],
        is_private=raw["is_private"],
        member_count=raw.get("num_members", 0),
    )


def _open_to_posts(raw: Raw, *, everywhere: bool) -> bool:
    if raw.get("is_archived"):
        return False
    if raw.get("is_im"):
        return not raw.get("is_user_deleted")
    return bool(raw.get("is_member") or (everywhere and not raw["is_private"]))


# Messages


def posted_message(workspace: str, channel_id: str, raw: Raw) -> PostedMessage:
    """The result of a post; *workspace* is the address under which people open it."""
    return PostedMessage(
        message_ts=raw["ts"],
        channel_id=channel_id,
        permalink=permalink(workspace, channel_id, raw["ts"], raw.get("thread_ts")),
        posted_at=instant(raw["ts"]),
    )


def permalink(workspace: str, channel_id: str, ts: str, thread_ts: str | None) -> str:
    """A message's address; of one in a thread, the thread is part of it.

    Source: docs.slack.dev/reference/methods/chat.getPermalink, read 2026-11.
    """
    address = f"{workspace}archives/{channel_id}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel_id}" if thread_ts else address


def edited_message(channel_id: str, raw: Raw, now: datetime) -> EditedMessage:
    """The result of an edit, which happened *now* where the vendor does not say when."""
    edited = raw.get("edited")
    return EditedMessage(
        message_ts=raw["ts"], channel_id=channel_id, edited_at=instant(edited["ts"]) if edited else now
    )


def added_reaction(message_ts: str, name: str, *, already_present: bool) -> AddedReaction:
    """The result of a reaction."""
    return AddedReaction(message_ts=message_ts, emoji=name, already_present=already_present)


def emoji_name(emoji: str) -> str:
    """The vendor's form of an emoji's name: without the colons around it."""
    return emoji.strip(":")


def instant(ts: str) -> datetime:
    """The instant that a message's identifier names, to the microsecond."""
    seconds, _, micros = ts.partition(".")
    return datetime.fromtimestamp(int(seconds), UTC) + timedelta(microseconds=int(micros or 0))


# Recognising what a write has made


def bears(raw: Raw, event_type: str, marker: str) -> bool:
    """Whether a message was posted with that marker."""
    metadata = raw.get("metadata") or {}
    return bool(metadata.get("event_type") == event_type and (metadata.get("event_payload") or {}).get("k") == marker)


def says(raw: Raw, text: str) -> bool:
    """Whether a message's body is *text*, as far as the vendor's own escaping and linking lets that be told."""
    return _plain(raw.get("text") or "") == _plain(text)


def _plain(text: str) -> str:
    """*text* without what the vendor changes about it: three entities, and the brackets it puts around addresses."""
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    return text.replace("<", "").replace(">", "").strip()
