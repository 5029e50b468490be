"""Downloads of attachments."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from connector_gateway.connectors.mail import mapping, mime, vendor_models
from connector_gateway.connectors.mail.client import MailClient, requests
from connector_gateway.connectors.mail.models import FetchAttachment, FetchedAttachment
from connector_gateway.connectors.mail.operations.message_contents import (
    MailCall,
    get_message_within_limit,
    stream_content,
)
from connector_gateway.kit.context import Download
from connector_gateway.kit.errors import AttachmentNotFound, MessageNotFound
from connector_gateway.kit.models import Position
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests


@reads(
    "GET /attachments/{attachment_id}",
    errors=[MessageNotFound, AttachmentNotFound],
    requests=TypicalRequests(requests(20), requests(20)),
    examples=[lambda one: {"message_id": one["message_id"], "attachment_id": one["attachment_id"]}],
)
async def fetch_attachment(ctx: MailCall, params: FetchAttachment) -> FetchedAttachment:
    """Fetch an attachment of an email message, as a short-lived download link or as base64.

    ``mail_search_messages`` with ``include_body`` returns the ``attachment_id``.
    """
    message, _ = await get_message_within_limit(ctx.upstream, params.message_id)
    part = await _part(ctx, message, params.attachment_id)
    attachment = mapping.attachments.attachment(message.id, part).model_dump()
    if params.form == "base64":
        size_bytes, content = await _content(ctx, message.id, part)
        return FetchedAttachment(**attachment | {"size_bytes": size_bytes}, content_base64=content)
    link = ctx.links.issue({"message": message.id, "part": part.part_id})
    return FetchedAttachment(**attachment, download_url=link.url, expires_at=link.expires_at)


@asynccontextmanager
async def open_attachment(client: MailClient, content: Position) -> AsyncIterator[Download]:
    """Return the file behind a download link of an attachment."""
    message_id, part = await _linked_part(client, content)
    attachment = mapping.attachments.attachment(message_id, part)
    async with aclosing(stream_content(client, message_id, part, buffered=False)) as pieces:
        yield Download(attachment.filename, attachment.mime_type, attachment.size_bytes or None, pieces)


# Identification of the part


async def _linked_part(client: MailClient, content: Position) -> tuple[str, vendor_models.Part]:
    """Return the part behind a link and its message's id. The message is freed while the file is sent."""
    message, _ = await get_message_within_limit(client, content["message"])
    part = mime.find(message.payload, content["part"])
    if part is None:
        raise mapping.attachments.no_attachment(content["part"], message.id)
    return message.id, part


async def _part(ctx: MailCall, message: vendor_models.Message, identifier: str) -> vendor_models.Part:
    """Return the part of an attachment identifier, whether it is ours or the vendor's."""
    part_id = mapping.attachments.part_id(identifier, message.id)
    part = await _same_file(ctx, message, identifier) if part_id is None else mime.find(message.payload, part_id)
    if part is None:
        raise mapping.attachments.no_attachment(identifier, message.id)
    return part


async def _same_file(ctx: MailCall, message: vendor_models.Message, identifier: str) -> vendor_models.Part | None:
    """Return the part with the content of the vendor's identifier, because each read assigns new identifiers."""
    fingerprint = await _fingerprint(ctx, message.id, identifier)
    candidates = [part for part in mime.files(message.payload) if part.body.size == fingerprint[0]]
    # An equal size suffices if only one part has it, and saves reading the file.
    if len(candidates) == 1:
        return candidates[0]
    for part in candidates:
        if await _fingerprint(ctx, message.id, part.body.attachment_id or "") == fingerprint:
            return part
    return None


async def _fingerprint(ctx: MailCall, message_id: str, attachment_id: str) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    async with aclosing(ctx.upstream.stream_attachment(message_id, attachment_id, buffered=True)) as pieces:
        async for piece in pieces:
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()


# Content


async def _content(ctx: MailCall, message_id: str, part: vendor_models.Part) -> tuple[int, list[bytes]]:
    """Return the size of a part, and its bytes in pieces that can be base64-encoded separately."""
    size_bytes, rest, encodable = 0, b"", []
    async with aclosing(stream_content(ctx.upstream, message_id, part, buffered=True)) as pieces:
        async for piece in pieces:
            size_bytes += len(piece)
            ctx.memory_reservation.reserve(len(piece))
            pending = rest + piece
            # Three bytes make four characters. Other cuts would leave padding in the middle.
            complete = len(pending) // 3 * 3
            encodable.append(pending[:complete])
            rest = pending[complete:]
    return size_bytes, [*encodable, rest]
