"""Signatures of webhook deliveries, by the Standard Webhooks convention.

Source: github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
"""

import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

PREFIX = "whsec_"
SECRET_BYTES = 32

Secrets = Sequence[Mapping[str, Any]]
"""The secrets of a webhook, newest first. Each has a ``secret``, and ``ends_at``, which is None for the newest."""


def new_secret() -> str:
    """Generate a secret in the form in which its owner sees it once."""
    return PREFIX + b64encode(os.urandom(SECRET_BYTES)).decode()


def rotate_secrets(secrets: Secrets, now: float, overlap_seconds: float) -> Secrets:
    """Return *secrets* with a new one in front. Older ones expire after the overlap, or earlier if they already do."""
    until = now + overlap_seconds
    older = [{**one, "ends_at": min(until, one["ends_at"] or until)} for one in active_secrets(secrets, now)]
    return [{"secret": new_secret(), "ends_at": None}, *(one for one in older if one["ends_at"] > now)]


def active_secrets(secrets: Secrets, now: float) -> Secrets:
    """Return the secrets that are currently used to sign."""
    return [one for one in secrets if one["ends_at"] is None or one["ends_at"] > now]


def sign(secrets: Secrets, message_id: str, now: float, body: bytes) -> dict[str, str]:
    """Return the headers that authenticate *body*: its identifier, the time of sending, and a signature per secret."""
    content = f"{message_id}.{int(now)}.".encode() + body
    signatures = [_signature(one["secret"], content) for one in active_secrets(secrets, now)]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": " ".join(signatures),
    }


def _signature(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(PREFIX))
    return f"v1,{b64encode(hmac.digest(key, content, hashlib.sha256)).decode()}"
