"""Verification of webhook deliveries, as specified by Standard Webhooks."""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from connector_gateway_client.models import ChatEvent, NotesEvent

TOLERANCE_SECONDS = 5 * 60
"""The maximum difference between the clocks, which also limits replay attacks."""

PREFIX = "whsec_"
BAD_FORMAT = "The secret is not whole: it is whsec_ and Base64."
VERSION = "v1,"


class SignatureMismatch(ValueError):
    """The delivery has no valid signature for this webhook, or its timestamp is outside the tolerance."""


class NotesDelivery(TypedDict):
    """An event of the notes connector."""

    type: str
    timestamp: str
    connector: Literal["notes"]
    connection_id: str
    data: NotesEvent


class ChatDelivery(TypedDict):
    """An event of the chat connector."""

    type: str
    timestamp: str
    connector: Literal["chat"]
    connection_id: str
    data: ChatEvent


Delivery = NotesDelivery | ChatDelivery
"""An event of any connector, distinguished by ``connector``. Later releases of the service may have more."""


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> Delivery:
    """Return the delivered event. Raises ``SignatureMismatch`` unless it is signed with *secret*.

    *secret* can be several secrets, one of which has to match. *body* is the raw request
    body. Deliveries may be repeated: deduplicate them by ``data["event_id"]``.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
        signatures = headers["webhook-signature"].split(" ")
    except KeyError as error:
        raise SignatureMismatch(f"The header {error.args[0]} is missing.") from error
    _check_timestamp(sent_at, time.time() if now is None else now, tolerance_seconds)
    content = f"{message_id}.{sent_at}.".encode() + body
    expected = [_signature(one, content) for one in ([secret] if isinstance(secret, str) else secret)]
    # All signatures are compared in constant time, so that timing reveals nothing.
    matches = [
        hmac.compare_digest(one.encode(), signature.encode(errors="replace"))
        for one in expected
        for signature in signatures
    ]
    if not any(matches):
        raise SignatureMismatch("No signature of it was made with the secret.")
    try:
        delivery: Delivery = json.loads(body)
    except ValueError as error:
        raise SignatureMismatch("It is signed, and not readable.") from error
    return delivery


def _check_timestamp(sent_at: str, now: float, tolerance_seconds: float) -> None:
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 16):
        raise SignatureMismatch("The header webhook-timestamp is not a time.")
    if abs(now - int(sent_at)) > tolerance_seconds:
        raise SignatureMismatch("It was not sent just now, or one of the two clocks is wrong.")


def _signature(secret: str, content: bytes) -> str:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError as error:
        raise ValueError(BAD_FORMAT) from error
    # Anyone can sign with an empty secret, such as one read from a missing setting.
    if not key:
        raise ValueError(BAD_FORMAT)
    return VERSION + b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
