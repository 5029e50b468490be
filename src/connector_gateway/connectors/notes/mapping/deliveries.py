"""Deliveries of the vendor."""

from uuid import UUID

from connector_gateway.connectors.notes import wire
from connector_gateway.kit.wire import T, UnexpectedShape, decode_json

MAX_HANDSHAKE_BYTES = 1000


def verification_token(body: bytes) -> str | None:
    """The token of a delivery that is nothing but the handshake of a subscription."""
    found = _glance(body, wire.Handshake) if len(body) <= MAX_HANDSHAKE_BYTES else None
    return found.verification_token if found and found.verification_token.startswith("secret_") else None


def is_object(body: bytes) -> bool:
    """Whether a delivery is a JSON object, of any shape."""
    return _glance(body, wire.Present) is not None


def bots(body: bytes) -> list[str]:
    """The authorisations through which the object of a delivery can be seen; only public connections are told."""
    told = _glance(body, wire.Audience)
    return [] if told is None else [viewer.id for viewer in told.accessible_by or () if viewer.type == "bot"]


def data_source_id(body: bytes) -> str | None:
    """The data source that a delivery is about, or in which the page lies that it is about."""
    told = _glance(body, wire.Subject) or wire.Subject()
    entity, parent = told.entity or wire.Entity(), (told.data and told.data.parent) or wire.Parent()
    named = entity.id if entity.type == "data_source" else parent.data_source_id or ""
    try:
        return str(UUID(named))
    except ValueError:
        return None


def _glance(body: bytes, shape: type[T]) -> T | None:
    """*body* as *shape*, or None if it has another one, which is no error for something that only wakes."""
    try:
        return decode_json(body, shape)
    except UnexpectedShape:
        return None
