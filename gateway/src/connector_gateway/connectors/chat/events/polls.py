"""Polls: the messages that deliveries missed, or all messages without deliveries."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.connectors.chat import mapping
from connector_gateway.connectors.chat.events.backfill import SKEW_SECONDS, ChatWatch, HistoryBackfill
from connector_gateway.connectors.chat.events.inbound_hooks import LIMITED
from connector_gateway.connectors.chat.mapping.channels import Names
from connector_gateway.kit import errors
from connector_gateway.kit.events import CHANGED_AT, FORMER, RENEWED_AT, State

NAMES_SECONDS = 300.0
"""Seconds for which the meaning of a channel name is cached if polls are frequent."""

MINUTE_SECONDS = 60.0


async def poll(watch: ChatWatch) -> None:
    """Identify the account and its watched channels, then read the messages written while no deliveries came."""
    _require_deliveries(watch)
    identity, scopes = await watch.upstream.auth_test()
    former = _former_state(watch, identity.team_id)
    state = {
        "team_id": identity.team_id,
        "user_id": identity.user_id,
        "bot_id": identity.bot_id,
        "scopes": sorted(scopes),
        **await _resolve_names(watch, former),
        "began_at": former.get("began_at", watch.state.get(RENEWED_AT, watch.behind_since or watch.clock.now())),
        "blind": former.get("blind", []),
        "listed": former.get("listed", False),
        CHANGED_AT: watch.state.get(CHANGED_AT, former.get(CHANGED_AT)),
    }
    account = mapping.message_events.account(identity.team_id, identity.user_id)
    await watch.commit(state=state, account=account, place=identity.team_id)
    if watch.behind_since is not None:
        await HistoryBackfill(watch, state, watch.behind_since).run(scopes)


def _require_deliveries(watch: ChatWatch) -> None:
    """Postpone the poll while deliveries are omitted, because it would miss later omissions."""
    minutes = [int(wake.removeprefix(LIMITED)) for wake in watch.wakes if wake.startswith(LIMITED)]
    wait = max(minutes, default=0) + MINUTE_SECONDS + SKEW_SECONDS - watch.clock.now()
    if wait > 0:
        raise errors.UpstreamRateLimited("The vendor currently omits deliveries.", retry_after=wait)


def _former_state(watch: ChatWatch, team_id: str) -> State:
    """Return the former state, or an empty one if it belongs to another workspace."""
    former: State = watch.state.get(FORMER, watch.state)
    return former if former.get("team_id") == team_id else {}


async def _resolve_names(watch: ChatWatch, state: State) -> Mapping[str, Any]:
    """Return the meaning of channels named in the settings, with the time. None stands for an unknown channel.

    A renamed channel stays the same unless another one has its name now.
    """
    cached, named_at = state.get("names", {}), state.get("named_at", 0.0)
    unresolved = {
        setting for setting in watch.settings.get("channels", []) if not mapping.channels.is_channel_id(setting)
    }
    now = watch.clock.now()
    if not watch.receives_changes and unresolved == cached.keys() and now - named_at < NAMES_SECONDS:
        return {"names": cached, "named_at": named_at}
    by_name = Names({}, complete=True)
    if not all(map(mapping.channels.is_user_id, unresolved)):
        channels, complete = await watch.upstream.channels()
        by_name = mapping.channels.names(channels, complete=complete)
    names = {setting: await _resolve_channel(watch, setting, by_name, cached.get(setting)) for setting in unresolved}
    return {"names": names, "named_at": now}


async def _resolve_channel(watch: ChatWatch, name: str, by_name: Names, cached_id: str | None) -> str | None:
    """Return the id of the channel of that name, or of the conversation with that person."""
    try:
        identifier = name if mapping.channels.is_user_id(name) else mapping.channels.named(by_name, name)
        if not mapping.channels.is_person(identifier):
            return identifier
        if cached_id is None:
            return (await watch.upstream.open_conversation(identifier)).id
    except errors.ChannelListTooLong as error:
        if cached_id is None:
            now = watch.clock.now()
            await watch.record_gap(watch.behind_since or now, now, error.message)
    except (errors.AmbiguousChannel, errors.ChannelNotFound, errors.ConnectionScopeMissing):
        pass
    return cached_id
