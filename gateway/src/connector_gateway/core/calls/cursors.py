"""Pagination cursors: signed positions, bound to the route, connection and filters they were issued for."""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.errors import InvalidCursor
from connector_gateway.kit.models import Position

SIGNATURE_BYTES = 16


class CursorSigner:
    """Issues cursors, and reads the cursors it issued. Another *purpose* has other keys."""

    def __init__(self, secrets: SecretKeys, purpose: str = "cursors") -> None:
        self._keys = list(secrets.derive(purpose).values())

    def issue(self, position: Position, *bound_to: Any) -> str:
        """Return a cursor for *position*."""
        state = to_json(position)
        return _encode(_sign(self._keys[0], state, bound_to) + state)

    def read(self, cursor: str, *bound_to: Any) -> Mapping[str, Any]:
        """Return the position of *cursor*. Raises ``InvalidCursor`` unless it was issued for *bound_to*."""
        try:
            raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except ValueError as error:
            raise _invalid() from error
        # Decoding ignores foreign characters, padding and unused bits. Only the issued spelling is accepted.
        if _encode(raw) != cursor:
            raise _invalid()
        signature, state = raw[:SIGNATURE_BYTES], raw[SIGNATURE_BYTES:]
        # Any of the keys is accepted, so that cursors remain valid after a key rotation.
        if not any(hmac.compare_digest(signature, _sign(key, state, bound_to)) for key in self._keys):
            raise _invalid()
        position: Mapping[str, Any] = from_json(state)
        return position


def _encode(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _sign(key: bytes, state: bytes, bound_to: tuple[Any, ...]) -> bytes:
    # Half of the digest keeps URLs short, and 128 bits are still unguessable.
    return hmac.digest(key, to_json(bound_to) + b"\0" + state, hashlib.sha256)[:SIGNATURE_BYTES]


def _invalid() -> InvalidCursor:
    return InvalidCursor("The cursor was not issued for this request.", {"parameter": "cursor"})
