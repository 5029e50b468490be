"""Cursors: where a page ended, signed, and bound to the route, connection and filters it was issued for."""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.errors import InvalidCursor
from connector_gateway.kit.shapes import Position

SIGNATURE_BYTES = 16


class CursorSigner:
    """Issues cursors, and reads those it issued."""

    def __init__(self, secrets: SecretKeys) -> None:
        self._keys = list(secrets.derive("cursors").values())

    def issue(self, position: Position, *bound_to: Any) -> str:
        """The cursor of *position*."""
        state = to_json(position)
        return _encoded(_sign(self._keys[0], state, bound_to) + state)

    def read(self, cursor: str, *bound_to: Any) -> Mapping[str, Any]:
        """The position of a cursor issued here for the same things; any other is an ``InvalidCursor``."""
        try:
            raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except ValueError as fault:
            raise _invalid() from fault
        # Decoding passes over foreign characters, padding and unused bits: each cursor has one spelling, that issued.
        if _encoded(raw) != cursor:
            raise _invalid()
        signature, state = raw[:SIGNATURE_BYTES], raw[SIGNATURE_BYTES:]
        # By any of the keys: a page that was begun before they were changed can be gone on with.
        if not any(hmac.compare_digest(signature, _sign(key, state, bound_to)) for key in self._keys):
            raise _invalid()
        position: Mapping[str, Any] = from_json(state)
        return position


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _sign(key: bytes, state: bytes, bound_to: tuple[Any, ...]) -> bytes:
    # Cut to half, since a cursor is part of an address; nobody guesses 128 bits either.
    return hmac.digest(key, to_json(bound_to) + b"\0" + state, hashlib.sha256)[:SIGNATURE_BYTES]


def _invalid() -> InvalidCursor:
    return InvalidCursor("The cursor was not issued for this request.", {"parameter": "cursor"})
