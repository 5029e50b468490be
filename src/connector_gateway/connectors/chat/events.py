"""Observing messages: as they are delivered, and from the channels' history where deliveries may have been missed."""

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.connectors.chat import mapping, wire
from connector_gateway.connectors.chat.client import ChatClient, Scopes
from connector_gateway.connectors.chat.mapping.channels import Names
from connector_gateway.kit.errors import (
    AmbiguousChannel,
    ChannelListTooLong,
    ChannelNotFound,
    ConnectionScopeMissing,
    InvalidJson,
    InvalidSignature,
    NotInChannel,
    ThreadNotFound,
    UpstreamForbidden,
    UpstreamRateLimited,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.observing import (
    CHANGED_AT,
    FORMER,
    RENEWED_AT,
    Delivery,
    Observation,
    Receipt,
    Snapshot,
    State,
    Watch,
)
from connector_gateway.kit.wire import UnexpectedShape, converted, decoded

ChatWatch = Watch[ChatClient]
Found = dict[str, Sequence[Observation]]
"""What messages mean, by the messages' identifiers, which sort by instant."""

FRESH_SECONDS = 300.0
"""How far the instant of a signature may be from ours.

Source: docs.slack.dev/authentication/verifying-requests-from-slack, read 2026-11.
"""

RETRIED_SECONDS = 300.0
"""How long what was not taken is delivered again: at once, after one minute, and after five.

Source: docs.slack.dev/apis/events-api, read 2026-11.
"""

SKEW_SECONDS = 60.0
"""How far the vendor's clock may be from ours."""

NAMES_SECONDS = 300.0
"""How long it is taken for granted which channel a name means, where polls are frequent."""

MINUTE_SECONDS = 60.0
FILL_SECONDS = 20 * 60.0
"""How long one poll reads; what it does not reach in that time is told to be missing."""

STEP = 500
"""Observations that are committed in one go."""

SEEN = "seen"
"""Snapshots: until when a channel has been read, as long as others have not."""

WATCHED = "watched"
"""Snapshots: since when a channel is watched."""

LIMITED = "limited "
CHANNELS = "channels"
"""Wakes: deliveries are left out in the minute that follows; a name may mean another channel."""

TIMESTAMP = re.compile(r"[0-9]{1,12}")

UNREADABLE = (
    ChannelNotFound,
    ConnectionScopeMissing,
    NotInChannel,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
"""Refusals that concern one channel only."""


# Deliveries


def receive(delivery: Delivery, secrets: Sequence[str]) -> Receipt:
    """What a signed delivery is about. Source: docs.slack.dev/apis/events-api, read 2026-11."""
    _require_signature(delivery, secrets)
    try:
        return _receipt(decoded(delivery.body, wire.Envelope), delivery.received_at)
    except UnexpectedShape as fault:
        if not fault.is_json or not fault.place:
            raise InvalidJson("The body is not a JSON object.") from fault
    # The application would deliver the same again and again.
    return Receipt()


def read(event: Mapping[str, Any], settings: Mapping[str, Any], state: State) -> Sequence[Observation]:
    """The observations that a delivered message gives a connection; none if it has another shape."""
    try:
        spoken = converted(event, wire.Spoken)
    except UnexpectedShape:
        return []
    if "team_id" not in state or not mapping.events.is_watched(spoken.channel, settings, state):
        return []
    return mapping.events.observed(spoken, spoken.channel, settings, state)


def _require_signature(delivery: Delivery, secrets: Sequence[str]) -> None:
    """Refuse a delivery that was not signed recently with one of *secrets*."""
    timestamp = delivery.headers.get("x-slack-request-timestamp", "")
    if not TIMESTAMP.fullmatch(timestamp) or abs(delivery.received_at - int(timestamp)) > FRESH_SECONDS:
        raise InvalidSignature("The delivery does not say when it was signed, or was signed too long ago.")
    # Over the bytes as they came: JSON that was read and written again would not have the same signature.
    signed = b"v0:%s:%s" % (timestamp.encode(), delivery.body)
    given = delivery.headers.get("x-slack-signature", "").encode()
    expected = [f"v0={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}" for secret in secrets]
    if not any(hmac.compare_digest(given, signature.encode()) for signature in expected):
        raise InvalidSignature("The delivery is not signed with a secret of this installation.")


@dataclass(frozen=True, slots=True)
class _Installations:
    """Where the app was installed for a delivery to be made."""

    teams: Collection[str]
    users: Collection[str]
    """As whom the app is there."""


def _installations(envelope: wire.Envelope) -> _Installations:
    authorizations = envelope.authorizations or ()
    teams = [envelope.team_id, envelope.context_team_id, *(each.team_id for each in authorizations)]
    users = [each.user_id for each in authorizations]
    return _Installations({team for team in teams if team}, {user for user in users if user})


def _receipt(envelope: wire.Envelope, received_at: float) -> Receipt:
    """What a delivery is about, by its type."""
    match envelope.type:
        case "url_verification":
            return Receipt(reply={"challenge": envelope.challenge})
        case "event_callback" if envelope.event is not None:
            return _event_receipt(envelope.event, _installations(envelope), received_at)
        case "app_rate_limited" if envelope.minute_rate_limited is not None:
            return _limit(envelope.minute_rate_limited, _installations(envelope))
    return Receipt()


def _event_receipt(event: Mapping[str, Any], installations: _Installations, received_at: float) -> Receipt:
    """What an event is about, by its type; a withdrawn authorisation leaves a gap that begins now."""
    teams = installations.teams
    match converted(event, wire.Kind).type:
        case "message":
            return Receipt(accounts=teams, event=event)
        case "app_uninstalled":
            return Receipt(accounts=teams, revoked=True, missed_since=received_at)
        case "tokens_revoked" if (tokens := converted(event, wire.Revoked).tokens) and tokens.bot:
            return Receipt(accounts=teams, revoked=True, missed_since=received_at)
        case "member_joined_channel" if converted(event, wire.Joined).user in installations.users:
            return Receipt(accounts=teams, wakes=[CHANNELS])
        # The settings may watch a channel by its name, which now means another one or none.
        case "channel_rename" | "group_rename":
            return Receipt(accounts=teams, wakes=[CHANNELS])
    return Receipt(accounts=teams)


def _limit(minute: int, installations: _Installations) -> Receipt:
    """The receipt for left-out deliveries: they never come again, so they have to be read from the history."""
    wakes = [f"{LIMITED}{minute}"]
    return Receipt(accounts=installations.teams, wakes=wakes, missed_since=minute - RETRIED_SECONDS)


# Polls


async def poll(watch: ChatWatch) -> None:
    """Find out whose account it is and what it watches, then read what was written while no deliveries came."""
    _require_deliveries(watch)
    identity, scopes = await watch.upstream.auth_test()
    known = _known(watch, identity.team_id)
    state = {
        "team_id": identity.team_id,
        "user_id": identity.user_id,
        "bot_id": identity.bot_id,
        **await _names(watch, known),
        "began_at": known.get("began_at", watch.state.get(RENEWED_AT, watch.behind_since or watch.clock.now())),
        "blind": known.get("blind", []),
        "listed": known.get("listed", False),
        CHANGED_AT: watch.state.get(CHANGED_AT, known.get(CHANGED_AT)),
    }
    await watch.keep(state=state, account=identity.team_id)
    if watch.behind_since is not None:
        await _Filling(watch, state, watch.behind_since).fill(scopes)


def _require_deliveries(watch: ChatWatch) -> None:
    """Postpone the poll while deliveries are left out, since it would miss what is left out after it."""
    minutes = [int(wake.removeprefix(LIMITED)) for wake in watch.wakes if wake.startswith(LIMITED)]
    wait = max(minutes, default=0) + MINUTE_SECONDS + SKEW_SECONDS - watch.clock.now()
    if wait > 0:
        raise UpstreamRateLimited("The application leaves deliveries out for now.", retry_after=wait)


def _known(watch: ChatWatch, team_id: str) -> State:
    """The former state; empty if it is of another workspace than the connection's present one."""
    former: State = watch.state.get(FORMER, watch.state)
    return former if former.get("team_id") == team_id else {}


async def _names(watch: ChatWatch, noted: State) -> Mapping[str, Any]:
    """The channels that the settings name otherwise than by identifier, None for what there is not, and since when.

    One that was renamed since it was found stays the same, unless another one goes by its name now.
    """
    known, named_at = noted.get("names", {}), noted.get("named_at", 0.0)
    wanted = {named for named in watch.settings.get("channels", []) if not mapping.channels.is_channel_id(named)}
    now = watch.clock.now()
    if not watch.pushed and wanted == known.keys() and now - named_at < NAMES_SECONDS:
        return {"names": known, "named_at": named_at}
    by_name = Names({}, complete=True)
    if not all(map(mapping.channels.is_user_id, wanted)):
        channels, complete = await watch.upstream.channels()
        by_name = mapping.channels.names(channels, complete=complete)
    names = {named: await _channel_id(watch, named, by_name, known.get(named)) for named in wanted}
    return {"names": names, "named_at": now}


async def _channel_id(watch: ChatWatch, named: str, by_name: Names, known: str | None) -> str | None:
    """The channel of that name, or the conversation with that person."""
    try:
        found = named if mapping.channels.is_user_id(named) else mapping.channels.named(by_name, named)
        if not mapping.channels.is_person(found):
            return found
        if known is None:
            return (await watch.upstream.open_conversation(found)).id
    except ChannelListTooLong as refusal:
        if known is None:
            now = watch.clock.now()
            await watch.miss(watch.behind_since or now, now, refusal.message)
    except (AmbiguousChannel, ChannelNotFound, ConnectionScopeMissing):
        pass
    return known


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The part of a channel's history that one poll reads."""

    channel_id: str
    since: float
    began: float
    after: str
    """The identifier that a message of *since* has, or of a little before, since clocks differ."""

    threads: list[str] = field(default_factory=list)
    """Those that were replied to."""


@dataclass
class _Filling:
    """Reads the history since deliveries may have been missed, and stores what deliveries would have brought.

    The instant up to which a channel was read is noted, so that the next poll continues there if this one is
    interrupted. When all channels are done, the notes are deleted.
    """

    watch: ChatWatch
    state: Mapping[str, Any]
    since: float
    began: float = field(init=False)
    blind: list[str] = field(default_factory=list)
    """The channels that the app may not read."""

    watched: Mapping[str, float] = field(default_factory=dict)
    """Since when each of the channels is watched."""

    hides_threads: bool = False
    """Whether a channel has older messages than were read; replies to those are not seen."""

    def __post_init__(self) -> None:
        self.began = self.watch.clock.now()

    async def fill(self, scopes: Scopes) -> None:
        """Read every watched channel, the one that has waited longest first, and then the threads."""
        seen = await self.watch.recall(SEEN)
        channels = await self._channels(scopes)
        self.watched = await self._beginnings(channels)
        stretches: list[_Stretch] = []
        late: dict[str, float] = {}
        for channel_id in sorted(channels, key=lambda channel_id: seen.get(channel_id, self.since)):
            since = seen.get(channel_id, self.since)
            if self._is_late():
                late[channel_id] = since
            else:
                stretches.append(await self._fill_channel(channel_id, since))
        for stretch in stretches:
            await self._fill_threads(stretch)
        await self._tell(late)
        await self._forget({*seen, *channels} - late.keys(), late)

    async def _forget(self, done: Collection[str], late: Mapping[str, float]) -> None:
        """Delete the notes of finished channels; those that are late are noted for the next poll."""
        notes = {**dict.fromkeys(done), **late}
        await self.watch.keep(
            snapshots=[
                *(Snapshot(SEEN, channel_id, instant) for channel_id, instant in notes.items()),
                *await self._changed_beginnings(),
            ],
            state={**self.state, "blind": self.blind, "listed": True},
        )

    async def _changed_beginnings(self) -> Sequence[Snapshot]:
        known = await self.watch.recall(WATCHED)
        gone = dict.fromkeys(known.keys() - self.watched.keys())
        fresh = {channel_id: since for channel_id, since in self.watched.items() if channel_id not in known}
        return [Snapshot(WATCHED, channel_id, since) for channel_id, since in {**gone, **fresh}.items()]

    async def _channels(self, scopes: Scopes) -> Collection[str]:
        """The channels that the settings name, or else all that the app is in."""
        configured, names = self.watch.settings.get("channels"), self.state["names"]
        if configured:
            return {channel_id for named in configured if (channel_id := names.get(named, named))}
        found: set[str] = set()
        types = mapping.events.readable_types(scopes)
        pages = self.watch.upstream.own_conversations(types)
        if types:
            async for page in pages:
                found |= {channel.id for channel in page.channels if not channel.is_archived}
        if not pages.complete:
            await self._tell_blind("", self.since, "The app may not read channels, or is in too many to read them all.")
        return found

    async def _fill_channel(self, channel_id: str, since: float) -> _Stretch:
        """Store the messages of a channel, without replies; returns what was read."""
        after = mapping.messages.message_ts(max(since - SKEW_SECONDS, self._watched_since(channel_id, since)))
        stretch = _Stretch(channel_id, since, self.watch.clock.now(), after)
        found: Found = {}
        try:
            await self._read_channel(stretch, found)
        except UNREADABLE as refusal:
            await self._tell_blind(channel_id, since, refusal.message)
        await self._keep(stretch, found, done=not stretch.threads)
        return stretch

    def _watched_since(self, channel_id: str, since: float) -> float:
        """Since when a channel is watched as it is now: it may be a new one, or there may be other settings."""
        changed_at = self.state[CHANGED_AT] or 0.0
        return max(self.watched[channel_id], changed_at if since >= changed_at else 0.0)

    async def _beginnings(self, channels: Collection[str]) -> Mapping[str, float]:
        """Since when each of the channels is watched; one that no poll has found before, since the last one."""
        began_at: float = self.state["began_at"]
        known = await self.watch.recall(WATCHED)
        fresh = max(began_at, self.since, self.state[CHANGED_AT] or 0.0) if self.state["listed"] else began_at
        return {channel_id: max(began_at, known.get(channel_id, fresh)) for channel_id in channels}

    async def _read_channel(self, stretch: _Stretch, found: Found) -> None:
        """Read back to the beginning of the stretch, and at least one page, for threads that are still going on."""
        earliest = mapping.messages.message_ts(self.began)
        pages = self.watch.upstream.history_pages(stretch.channel_id)
        async for page in pages:
            found |= self._observed(stretch, page.messages)
            stretch.threads.extend(mapping.events.threads(page.messages, stretch.after))
            earliest = min([earliest, *(message.ts for message in page.messages)])
            if earliest <= stretch.after or self._is_late():
                break
        if not pages.complete:
            self.hides_threads = True
            if earliest > stretch.after:
                why = "More was written than can be read."
                await self.watch.miss(stretch.since, float(earliest), why, stretch.channel_id)

    async def _fill_threads(self, stretch: _Stretch) -> None:
        """Store the replies in the threads of a channel."""
        found: Found = {}
        whole = True
        try:
            for ts in stretch.threads:
                whole = whole and not self._is_late() and await self._read_thread(stretch, ts, found)
        except UNREADABLE as refusal:
            await self._tell_blind(stretch.channel_id, stretch.since, refusal.message)
        if not whole:
            why = "More was replied in threads than can be read."
            await self.watch.miss(stretch.since, self.began, why, stretch.channel_id)
        await self._keep(stretch, found, done=True)

    async def _read_thread(self, stretch: _Stretch, ts: str, found: Found) -> bool:
        """Collect the replies of a thread; returns whether these were all."""
        pages = self.watch.upstream.reply_pages(stretch.channel_id, ts, stretch.after)
        try:
            async for page in pages:
                found |= self._observed(stretch, page.messages)
        except ThreadNotFound:
            return True
        return pages.complete

    def _observed(self, stretch: _Stretch, messages: Sequence[wire.Message]) -> Found:
        """The observations that messages of the stretch give."""
        return {
            message.ts: mapping.events.observed(message, stretch.channel_id, self.watch.settings, self.state)
            for message in messages
            if message.ts > stretch.after
        }

    async def _keep(self, stretch: _Stretch, found: Found, *, done: bool) -> None:
        """Store what was found, oldest first, and note whether the channel is *done*."""
        observations = [observation for ts in sorted(found) for observation in found[ts]]
        while len(observations) > STEP:
            await self.watch.keep(observations[:STEP])
            del observations[:STEP]
        notes = [Snapshot(SEEN, stretch.channel_id, stretch.began)] if done else []
        await self.watch.keep(observations, notes)

    async def _tell_blind(self, channel_id: str, since: float, why: str) -> None:
        """Tell that a channel may not be read; where polls are frequent, only the first of them does."""
        self.blind.append(channel_id)
        if self.watch.pushed or channel_id not in self.state["blind"]:
            await self.watch.miss(since, self.began, why, channel_id or None)

    async def _tell(self, late: Mapping[str, float]) -> None:
        """Tell what this poll does not see; where polls are frequent, the next one goes on with what was late."""
        if not self.watch.pushed:
            return
        if late:
            why = f"{len(late)} channels could not be read in time."
            await self.watch.miss(min(late.values()), self.began, why)
        was_absent = self.since > self.state["began_at"] and self.began - self.since > RETRIED_SECONDS
        if was_absent and self.hides_threads:
            await self.watch.miss(self.since, self.began, "Replies in old threads are not in the channels' history.")

    def _is_late(self) -> bool:
        return self.watch.clock.now() - self.began > FILL_SECONDS
