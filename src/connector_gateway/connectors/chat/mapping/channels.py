"""Channels and conversations: by identifier and by name."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import normalize

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.models import Channel
from connector_gateway.kit.errors import AmbiguousChannel, ChannelListTooLong, ChannelNotFound
from connector_gateway.kit.errors.suggestions import nearest_first

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
    # The vendor lets the name of an archived channel be used again.
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
        detail = {"parameter": "channel", "value": name, "allowed": nearest_first(name.removeprefix("#"), allowed)}
        raise ChannelNotFound(f"No channel that this connection can see is called '{name}'.", detail)
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
    # One letter can be written as one character or as two, and the vendor shows what was typed.
    return normalize("NFC", name).lower()


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
