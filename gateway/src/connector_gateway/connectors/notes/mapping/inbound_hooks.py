"""Decoding of the vendor's deliveries."""

from uuid import UUID

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.kit.vendor_model import T, UnexpectedShape, decode_json

MAX_HANDSHAKE_BYTES = 1000


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


def _decode_leniently(body: bytes, shape: type[T]) -> T | None:
    """Decode *body* as *shape*, or return None. Another shape is not an error, because deliveries only wake polls."""
    try:
        return decode_json(body, shape)
    except UnexpectedShape:
        return None
