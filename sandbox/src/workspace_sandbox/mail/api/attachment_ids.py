"""The short-lived identifiers of attachments."""

from base64 import urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from hashlib import blake2b
from random import Random
from typing import Any

from workspace_sandbox.mail.body_schemas import decode
from workspace_sandbox.mail.data.mime_parser import Part
from workspace_sandbox.mail.data.state import Message
from workspace_sandbox.mail.error_responses import ApiError, invalid

ATTACHMENT_PREFIX = "ANGjdJ8"
PADDING_BYTES = 210
"""The number of random bytes in an attachment id. They make each id unique, and as long as the vendor's."""

SIGNATURE_BYTES = 12


class Attachments:
    """Issues attachment ids and reads them back. An id contains its message, part and creation time."""

    def __init__(self, random: Random, now: Callable[[], float], knobs: Mapping[str, Any]) -> None:
        self._random = random
        self._now = now
        self._knobs = knobs

    def create_id(self, message: Message, part: Part) -> str:
        """Return a new id for that part."""
        reference = f"{message.id} {part.part_id or '-'} {self._now():.3f}".encode()
        # Every read issues a new id. Many users report that stored ids are rejected later.
        content = bytes([len(reference)]) + reference + self._random.randbytes(PADDING_BYTES)
        return ATTACHMENT_PREFIX + urlsafe_b64encode(_sign(content) + content).decode().rstrip("=")

    def resolve(self, message: Message, attachment_id: str) -> Part:
        """Return the part of *message* that an unexpired id names."""
        try:
            content = decode(attachment_id.removeprefix(ATTACHMENT_PREFIX), "id")
            fields = content[SIGNATURE_BYTES + 1 : SIGNATURE_BYTES + 1 + content[SIGNATURE_BYTES]].decode().split(" ")
        except (ApiError, Error, IndexError, UnicodeDecodeError):
            raise invalid("Invalid attachment token") from None
        if content[:SIGNATURE_BYTES] != _sign(content[SIGNATURE_BYTES:]) or fields[0] != message.id:
            raise invalid("Invalid attachment token")
        part = message.root.find(fields[1].strip("-"))
        if part is None or self._now() - float(fields[2]) > self._knobs["attachment_id_seconds"]:
            raise invalid("Invalid attachment token")
        return part


def _sign(content: bytes) -> bytes:
    return blake2b(content, digest_size=SIGNATURE_BYTES, key=b"attachment").digest()
