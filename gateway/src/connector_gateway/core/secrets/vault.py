"""The vault: secret and private data, encrypted at rest with AES-256-GCM and bound to the row it belongs to."""

import os
from collections.abc import Collection, Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic_core import from_json

from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.errors import SecretUnreadable
from connector_gateway.kit.json_encoding import encode_json

NAME_BYTES = 4
NONCE_BYTES = 12


class Vault:
    """Encrypts and decrypts secrets. Each ciphertext names its key, so that keys can be rotated."""

    def __init__(self, secrets: SecretKeys) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in secrets.derive("vault", decrypting=True).items()}
        self.current_key_name = next(iter(self._ciphers))
        """The prefix of ciphertexts that are encrypted with the newest key."""

        self._cipher = self._ciphers[self.current_key_name]

    @property
    def key_names(self) -> Collection[bytes]:
        """The prefixes of ciphertexts that this vault can decrypt."""
        return self._ciphers.keys()

    def encrypt(self, secrets: Mapping[str, Any], owner: str) -> bytes:
        """Encrypt *secrets* for *owner*."""
        return self.encrypt_bytes(encode_json(secrets), owner)

    def decrypt(self, sealed: bytes, owner: str) -> Mapping[str, Any]:
        """Decrypt a result of ``encrypt`` for *owner*. Raises like ``decrypt_bytes``."""
        secrets: Mapping[str, Any] = from_json(self.decrypt_bytes(sealed, owner))
        return secrets

    def encrypt_bytes(self, content: bytes, owner: str) -> bytes:
        """Encrypt *content* for *owner*. Only this installation can decrypt it, and only for the same owner."""
        nonce = os.urandom(NONCE_BYTES)
        return self.current_key_name + nonce + self._cipher.encrypt(nonce, content, owner.encode())

    def decrypt_bytes(self, sealed: bytes, owner: str) -> bytes:
        """Decrypt a result of ``encrypt_bytes`` for *owner*.

        Raises ``SecretUnreadable`` if its key is not configured or the data was altered.
        """
        name, nonce = sealed[:NAME_BYTES], sealed[NAME_BYTES : NAME_BYTES + NONCE_BYTES]
        try:
            return self._ciphers[name].decrypt(nonce, sealed[NAME_BYTES + NONCE_BYTES :], owner.encode())
        except (KeyError, ValueError, InvalidTag) as error:
            raise SecretUnreadable(
                "Stored data cannot be decrypted: its secret is neither in GATEWAY_SECRET_KEYS nor in "
                "GATEWAY_DECRYPT_ONLY_KEYS, or the data was altered.",
                private=f"{owner}: {error!r}",
            ) from error
