"""Deliveries: their authentication, and the connections that they concern."""

import hmac
from collections.abc import Sequence

from connector_gateway.connectors.notes import mapping
from connector_gateway.connectors.notes.events.data_source_state import SOURCES
from connector_gateway.kit.errors import InvalidJson, InvalidSignature
from connector_gateway.kit.events import HookRequest, HookResult

SIGNATURE = "x-notion-signature"


def receive(delivery: HookRequest, secrets: Sequence[str]) -> HookResult:
    """Read a delivery, which either reports the location of a change or carries the signing secret."""
    token = mapping.inbound_hooks.verification_token(delivery.body)
    if token is not None and not secrets:
        return HookResult(secret=token)
    # A handshake may be repeated before an operator confirms it. With the same secret it is genuine.
    if token is not None and _is_among(token, secrets):
        return HookResult()
    signature = delivery.headers.get(SIGNATURE, "")
    if not _is_among(signature, [_signature(secret, delivery.body) for secret in secrets]):
        raise InvalidSignature("The delivery is not signed with a secret of this installation.")
    return read_delivery(delivery)


def read_delivery(delivery: HookRequest) -> HookResult:
    """Return the connections that a delivery addresses, and the location of the change."""
    if not mapping.inbound_hooks.is_object(delivery.body):
        raise InvalidJson("The delivery is not a JSON object.")
    source_id, accounts = mapping.inbound_hooks.data_source_id(delivery.body), mapping.inbound_hooks.bots(delivery.body)
    # Without accounts, the delivery concerns all connections that watch the data source.
    about = (SOURCES, source_id) if source_id and not accounts else None
    return HookResult(accounts=accounts, wakes=[source_id] if source_id else [], about=about)


def _signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()


def _is_among(value: str, expected: Sequence[str]) -> bool:
    """Return True if *value* equals one of *expected*, compared in constant time."""
    return any(hmac.compare_digest(value.encode(), one.encode()) for one in expected)
