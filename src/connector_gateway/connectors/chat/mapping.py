"""Between the vendor's shapes and ours: pure functions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from unicodedata import category, combining, normalize

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.models import AddedReaction, Channel, EditedMessage, PostedMessage
from connector_gateway.kit.errors import AmbiguousChannel, ChannelListTooLong, ChannelNotFound
from connector_gateway.kit.observing import Observation, State

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""

CHANNEL_ID = re.compile(r"[CGD](?=[A-Z0-9]*[0-9])[A-Z0-9]{6,}")
USER_ID = re.compile(r"[UW](?=[A-Z0-9]*[0-9])[A-Z0-9]{6,}")
"""Identifiers are upper case and have digits, but for a few."""

LETTERS = re.compile(r"[CGDUW][A-Z]{6,}")
"""A text that may be an identifier without digits, or a channel's name written in capitals."""

TYPES = {"public": "public_channel", "private": "private_channel", "im": "im"}
POST_ANYWHERE = "chat:write.public"
"""The permission to post into public channels without being in them."""

SCOPES = {"public_channel": "channels", "private_channel": "groups", "im": "im", "mpim": "mpim"}
"""What the permissions for a type of conversation begin with."""

ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
MARKUP = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
"""What the vendor writes for links, mentions and channels, with or without the words that readers see."""

CALLS = frozenset({"!channel", "!everyone", "!here"})

SPOKEN = frozenset({None, "bot_message", "file_share", "me_message", "thread_broadcast"})
"""Subtypes of messages that somebody wrote; all others tell of what happened to a message or a channel."""

MAX_ALLOWED = 100
"""Channels that are listed to somebody who named one that does not exist; of more, none would be found in the list."""

EDGE = "\0"
MAX_MARKS = 30
"""Combining marks in a row that count; normalising takes ever longer with more.

Source: Unicode Standard Annex 15, Stream-Safe Text Format.
"""

UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1100, 0x1200),  # Hangul
    range(0x1780, 0x1800),  # Khmer
    range(0x1950, 0x1AB0),  # Tai Le to Tai Tham
    range(0x1B00, 0x1B80),  # Balinese
    range(0x3000, 0xA4D0),  # kana, Bopomofo, Han, Yi
    range(0xA960, 0xA9E0),  # Hangul, Javanese
    range(0xA9E0, 0xAA00),  # Myanmar
    range(0xAA60, 0xAAE0),  # Myanmar, Tai Viet
    range(0xAC00, 0xD800),  # Hangul
    range(0xF900, 0xFB00),  # Han
    range(0x1AFF0, 0x1B170),  # kana
    range(0x20000, 0x323B0),  # Han
)
"""Scripts in which words stand side by side, or have particles attached."""


# Naming channels


def is_channel_id(named: str) -> bool:
    """Whether *named* is surely the identifier of a channel."""
    return CHANNEL_ID.fullmatch(named) is not None


def is_user_id(named: str) -> bool:
    """Whether *named* is surely the identifier of a person."""
    return USER_ID.fullmatch(named) is not None


@dataclass(frozen=True, slots=True)
class Names:
    """The channels that each name stands for, among those that were read."""

    ids: Mapping[str, Sequence[str]]
    complete: bool
    """Whether these are all channels; otherwise a name that is missing here may still exist."""


def names(channels: Iterable[wire.Conversation], *, complete: bool = True) -> Names:
    """The channels that each name stands for; archived ones only where no other has the name."""
    current: dict[str, dict[str, None]] = {}
    archived: dict[str, dict[str, None]] = {}
    for channel in channels:
        found = archived if channel.is_archived else current
        found.setdefault(_folded(channel.name or ""), {})[channel.id] = None
    return Names({name: list(ids) for name, ids in (archived | current).items()}, complete)


def named(known: Names, name: str) -> str:
    """The one channel of that name, with or without ``#``; *name* itself if it may be an identifier and no name.

    Otherwise ``AmbiguousChannel``, ``ChannelNotFound``, or ``ChannelListTooLong`` where not all channels are known.
    """
    ids = known.ids.get(_folded(name.removeprefix("#")), [])
    if not ids and LETTERS.fullmatch(name):
        return name
    if not ids and not known.complete:
        raise ChannelListTooLong(
            f"No channel called '{name}' is among the first that the application lists, and there are more.",
            {"parameter": "channel", "value": name},
        )
    if not ids:
        allowed = [channel for channel in known.ids if channel]
        raise ChannelNotFound(
            f"No channel that this connection can see is called '{name}'.",
            {"parameter": "channel", "value": name} | ({"allowed": allowed} if 0 < len(allowed) <= MAX_ALLOWED else {}),
        )
    if len(ids) > 1:
        raise AmbiguousChannel(
            f"{len(ids)} channels are called '{name}'.",
            *({"parameter": "channel", "value": name, "channel_id": channel_id} for channel_id in ids),
        )
    return ids[0]


def is_person(found: str) -> bool:
    """Whether what a name was found to mean is a person, rather than a channel."""
    return found.startswith(("U", "W"))


def _folded(name: str) -> str:
    return normalize("NFC", name).lower()


# Channels


def vendor_types(types: str) -> str:
    """The vendor's form of a list of types."""
    return ",".join(dict.fromkeys(TYPES[word.strip()] for word in types.split(",")))


def channels(seen: Iterable[wire.Conversation], scopes: Collection[str]) -> list[Channel]:
    """Those of the conversations *seen* that an app of these *scopes* can post into."""
    return [channel(one) for one in seen if _open_to_posts(one, everywhere=POST_ANYWHERE in scopes)]


def channel(seen: wire.Conversation) -> Channel:
    """A channel; the vendor gives a conversation with one person neither a name nor a count."""
    if seen.is_im:
        return Channel(channel_id=seen.id, name=seen.user or "", is_private=True, member_count=2)
    return Channel(
        channel_id=seen.id, name=seen.name or "", is_private=bool(seen.is_private), member_count=seen.num_members or 0
    )


def _open_to_posts(seen: wire.Conversation, *, everywhere: bool) -> bool:
    if seen.is_archived:
        return False
    if seen.is_im:
        return not seen.is_user_deleted
    return seen.is_member or (everywhere and not seen.is_private)


# Messages


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
    """A message's address; of one in a thread, the thread is part of it.

    Source: docs.slack.dev/reference/methods/chat.getPermalink, read 2026-11.
    """
    address = f"{workspace}archives/{channel_id}/p{ts.replace('.', '')}"
    return f"{address}?thread_ts={thread_ts}&cid={channel_id}" if thread_ts else address


def kept_edit(channel_id: str, ts: str, edited: wire.Edit | None, now: float) -> Kept:
    """What is kept of a message that was edited, *now* where the vendor does not say when."""
    return {"channel_id": channel_id, "ts": ts, "edited_ts": edited.ts if edited else message_ts(now)}


def edited_message(kept: Kept) -> EditedMessage:
    """The result of an edit."""
    return EditedMessage(message_ts=kept["ts"], channel_id=kept["channel_id"], edited_at=instant(kept["edited_ts"]))


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


# Observing messages


def readable_types(scopes: Collection[str]) -> str:
    """The types of conversations that an app of these *scopes* may list and read; empty if there are none."""
    return ",".join(
        kind for kind, family in SCOPES.items() if f"{family}:read" in scopes and f"{family}:history" in scopes
    )


def is_watched(channel_id: str, settings: Mapping[str, Any], state: State) -> bool:
    """Whether a connection watches that channel: all unless its settings name some, by identifier or otherwise."""
    channels = settings.get("channels")
    names = state["names"]
    return not channels or channel_id in channels or any(names.get(named) == channel_id for named in channels)


def observed(message: wire.Said, channel_id: str, settings: Mapping[str, Any], state: State) -> list[Observation]:
    """The observations that a message gives a connection: one, or one for each keyword in it if it has keywords."""
    text = message.text
    if text is None or not _is_inbound(message, state):
        return []
    keywords = settings.get("keywords")
    found: Sequence[str | None] = matching(text, keywords) if keywords else [None]
    return [_observation(message, text, channel_id, state, keyword) for keyword in found]


def _is_inbound(message: wire.Said, state: State) -> bool:
    """Whether somebody wrote that message, and not the app itself."""
    if message.subtype not in SPOKEN or message.hidden:
        return False
    is_ours = message.user == state["user_id"] or (message.bot_id is not None and message.bot_id == state["bot_id"])
    return not is_ours


def _observation(message: wire.Said, text: str, channel_id: str, state: State, keyword: str | None) -> Observation:
    return Observation(
        identity=(state["team_id"], channel_id, message.ts, _folded_text(keyword or "")),
        type="message.keyword" if keyword else "message.posted",
        data={
            "channel_id": channel_id,
            "author": message.user or message.bot_id or "",
            "text": text,
            "matched_keyword": keyword,
        },
        channel=channel_id,
    )


def threads(messages: Iterable[wire.Message], after: str) -> list[str]:
    """Those of *messages* that were replied to after an instant."""
    return [message.ts for message in messages if message.reply_count and (message.latest_reply or after) >= after]


def message_ts(seconds: float) -> str:
    """The identifier that a message of that instant has; they sort as text."""
    return f"{seconds:017.6f}"


# Keywords


def matching(text: str, keywords: Iterable[str]) -> list[str]:
    """The *keywords* that *text* contains as whole words, whatever their case, each once."""
    wanted: dict[str, str] = {}
    for keyword in keywords:
        wanted.setdefault(_within_edges(_folded_text(keyword)), keyword)
    found = _within_edges(_folded_text(shown(text)))
    return [keyword for words, keyword in wanted.items() if words.strip(EDGE) and words in found]


def shown(text: str) -> str:
    """*text* as a reader sees it."""
    return _unescaped(MARKUP.sub(_label, text))


def _label(markup: re.Match[str]) -> str:
    target, label = markup[1], markup[2]
    if target in CALLS:
        return f"@{target[1:]}"
    sigil = target[0] if target[0] in "@#" else ""
    if label:
        return sigil + label
    return markup[0] if sigil or target[0] == "!" else target


def _unescaped(text: str) -> str:
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    return text


def _folded_text(text: str) -> str:
    """*text* normalised for comparison: case, width, composition and kinds of white space make no difference."""
    text = normalize("NFKC", _with_few_marks(" ".join(text.split())))
    return normalize("NFKC", text.casefold()).replace("i\u0307", "i")


def _with_few_marks(text: str) -> str:
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if combining(character) else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def _within_edges(text: str) -> str:
    """*text* with a mark at every place where a word may begin or end.

    A word of *text* then stands between marks, so that a plain search finds it.
    """
    marked = text.translate(_EDGES)
    return f"{'' if marked.startswith(EDGE) else EDGE}{marked}{'' if marked.endswith(EDGE) else EDGE}"


@lru_cache(maxsize=20_000)
def _edged(code: int) -> str:
    """A character with an edge on either side, unless it is one that words are written together with."""
    character = chr(code)
    kind = category(character)
    if kind == "Cf" or 0xFE00 <= code <= 0xFE0F:
        return ""
    if kind[0] in "LMN" and not any(code in block for block in UNSPACED):
        return character
    return f"{EDGE}{character}{EDGE}"


class _Edges:
    """The table by which ``str.translate`` puts the edges in."""

    def __getitem__(self, code: int) -> str:
        return _edged(code)


_EDGES = _Edges()


# Recognising what a write has made


def bears(message: wire.Message, event_type: str, marker: str) -> bool:
    """Whether a message was posted with that marker."""
    noted = message.metadata
    return noted is not None and noted.event_type == event_type and noted.event_payload.get("k") == marker


def has_reaction(message: wire.Message, name: str, user_id: str) -> bool:
    """Whether a message bears the reaction of that user; of many users the vendor shows some."""
    return any(shown.name == name and user_id in shown.users for shown in message.reactions)


def told_message(kept: Kept) -> Kept:
    """What callers are told of a message when something else fails."""
    return {"channel_id": kept["channel_id"], "message_ts": kept["ts"]}


def says(message: wire.Message, text: str) -> bool:
    """Whether a message's body is *text*, as far as the vendor's own escaping and linking lets that be told."""
    return _plain(message.text or "") == _plain(text)


def _plain(text: str) -> str:
    """*text* without what the vendor changes about it: three entities, and the brackets it puts around addresses."""
    return _unescaped(text).replace("<", "").replace(">", "").strip()
