"""What the service delivers to a webhook: whether it is genuine, and what it says. Standard Webhooks convention."""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from connector_gateway_client.shapes import ChatEvent, NotesEvent

TOLERANCE_SECONDS = 5 * 60
"""How far the clocks may differ, and how old a delivery may be that somebody sends once more."""

BEGINNING = "whsec_"
NOT_WHOLE = "The secret is not whole: it is whsec_ and Base64."
VERSION = "v1,"


class SignatureMismatch(ValueError):
    """What came is not signed by the service for this webhook, or was signed at another time."""


class NotesDelivery(TypedDict):
    """An event of the connector notes."""

    type: str
    timestamp: str
    connector: Literal["notes"]
    connection_id: str
    data: NotesEvent


class ChatDelivery(TypedDict):
    """An event of the connector chat."""

    type: str
    timestamp: str
    connector: Literal["chat"]
    connection_id: str
    data: ChatEvent


Delivery = NotesDelivery | ChatDelivery
"""An event of any connector; ``connector`` tells which, and a later service may have more of them."""


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> Delivery:
    """The event that was delivered; ``NotGenuine`` unless it is signed with *secret*, or with one of several.

    *body* is what came, byte for byte. One delivery may come more than once: ``data["event_id"]`` tells it again.
    """
    named = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at = named["webhook-id"], named["webhook-timestamp"]
        told = named["webhook-signature"].split(" ")
    except KeyError as missing:
        raise SignatureMismatch(f"The header {missing.args[0]} is missing.") from missing
    _require_present(sent_at, time.time() if now is None else now, tolerance_seconds)
    content = f"{message_id}.{sent_at}.".encode() + body
    expected = [_signature(one, content) for one in ([secret] if isinstance(secret, str) else secret)]
    # All are compared, and each in constant time, so that how long it takes tells nothing.
    matches = [hmac.compare_digest(one.encode(), given.encode(errors="replace")) for one in expected for given in told]
    if not any(matches):
        raise SignatureMismatch("No signature of it was made with the secret.")
    try:
        delivery: Delivery = json.loads(body)
    except ValueError as fault:
        raise SignatureMismatch("It is signed, and not readable.") from fault
    return delivery


def _require_present(sent_at: str, now: float, tolerance_seconds: float) -> None:
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 16):
        raise SignatureMismatch("The header webhook-timestamp is no time.")
    if abs(now - int(sent_at)) > tolerance_seconds:
        raise SignatureMismatch("It was not sent just now, or one of the two clocks is wrong.")


def _signature(secret: str, content: bytes) -> str:
    try:
        key = b64decode(secret.removeprefix(BEGINNING), validate=True)
    except ValueError as fault:
        raise ValueError(NOT_WHOLE) from fault
    # Anybody can sign with a secret that is empty, such as one that was read from a setting which is not there.
    if not key:
        raise ValueError(NOT_WHOLE)
    return VERSION + b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
