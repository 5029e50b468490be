"""Messages as they are observed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.mapping.channels import SCOPES
from connector_gateway.connectors.chat.mapping.keywords import folded_text, matching
from connector_gateway.kit.events import Observation, State

SPOKEN = frozenset({None, "bot_message", "file_share", "me_message", "thread_broadcast"})
"""Subtypes of messages that somebody wrote; all others tell of what happened to a message or a channel."""


FAMILIES = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}
"""The scopes' word for each type of channel, as deliveries name them."""


def readable_types(scopes: Collection[str]) -> str:
    """The types of conversations that an app of these *scopes* may list and read; empty if there are none."""
    return ",".join(
        kind for kind, family in SCOPES.items() if f"{family}:read" in scopes and f"{family}:history" in scopes
    )


def account(place_id: str, user_id: str) -> str:
    """The identity of an app's bot or of a user, in a workspace or in an organisation of workspaces."""
    return f"{place_id}/{user_id}"


def is_readable(channel_type: str | None, state: State) -> bool:
    """Whether the scopes of a connection's token, as the last poll found them, allow to read channels of that type."""
    family, scopes = FAMILIES.get(channel_type or ""), state.get("scopes")
    return family is None or not scopes or f"{family}:history" in scopes


def is_watched(channel_id: str, settings: Mapping[str, Any], state: State) -> bool:
    """Whether a connection watches that channel: all unless its settings name some, by identifier or otherwise."""
    channels = settings.get("channels")
    names = state["names"]
    return not channels or channel_id in channels or any(names.get(named) == channel_id for named in channels)


def observed(
    message: wire.BaseMessage, channel_id: str, settings: Mapping[str, Any], state: State
) -> list[Observation]:
    """The observations that a message gives a connection: one, or one for each keyword in it if it has keywords."""
    text = message.text
    if text is None or not _is_inbound(message, state):
        return []
    keywords = settings.get("keywords")
    found: Sequence[str | None] = matching(text, keywords) if keywords else [None]
    return [_observation(message, text, channel_id, state, keyword) for keyword in found]


def _is_inbound(message: wire.BaseMessage, state: State) -> bool:
    """Whether somebody wrote that message, and not the app itself."""
    if message.subtype not in SPOKEN or message.hidden:
        return False
    is_ours = message.user == state["user_id"] or (message.bot_id is not None and message.bot_id == state["bot_id"])
    return not is_ours


def _observation(
    message: wire.BaseMessage, text: str, channel_id: str, state: State, keyword: str | None
) -> Observation:
    return Observation(
        identity=(state["team_id"], channel_id, message.ts, folded_text(keyword or "")),
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
