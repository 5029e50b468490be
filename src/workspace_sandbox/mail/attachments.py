"""The short-lived identifiers of attachments."""

from base64 import urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from hashlib import blake2b
from random import Random
from typing import Any

from workspace_sandbox.mail.mime import Part
from workspace_sandbox.mail.refusals import invalid
from workspace_sandbox.mail.schema import decode
from workspace_sandbox.mail.state import Message
from workspace_sandbox.mail.wire import Refusal

ATTACHMENT_PREFIX = "ANGjdJ8"
PADDING_BYTES = 210
"""Noise in an attachment id, which makes every one new and as long as the vendor's."""

SEAL_BYTES = 12


class Attachments:
    """Hands out attachment ids and reads them back: they say what they are for and when they were made."""

    def __init__(self, random: Random, now: Callable[[], float], knobs: Mapping[str, Any]) -> None:
        self._random = random
        self._now = now
        self._knobs = knobs

    def identify(self, message: Message, part: Part) -> str:
        """A new id for that part."""
        told = f"{message.id} {part.part_id or '-'} {self._now():.3f}".encode()
        # New at every reading: clients that keep such an identifier find it refused later (reported by many).
        content = bytes([len(told)]) + told + self._random.randbytes(PADDING_BYTES)
        return ATTACHMENT_PREFIX + urlsafe_b64encode(_seal(content) + content).decode().rstrip("=")

    def resolve(self, message: Message, attachment_id: str) -> Part:
        """The part that a living id of that message names."""
        try:
            content = decode(attachment_id.removeprefix(ATTACHMENT_PREFIX), "id")
            told = content[SEAL_BYTES + 1 : SEAL_BYTES + 1 + content[SEAL_BYTES]].decode().split(" ")
        except (Refusal, Error, IndexError, UnicodeDecodeError):
            raise invalid("Invalid attachment token") from None
        if content[:SEAL_BYTES] != _seal(content[SEAL_BYTES:]) or told[0] != message.id:
            raise invalid("Invalid attachment token")
        part = message.root.find(told[1].strip("-"))
        if part is None or self._now() - float(told[2]) > self._knobs["attachment_id_seconds"]:
            raise invalid("Invalid attachment token")
        return part


def _seal(content: bytes) -> bytes:
    return blake2b(content, digest_size=SEAL_BYTES, key=b"attachment").digest()
