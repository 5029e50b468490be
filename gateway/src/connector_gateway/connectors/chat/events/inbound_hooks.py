"""Deliveries: their authentication and their meaning."""

import hashlib
import hmac
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from connector_gateway.connectors.chat import mapping, vendor_models
from connector_gateway.kit.errors import InvalidJson, InvalidSignature
from connector_gateway.kit.events import HookRequest, HookResult, Observation, State
from connector_gateway.kit.vendor_model import UnexpectedShape, convert, decode_json

FRESH_SECONDS = 300.0
"""Maximum age in seconds of a signature.

Source: docs.slack.dev/authentication/verifying-requests-from-slack, read 2026-11.
"""

TIMESTAMP = re.compile(r"[0-9]{1,12}")


def receive(delivery: HookRequest, secrets: Sequence[str]) -> HookResult:
    """Return the meaning of a signed delivery. Source: docs.slack.dev/apis/events-api, read 2026-11."""
    _require_signature(delivery, secrets)
    return read_delivery(delivery)


def read_delivery(delivery: HookRequest) -> HookResult:
    """Return the addressees and the content of a delivery."""
    try:
        return _hook_result(decode_json(delivery.body, vendor_models.Envelope), delivery.received_at)
    except UnexpectedShape as error:
        if not error.is_json or not error.json_path:
            raise InvalidJson("The body is not a JSON object.") from error
    # The vendor would redeliver the same body repeatedly.
    return HookResult()


def read(event: Mapping[str, Any], settings: Mapping[str, Any], state: State) -> Sequence[Observation] | None:
    """Return the observations of a delivered message, or None if the token's scopes do not cover the channel."""
    try:
        spoken = convert(event, vendor_models.MessageEvent)
    except UnexpectedShape:
        return []
    if "team_id" not in state or not mapping.message_events.is_watched(spoken.channel, settings, state):
        return []
    if not mapping.message_events.is_readable(spoken.channel_type, state):
        return None
    return mapping.message_events.observe(spoken, spoken.channel, settings, state)


def _require_signature(delivery: HookRequest, secrets: Sequence[str]) -> None:
    """Raise an error unless the delivery was signed recently with one of *secrets*."""
    timestamp = delivery.headers.get("x-slack-request-timestamp", "")
    if not TIMESTAMP.fullmatch(timestamp) or abs(delivery.received_at - int(timestamp)) > FRESH_SECONDS:
        raise InvalidSignature("The delivery has no valid timestamp, or was signed too long ago.")
    # Over the raw bytes, because re-encoded JSON would not have the same signature.
    signed = b"v0:%s:%s" % (timestamp.encode(), delivery.body)
    sent_signature = delivery.headers.get("x-slack-signature", "").encode()
    expected = [f"v0={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}" for secret in secrets]
    if not any(hmac.compare_digest(sent_signature, signature.encode()) for signature in expected):
        raise InvalidSignature("The delivery is not signed with a secret of this installation.")


MAX_AUTHORISATIONS = 1000
"""Maximum number of authorisations per delivery. The vendor sends one, or its complete list."""


@dataclass(frozen=True, slots=True)
class _Audience:
    """The installations that a delivery addresses."""

    app: str
    accounts: Collection[str]
    bots: Collection[str]
    """The *accounts* that are bots. A bot belongs to one app."""

    users: Collection[str]
    teams: Collection[str]

    def hook_result(self, **about: Any) -> HookResult:
        """Return a result for the authorised identities only."""
        return HookResult(app=self.app, accounts=self.accounts, app_accounts=self.bots, **about)


def _read_audience(envelope: vendor_models.Envelope) -> _Audience:
    """Read the authorisations of a delivery. Values of another shape authorise no account."""
    authorizations = list(islice(_authorizations(envelope.authorizations), MAX_AUTHORISATIONS))
    # Without an app id, accounts cannot be grouped.
    accounts = {name: each.is_bot for each in authorizations for name in _accounts(each)} if envelope.api_app_id else {}
    teams = [envelope.team_id, envelope.context_team_id, *(each.team_id for each in authorizations)]
    return _Audience(
        envelope.api_app_id,
        frozenset(accounts),
        frozenset(name for name, is_bot in accounts.items() if is_bot),
        frozenset(each.user_id for each in authorizations),
        frozenset(team for team in teams if team),
    )


def _authorizations(raw: Any) -> Iterator[vendor_models.Authorization]:
    for each in raw if isinstance(raw, list) else []:
        try:
            yield convert(each, vendor_models.Authorization)
        except UnexpectedShape:
            continue


def _accounts(authorization: vendor_models.Authorization) -> Iterator[str]:
    """Yield the identities of an authorisation, in the form of connections' accounts."""
    if authorization.team_id:
        yield mapping.message_events.account(authorization.team_id, authorization.user_id)
    if authorization.enterprise_id and authorization.is_enterprise_install:
        yield mapping.message_events.account(authorization.enterprise_id, authorization.user_id)


def _hook_result(envelope: vendor_models.Envelope, received_at: float) -> HookResult:
    match envelope.type:
        case "url_verification":
            return HookResult(reply={"challenge": envelope.challenge})
        case "event_callback" if envelope.event is not None:
            return _event_result(envelope.event, envelope, received_at)
        case "app_rate_limited" if envelope.minute_rate_limited is not None:
            # The vendor's clock may be ahead of ours, and a poll must not wait for a distant minute.
            return _rate_limit_result(min(envelope.minute_rate_limited, int(received_at)), _read_audience(envelope))
    return HookResult()


def _event_result(event: Mapping[str, Any], envelope: vendor_models.Envelope, received_at: float) -> HookResult:
    """Return the content of an event by its type. A revoked authorisation starts a gap now."""
    audience = _read_audience(envelope)
    match convert(event, vendor_models.EventType).type:
        case "message":
            since = received_at - REDELIVERY_SECONDS
            return audience.hook_result(places=audience.teams, event=event, happened_at=since)
        case "app_uninstalled":
            teams = [envelope.team_id] if envelope.team_id else []
            return audience.hook_result(places=teams, revoked=True, missed_since=received_at)
        case "tokens_revoked":
            return _revocation_result(
                convert(event, vendor_models.TokensRevokedEvent).tokens or vendor_models.RevokedTokens(),
                envelope,
                received_at,
            )
        case "member_joined_channel" if convert(event, vendor_models.MemberJoinedEvent).user in audience.users:
            return audience.hook_result(wakes=[CHANNELS])
        # The settings may watch a channel by its name, which now means another channel or none.
        case "channel_rename" | "group_rename":
            return audience.hook_result(places=audience.teams, wakes=[CHANNELS])
    return audience.hook_result()


def _revocation_result(
    tokens: vendor_models.RevokedTokens, envelope: vendor_models.Envelope, received_at: float
) -> HookResult:
    """Address the identities whose tokens were revoked, whichever installation the delivery was for."""
    if not envelope.team_id or not envelope.api_app_id:
        return HookResult()
    bots = {mapping.message_events.account(envelope.team_id, user) for user in tokens.bot or ()}
    users = {mapping.message_events.account(envelope.team_id, user) for user in tokens.oauth or ()}
    return HookResult(
        app=envelope.api_app_id,
        accounts=bots | users,
        app_accounts=bots,
        revoked=True,
        missed_since=received_at,
    )


def _rate_limit_result(minute: int, audience: _Audience) -> HookResult:
    """Return the result for omitted deliveries. They are never repeated, so the history has to be read."""
    wakes = [f"{LIMITED}{minute}"]
    return audience.hook_result(places=audience.teams, wakes=wakes, missed_since=minute - REDELIVERY_SECONDS)


REDELIVERY_SECONDS = 300.0
"""Seconds during which a rejected delivery is repeated: immediately, after one minute, and after five.

Source: docs.slack.dev/apis/events-api, read 2026-11.
"""

LIMITED = "limited "

CHANNELS = "channels"
"""Wake kinds: deliveries are omitted in the following minute, and a channel name may have a new meaning."""
