"""Deliveries: proven to be the vendor's, and what they mean."""

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.connectors.chat import mapping, wire
from connector_gateway.kit.errors import InvalidJson, InvalidSignature
from connector_gateway.kit.observing import Delivery, Observation, Receipt, State
from connector_gateway.kit.wire import UnexpectedShape, converted, decoded

FRESH_SECONDS = 300.0
"""How far the instant of a signature may be from ours.

Source: docs.slack.dev/authentication/verifying-requests-from-slack, read 2026-11.
"""

TIMESTAMP = re.compile(r"[0-9]{1,12}")


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


RETRIED_SECONDS = 300.0
"""How long what was not taken is delivered again: at once, after one minute, and after five.

Source: docs.slack.dev/apis/events-api, read 2026-11.
"""

LIMITED = "limited "

CHANNELS = "channels"
"""Wakes: deliveries are left out in the minute that follows; a name may mean another channel."""
