"""The installation's secret keys, and the keys derived from them, one per purpose."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MIN_SECRET_LENGTH = 16


MIN_DIFFERENT = 8
"""Different characters that a secret has at least."""

MIN_STEPS = 3
"""Different distances between neighbours; what is typed along the keys, or counted up, has one or two."""


def weakness(secret: str) -> str:
    """Why *secret* could be guessed; empty if it looks like chance made it. No check tells what chance really made."""
    if len(secret) < MIN_SECRET_LENGTH:
        return f"it has {len(secret)} characters, and needs {MIN_SECRET_LENGTH} or more"
    if len(set(secret)) < MIN_DIFFERENT or secret in (secret + secret)[1:-1]:
        return "it repeats itself"
    if len({ord(following) - ord(one) for one, following in pairwise(secret)}) < MIN_STEPS:
        return "it only counts up"
    return ""


class SecretKeys:
    """One or more secrets; the first one seals and signs, all of them open and verify, so that they can be rotated."""

    def __init__(self, secrets: Sequence[str]) -> None:
        if not secrets or any(len(secret) < MIN_SECRET_LENGTH for secret in secrets):
            raise ValueError(f"Secret keys need {MIN_SECRET_LENGTH} or more characters each, and there must be one.")
        self._secrets = [secret.encode() for secret in secrets]

    def __repr__(self) -> str:
        return f"<{len(self._secrets)} secret keys>"

    def derive(self, purpose: str) -> dict[bytes, bytes]:
        """A 32-byte key per secret, the current first, by a 4-byte name that may be stored beside what it sealed."""
        return {
            hashlib.sha256(b"name" + secret).digest()[:4]: HKDF(SHA256(), 32, None, purpose.encode()).derive(secret)
            for secret in self._secrets
        }


def digest(secret: str | bytes) -> bytes:
    """What is stored of a random secret: it is found by it, and cannot be made from it, nor does a copy open anything.

    Nobody can guess 32 random bytes, however quick the hash is.
    """
    return hashlib.sha256(secret if isinstance(secret, bytes) else secret.encode()).digest()


def alias(secret: str) -> str:
    """A text that stands for *secret* in counters and keys, and does not reveal it."""
    return digest(secret).hex()[:24]
