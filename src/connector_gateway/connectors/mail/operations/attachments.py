"""Attachments: fetched, and opened by their link."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from connector_gateway.connectors.mail import mapping, mime, wire
from connector_gateway.connectors.mail.client import MailClient
from connector_gateway.connectors.mail.models import FetchAttachment, FetchedAttachment
from connector_gateway.connectors.mail.operations.lookups import MailCall, get_message_within_limit, pieces_of
from connector_gateway.kit.context import Download
from connector_gateway.kit.errors import AttachmentNotFound, MessageNotFound
from connector_gateway.kit.operation import reads
from connector_gateway.kit.shapes import Position


@reads("GET /attachments/{attachment_id}", errors=[MessageNotFound, AttachmentNotFound])
async def fetch_attachment(call: MailCall, params: FetchAttachment) -> FetchedAttachment:
    """Fetch an attachment as a short-lived download link, or as base64."""
    message, _ = await get_message_within_limit(call.upstream, params.message_id)
    part = await _part(call, message, params.attachment_id)
    found = mapping.attachments.attachment(message.id, part).model_dump()
    if params.form == "base64":
        size_bytes, content = await _content(call, message.id, part)
        return FetchedAttachment(**found | {"size_bytes": size_bytes}, content_base64=content)
    link = call.links.issue({"message": message.id, "part": part.part_id})
    return FetchedAttachment(**found, download_url=link.url, expires_at=link.expires_at)


@asynccontextmanager
async def open_attachment(client: MailClient, content: Position) -> AsyncIterator[Download]:
    """The file behind a download link that was issued for an attachment."""
    message_id, part = await _linked_part(client, content)
    found = mapping.attachments.attachment(message_id, part)
    async with aclosing(pieces_of(client, message_id, part, at_once=False)) as pieces:
        yield Download(found.filename, found.mime_type, found.size_bytes or None, pieces)


# Which part is meant


async def _linked_part(client: MailClient, content: Position) -> tuple[str, wire.Part]:
    """The part behind a link, and its message by name: the message itself need not be held while the file is sent."""
    message, _ = await get_message_within_limit(client, content["message"])
    part = mime.find(message.payload, content["part"])
    if part is None:
        raise mapping.attachments.no_attachment(content["part"], message.id)
    return message.id, part


async def _part(call: MailCall, message: wire.Message, wanted: str) -> wire.Part:
    """The part that an attachment's name stands for, whether it is ours or the vendor's."""
    part_id = mapping.attachments.part_id(wanted, message.id)
    part = await _same_file(call, message, wanted) if part_id is None else mime.find(message.payload, part_id)
    if part is None:
        raise mapping.attachments.no_attachment(wanted, message.id)
    return part


async def _same_file(call: MailCall, message: wire.Message, wanted: str) -> wire.Part | None:
    """The part with the content that the vendor's name stands for, since each reading gives the parts new names."""
    told = await _fingerprint(call, message.id, wanted)
    alike = [part for part in mime.files(message.payload) if part.body.size == told[0]]
    # Equal size is enough where only one part has it, and saves reading the file.
    if len(alike) == 1:
        return alike[0]
    for part in alike:
        if await _fingerprint(call, message.id, part.body.attachment_id or "") == told:
            return part
    return None


async def _fingerprint(call: MailCall, message_id: str, attachment_id: str) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    async with aclosing(call.upstream.stream_attachment(message_id, attachment_id, at_once=True)) as pieces:
        async for piece in pieces:
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()


# What it holds


async def _content(call: MailCall, message_id: str, part: wire.Part) -> tuple[int, list[bytes]]:
    """The size of a part, and its bytes in pieces that can be told as base64 one by one."""
    size_bytes, rest, held = 0, b"", []
    async with aclosing(pieces_of(call.upstream, message_id, part, at_once=True)) as pieces:
        async for piece in pieces:
            size_bytes += len(piece)
            call.memory_reservation.keep(len(piece))
            ready = rest + piece
            # Three bytes make four characters: cut elsewhere, padding would stand in the middle.
            whole = len(ready) // 3 * 3
            held.append(ready[:whole])
            rest = ready[whole:]
    return size_bytes, [*held, rest]
