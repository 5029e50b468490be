"""Observed messages."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.mapping.channels import SCOPES
from connector_gateway.connectors.chat.mapping.keyword_matching import folded_text, matching_keywords
from connector_gateway.kit.events import Observation, State

WRITTEN_SUBTYPES = frozenset({None, "bot_message", "file_share", "me_message", "thread_broadcast"})
"""Subtypes of messages written by people or apps. All others report changes of messages or channels."""


FAMILIES = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}
"""The scope word for each type of channel in deliveries."""


def readable_types(scopes: Collection[str]) -> str:
    """Return the types of conversations that these *scopes* allow to list and read, or an empty string."""
    return ",".join(
        kind for kind, family in SCOPES.items() if f"{family}:read" in scopes and f"{family}:history" in scopes
    )


def account(place_id: str, user_id: str) -> str:
    """Return the identity of an app's bot or of a user, in a workspace or in an organisation of workspaces."""
    return f"{place_id}/{user_id}"


def is_readable(channel_type: str | None, state: State) -> bool:
    """Return True if the token's scopes, as of the last poll, allow reading channels of that type."""
    family, scopes = FAMILIES.get(channel_type or ""), state.get("scopes")
    return family is None or not scopes or f"{family}:history" in scopes


def is_watched(channel_id: str, settings: Mapping[str, Any], state: State) -> bool:
    """Return True if a connection watches that channel: any, unless its settings name some."""
    channels = settings.get("channels")
    names = state["names"]
    return not channels or channel_id in channels or any(names.get(setting) == channel_id for setting in channels)


def observe(
    message: vendor_models.BaseMessage, channel_id: str, settings: Mapping[str, Any], state: State
) -> list[Observation]:
    """Return the observations of a message for a connection: one, or with keywords one per matching keyword."""
    text = message.text
    if text is None or not _is_inbound(message, state):
        return []
    keywords = settings.get("keywords")
    matched_keywords: Sequence[str | None] = matching_keywords(text, keywords) if keywords else [None]
    return [_observation(message, text, channel_id, state, keyword) for keyword in matched_keywords]


def _is_inbound(message: vendor_models.BaseMessage, state: State) -> bool:
    """Return True if a message was written by a person or another app."""
    if message.subtype not in WRITTEN_SUBTYPES or message.hidden:
        return False
    is_ours = message.user == state["user_id"] or (message.bot_id is not None and message.bot_id == state["bot_id"])
    return not is_ours


def _observation(
    message: vendor_models.BaseMessage, text: str, channel_id: str, state: State, keyword: str | None
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


def threads(messages: Iterable[vendor_models.Message], after: str) -> list[str]:
    """Return the *messages* with replies after that time."""
    return [message.ts for message in messages if message.reply_count and (message.latest_reply or after) >= after]
