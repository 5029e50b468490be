"""Deliveries: their authentication, and the connections that they concern."""

import hmac
from collections.abc import Sequence
from uuid import UUID

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.events.data_source_state import SOURCES
from connector_gateway.kit.errors import InvalidJson, InvalidSignature
from connector_gateway.kit.events import HookRequest, HookResult
from connector_gateway.kit.vendor_model import T, UnexpectedShape, decode_json

SIGNATURE = "x-notion-signature"
MAX_HANDSHAKE_BYTES = 1000


def receive(delivery: HookRequest, secrets: Sequence[str]) -> HookResult:
    """Read a delivery, which either reports the location of a change or carries the signing secret."""
    token = verification_token(delivery.body)
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
    if not is_object(delivery.body):
        raise InvalidJson("The delivery is not a JSON object.")
    source_id, accounts = data_source_id(delivery.body), bots(delivery.body)
    # Without accounts, the delivery concerns all connections that watch the data source.
    about = (SOURCES, source_id) if source_id and not accounts else None
    return HookResult(accounts=accounts, wakes=[source_id] if source_id else [], about=about)


def verification_token(body: bytes) -> str | None:
    """Return the token if a delivery is the handshake of a subscription."""
    handshake = _decode_leniently(body, vendor_models.Handshake) if len(body) <= MAX_HANDSHAKE_BYTES else None
    return handshake.verification_token if handshake and handshake.verification_token.startswith("secret_") else None


def is_object(body: bytes) -> bool:
    """Return True if a delivery is a JSON object of any shape."""
    return _decode_leniently(body, vendor_models.Present) is not None


def bots(body: bytes) -> list[str]:
    """Return the authorisations that can see the object of a delivery. Only public connections receive them."""
    audience = _decode_leniently(body, vendor_models.DeliveryAudience)
    return [] if audience is None else [viewer.id for viewer in audience.accessible_by or () if viewer.type == "bot"]


def data_source_id(body: bytes) -> str | None:
    """Return the data source that a delivery, or its page, belongs to."""
    subject = _decode_leniently(body, vendor_models.DeliverySubject) or vendor_models.DeliverySubject()
    entity, parent = (
        subject.entity or vendor_models.Entity(),
        (subject.data and subject.data.parent) or vendor_models.Parent(),
    )
    source_id = entity.id if entity.type == "data_source" else parent.data_source_id or ""
    try:
        return str(UUID(source_id))
    except ValueError:
        return None


def _signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()


def _is_among(value: str, expected: Sequence[str]) -> bool:
    """Return True if *value* equals one of *expected*, compared in constant time."""
    return any(hmac.compare_digest(value.encode(), one.encode()) for one in expected)


def _decode_leniently(body: bytes, shape: type[T]) -> T | None:
    """Decode *body* as *shape*, or return None. Another shape is not an error, because deliveries only wake polls."""
    try:
        return decode_json(body, shape)
    except UnexpectedShape:
        return None
