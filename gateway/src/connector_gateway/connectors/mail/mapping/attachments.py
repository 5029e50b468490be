"""Attachments and their identifiers."""

import mimetypes
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from connector_gateway.connectors.mail import mime, vendor_models
from connector_gateway.connectors.mail.models import Attachment
from connector_gateway.kit.errors import AttachmentNotFound

ATTACHMENT_PREFIX = "att_"


def attachments(source: vendor_models.Message) -> list[Attachment]:
    """Return the attachments of a message in order, without pictures within the text and without signatures."""
    return [attachment(source.id, part) for part in mime.attachments(source.payload)]


def attachment(message_id: str, part: vendor_models.Part) -> Attachment:
    """Return a part as an attachment."""
    mime_type = part.mime_type or "application/octet-stream"
    filename = re.split(r"[/\\]", mime.decode_header_value(part.filename))[-1].strip()
    return Attachment(
        attachment_id=attachment_id(message_id, part.part_id),
        filename=filename if filename.strip(". ") else f"attachment{mimetypes.guess_extension(mime_type) or ''}",
        mime_type=mime_type,
        size_bytes=part.body.size,
    )


def attachment_id(message_id: str, part_id: str) -> str:
    """Return a stable identifier for a part. The vendor's own identifier changes with every read."""
    return ATTACHMENT_PREFIX + urlsafe_b64encode(f"{message_id}:{part_id}".encode()).decode().rstrip("=")


def part_id(identifier: str, message_id: str) -> str | None:
    """Return the part of one of our identifiers, or None for an identifier of the vendor."""
    if not identifier.startswith(ATTACHMENT_PREFIX):
        return None
    encoded = identifier.removeprefix(ATTACHMENT_PREFIX)
    try:
        owner_id, _, part = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode().rpartition(":")
    except ValueError:
        owner_id, part = "", ""
    if owner_id != message_id:
        raise no_attachment(identifier, message_id)
    return part


def no_attachment(identifier: str, message_id: str) -> AttachmentNotFound:
    """Return the error for an identifier that the message does not have."""
    return AttachmentNotFound(
        f"Message {message_id} has no such attachment.", {"parameter": "attachment_id", "value": identifier}
    )
