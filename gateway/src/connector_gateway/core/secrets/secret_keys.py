"""The installation's secret keys, and the keys derived from them, one per purpose."""

import hashlib
import math
from collections.abc import Collection, Sequence
from functools import lru_cache

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MIN_SECRET_LENGTH = 16
"""Minimum characters of a secret key, even if it only decrypts."""

MIN_BITS = 128
"""Minimum bits of entropy of a secret that authenticates or signs."""

ESTIMATED_CHARACTERS = 72
"""Maximum characters whose entropy is estimated. The time is quadratic in their number."""

MIN_RANDOM_SHARE = 0.85
"""Minimum share of unpredictable characters in a random text, which contains some words and dates by accident.

It was at least 0.93 in 1,000 texts of ``token_urlsafe(16)``. Passphrases of common words are below it.
"""

MIN_RANDOM_SHARE_HEXADECIMAL = 0.75
"""Minimum share for hexadecimal digits, which form no passphrases.

It was at least 0.81 in 10,000 texts of ``token_hex(16)``.
"""

HEXADECIMAL = 16
_HEXADECIMAL = (frozenset("0123456789abcdef"), frozenset("0123456789ABCDEF"))


def weakness(secret: str) -> str:
    """Return why *secret* is guessable, or an empty string if its estimated entropy is sufficient."""
    bits = entropy(secret)
    return "" if bits >= MIN_BITS else f"its entropy is about {bits:.0f} bits; at least {MIN_BITS} are required"


@lru_cache(maxsize=8)
def entropy(secret: str) -> float:
    """Estimate the bits of entropy of *secret*.

    ``zxcvbn`` estimates the number of guesses for words, dates, repetitions and keyboard patterns. Other characters
    count as ten guesses each, whatever their alphabet, so that a text without such patterns counts by its alphabet.
    """
    from zxcvbn import zxcvbn  # noqa: PLC0415  # takes 25 ms and 13 MB, and only what starts a service needs it

    prefix = secret[:ESTIMATED_CHARACTERS]
    if not prefix:
        return 0.0
    digits, size = float(zxcvbn(prefix)["guesses_log10"]), _alphabet(set(secret))
    is_random = digits >= (MIN_RANDOM_SHARE_HEXADECIMAL if size == HEXADECIMAL else MIN_RANDOM_SHARE) * len(prefix)
    # If the prefix has patterns, the remaining characters count as 0 bits.
    return len(secret) * math.log2(size) if is_random else digits * math.log2(10)


def _alphabet(characters: Collection[str]) -> int:
    """Return the size of the smallest usual alphabet that contains *characters*."""
    text = "".join(characters)
    if text.isascii() and text.isdecimal():
        return 10
    if any(digits.issuperset(characters) for digits in _HEXADECIMAL):
        return HEXADECIMAL
    if text.isalpha() and (text.islower() or text.isupper()):
        return 26
    return 36 if text.islower() or text.isupper() else 62


class SecretKeys:
    """The secret keys of the installation.

    The first of *secrets* encrypts and signs. All of them decrypt and verify, so that a new key can be deployed
    everywhere before it is used. Keys in *decrypt_only* verify nothing, so a guessed one cannot be used for forgery.
    """

    def __init__(self, secrets: Sequence[str], decrypt_only: Sequence[str] = ()) -> None:
        if not secrets or any(len(secret) < MIN_SECRET_LENGTH for secret in (*secrets, *decrypt_only)):
            raise ValueError(f"At least one secret key is required, each with {MIN_SECRET_LENGTH} or more characters.")
        self._secrets = [secret.encode() for secret in secrets]
        self._decrypt_only = [secret.encode() for secret in decrypt_only]

    def __repr__(self) -> str:
        return f"<{len(self._secrets)} secret keys, {len(self._decrypt_only)} decrypt-only>"

    def derive(self, purpose: str, *, decrypting: bool = False) -> dict[bytes, bytes]:
        """Return a 32-byte key per secret, the current first, by a 4-byte name that can be stored with ciphertexts.

        With *decrypting*, the keys of decrypt-only secrets are included.
        """
        return {
            hashlib.sha256(b"name" + secret).digest()[:4]: HKDF(SHA256(), 32, None, purpose.encode()).derive(secret)
            for secret in (*self._secrets, *(self._decrypt_only if decrypting else ()))
        }


def token_digest(secret: str | bytes) -> bytes:
    """Return the digest that is stored instead of a random secret. It identifies the secret but does not reveal it.

    A fast hash is sufficient, because 32 random bytes are unguessable.
    """
    return hashlib.sha256(secret if isinstance(secret, bytes) else secret.encode()).digest()


def pseudonym(secret: str) -> str:
    """Return a text that replaces *secret* in counters and keys without revealing it."""
    return token_digest(secret).hex()[:24]
