"""Channels and conversations, by identifier and by name."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.models import Channel
from connector_gateway.kit.errors import AmbiguousChannel, ChannelListTooLong, ChannelNotFound
from connector_gateway.kit.errors.suggestions import nearest_first

CHANNEL_ID = re.compile(r"[CGD](?=[A-Z0-9]*[0-9])[A-Z0-9]{6,}")

USER_ID = re.compile(r"[UW](?=[A-Z0-9]*[0-9])[A-Z0-9]{6,}")
"""A user id. With few exceptions, identifiers are upper case and contain digits."""

LETTERS = re.compile(r"[CGDUW][A-Z]{6,}")
"""An identifier without digits, or a channel's name in capitals."""

TYPES = {"public": "public_channel", "private": "private_channel", "im": "im"}

POST_ANYWHERE = "chat:write.public"
"""The scope that allows posts to public channels without membership."""

SCOPES = {"public_channel": "channels", "private_channel": "groups", "im": "im", "mpim": "mpim"}
"""The prefix of the scopes for each type of conversation."""


def is_channel_id(text: str) -> bool:
    """Return True if *text* is certainly a channel's identifier."""
    return CHANNEL_ID.fullmatch(text) is not None


def is_user_id(text: str) -> bool:
    """Return True if *text* is certainly a person's identifier."""
    return USER_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Names:
    """The ids of the loaded channels by name."""

    ids: Mapping[str, Sequence[str]]
    complete: bool
    """Whether all channels were loaded. Otherwise an unknown name may still exist."""


def names(channels: Iterable[vendor_models.Conversation], *, complete: bool = True) -> Names:
    """Return the channels for each name. Archived ones count only if no other has the name."""
    current: dict[str, dict[str, None]] = {}
    archived: dict[str, dict[str, None]] = {}
    for channel in channels:
        target = archived if channel.is_archived else current
        target.setdefault(_folded(channel.name or ""), {})[channel.id] = None
    # The vendor allows the reuse of an archived channel's name.
    return Names({name: list(ids) for name, ids in (archived | current).items()}, complete)


def named(known: Names, name: str) -> str:
    """Return the channel of that name, with or without ``#``.

    Returns *name* itself if it can be an identifier and is not a name.
    Raises ``AmbiguousChannel``, ``ChannelNotFound``, or ``ChannelListTooLong`` if not all channels are known.
    """
    ids = known.ids.get(_folded(name.removeprefix("#")), [])
    if not ids and LETTERS.fullmatch(name):
        return name
    if not ids and not known.complete:
        raise ChannelListTooLong(
            f"No channel called '{name}' is among the channels read from the vendor's list, which has more.",
            {"parameter": "channel", "value": name},
        )
    if not ids:
        allowed = [channel for channel in known.ids if channel]
        detail = {"parameter": "channel", "value": name, "allowed": nearest_first(name.removeprefix("#"), allowed)}
        raise ChannelNotFound(f"No channel that this connection can see is called '{name}'.", detail)
    if len(ids) > 1:
        raise AmbiguousChannel(
            f"{len(ids)} channels are called '{name}'.",
            *({"parameter": "channel", "value": name, "channel_id": channel_id} for channel_id in ids),
        )
    return ids[0]


def is_person(identifier: str) -> bool:
    """Return True if the id of a name belongs to a person, not to a channel."""
    return identifier.startswith(("U", "W"))


def _folded(name: str) -> str:
    # A letter can have one or two characters, and the vendor returns it as typed.
    return normalize("NFC", name).lower()


def vendor_types(types: str) -> str:
    """Return the vendor's form of a list of types."""
    return ",".join(dict.fromkeys(TYPES[word.strip()] for word in types.split(",")))


def channels(conversations: Iterable[vendor_models.Conversation], scopes: Collection[str]) -> list[Channel]:
    """Return the conversations in *conversations* that an app with these *scopes* can post to."""
    return [channel(one) for one in conversations if _open_to_posts(one, everywhere=POST_ANYWHERE in scopes)]


def channel(conversation: vendor_models.Conversation) -> Channel:
    """Return a channel. The vendor sends neither name nor member count for a conversation with one person."""
    if conversation.is_im:
        return Channel(channel_id=conversation.id, name=conversation.user or "", is_private=True, member_count=2)
    return Channel(
        channel_id=conversation.id,
        name=conversation.name or "",
        is_private=bool(conversation.is_private),
        member_count=conversation.num_members or 0,
    )


def _open_to_posts(conversation: vendor_models.Conversation, *, everywhere: bool) -> bool:
    if conversation.is_archived:
        return False
    if conversation.is_im:
        return not conversation.is_user_deleted
    return conversation.is_member or (everywhere and not conversation.is_private)
