"""The vault: secrets encrypted at rest with AES-256-GCM, each bound to the connection it belongs to."""

import os
from collections.abc import Collection, Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic_core import from_json

from connector_gateway.core.secrets import SecretKeys
from connector_gateway.kit.encoding import encoded
from connector_gateway.kit.errors import SecretUnreadable

NAME_BYTES = 4
NONCE_BYTES = 12


class Vault:
    """Seals and opens secrets; a sealed one tells by which key, so that keys can be rotated."""

    def __init__(self, secrets: SecretKeys) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in secrets.derive("vault").items()}
        self.current = next(iter(self._ciphers))
        """How what the newest secret seals begins."""

    @property
    def names(self) -> Collection[bytes]:
        """How what can be opened here begins."""
        return self._ciphers.keys()

    def seal(self, secrets: Mapping[str, Any], owner: str) -> bytes:
        """*secrets*, readable only here and only for *owner*."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self.current].encrypt(nonce, encoded(secrets), owner.encode())
        return self.current + nonce + sealed

    def open(self, sealed: bytes, owner: str) -> Mapping[str, Any]:
        """What was sealed for *owner*; ``SecretUnreadable`` if the key is not here or anything was altered."""
        name, nonce = sealed[:NAME_BYTES], sealed[NAME_BYTES : NAME_BYTES + NONCE_BYTES]
        try:
            opened = self._ciphers[name].decrypt(nonce, sealed[NAME_BYTES + NONCE_BYTES :], owner.encode())
        except (KeyError, ValueError, InvalidTag) as fault:
            raise SecretUnreadable(
                "What was stored encrypted cannot be decrypted: the secret is not among GATEWAY_SECRET_KEYS, or the "
                "data were altered.",
                private=f"{owner}: {fault!r}",
            ) from fault
        secrets: Mapping[str, Any] = from_json(opened)
        return secrets
