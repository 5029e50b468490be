"""The five mail operations."""

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from random import randrange
from typing import Any, TypeVar

from connector_gateway.connectors.mail import mapping, mime
from connector_gateway.connectors.mail.client import MARKER, OUTLINE, READERS, MailClient
from connector_gateway.connectors.mail.mime import Mailbox
from connector_gateway.connectors.mail.models import (
    Body,
    ChangedLabels,
    ChangeMessageLabels,
    CreatedDraft,
    CreateDraft,
    FetchAttachment,
    FetchedAttachment,
    Message,
    SearchMessages,
    SendMessage,
    SentMessage,
)
from connector_gateway.kit.call import Attempt, Call, Download, LookUp
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    AttachmentNotFound,
    GatewayError,
    InvalidRecipient,
    LabelNotFound,
    MessageNotFound,
    OutcomeUnknown,
    ThreadNotFound,
    UpstreamConflict,
    UpstreamRefused,
)
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Page, Position

T = TypeVar("T")
MailCall = Call[MailClient]
Raw = Mapping[str, Any]
Names = Mapping[str, str]

LABELS_SECONDS = 60.0
SENDER_SECONDS = 60 * 60.0
CLOCK_SKEW_SECONDS = 120.0
"""How far the vendor's clock may be behind ours when a message of ours is looked for."""

SILENCE_SECONDS = 5.0
"""How long a draft whose sending was not answered is watched, before it is taken for not being sent."""

WATCH_SECONDS = 1.0
LATEST_SENT = 25
"""How many sent messages are looked at for one of ours, where its thread does not show it."""


@reads("GET /messages", errors=[UpstreamConflict])
async def search_messages(call: MailCall, params: SearchMessages) -> Page[Message]:
    """Search the mailbox in the mail provider's search syntax, newest first.

    Attachments are files that came with a message; pictures within its text and signatures do not count.
    """
    token = call.position["token"] if call.position else None
    async with _reader(call, randrange(READERS)):  # noqa: S311  # nothing depends on which it is
        listed = await call.upstream.list_messages({"q": params.q, "maxResults": params.limit}, token)
    message_ids, position = mapping.page_of(listed)
    found = [item for item in await _read_each(call, message_ids, with_body=params.include_body) if item is not None]
    carried = {label_id for raw, _ in found for label_id in raw.get("labelIds", [])}
    names = await _labels(call, lambda names: names.keys() >= carried)
    return Page[Message](items=[mapping.message(raw, names, body) for raw, body in found], position=position)


async def recover_sent_message(call: MailCall, params: SendMessage, attempt: Attempt) -> SentMessage | None:
    """The message that an earlier attempt sent, or whose draft is sent now; None if it made not even a draft."""
    to = mapping.recipients(params.to)
    draft = await _noted_draft(call, attempt)
    if draft is not None:
        return await _send(call, draft, to)
    if attempt.progress.get("draft_id") is None:
        return None
    sent = await _sent(call, attempt)
    if sent is None:
        raise OutcomeUnknown("The draft is gone, and no message that it became can be found.", doubt=attempt.doubt)
    return mapping.sent_message(sent, to, mapping.received_at(sent))


@writes("POST /messages", errors=[InvalidRecipient, ThreadNotFound, UpstreamConflict], recover=recover_sent_message)
async def send_message(call: MailCall, params: SendMessage) -> SentMessage:
    """Send an email from the connected address, or a reply inside a thread.

    Every recipient is validated first; if one of them is not a valid address, nothing is sent.
    The message is made as a draft and then sent, so that a repeat can tell whether it went out.
    """
    to = mapping.recipients(params.to)
    parent = None if params.thread_id is None else mapping.parent(await call.upstream.get_thread(params.thread_id))
    draft = await _draft(call, to, params.body_html, parent or mapping.Parent(params.subject), params.thread_id)
    return await _send(call, draft, to)


async def recover_changed_labels(call: MailCall, params: ChangeMessageLabels, attempt: Attempt) -> ChangedLabels:
    """The labels after the change, which is made again where it is not made yet."""
    return await _change_labels(call, params, attempt.progress.get("created", []))


@writes(
    "POST /messages/{message_id}/labels",
    errors=[MessageNotFound, LabelNotFound, UpstreamConflict],
    recover=recover_changed_labels,
)
async def change_message_labels(call: MailCall, params: ChangeMessageLabels) -> ChangedLabels:
    """Apply labels to a message and strip others from it, by their names.

    A label that is to be applied and does not exist is refused, or created where that is asked for.
    """
    return await _change_labels(call, params, [])


@reads("GET /attachments/{attachment_id}", errors=[MessageNotFound, AttachmentNotFound])
async def fetch_attachment(call: MailCall, params: FetchAttachment) -> FetchedAttachment:
    """Fetch an attachment as a short-lived download link, or as base64."""
    raw = await call.upstream.get_message(params.message_id)
    part = await _part(call, raw, params.attachment_id)
    found = mapping.attachment(raw["id"], part).model_dump()
    if params.form == "base64":
        size_bytes, content = await _content_base64(call, raw, part)
        return FetchedAttachment(**found | {"size_bytes": size_bytes}, content_base64=content)
    link = call.links.issue({"message": raw["id"], "part": part.get("partId", "")})
    return FetchedAttachment(**found, download_url=link.url, expires_at=link.expires_at)


@asynccontextmanager
async def open_attachment(client: MailClient, content: Position) -> AsyncIterator[Download]:
    """The file behind a download link that was issued for an attachment."""
    raw = await client.get_message(content["message"])
    part = mime.find(raw["payload"], content["part"])
    if part is None:
        raise mapping.no_attachment(content["part"], raw["id"])
    found = mapping.attachment(raw["id"], part)
    async with aclosing(_pieces(client, raw, part)) as pieces:
        yield Download(found.filename, found.mime_type, found.size_bytes, pieces)


async def recover_created_draft(call: MailCall, _: CreateDraft, attempt: Attempt) -> CreatedDraft | None:
    """The draft that an earlier attempt made; None if it made none."""
    draft = await _noted_draft(call, attempt)
    return None if draft is None else mapping.created_draft(draft, mapping.received_at(draft["message"]))


@writes("POST /drafts", errors=[InvalidRecipient], recover=recover_created_draft)
async def create_draft(call: MailCall, params: CreateDraft) -> CreatedDraft:
    """Create an unsent draft; nothing is sent."""
    to = mapping.recipients(params.to)
    draft = await _draft(call, to, params.body_html, mapping.Parent(params.subject), None)
    return mapping.created_draft(draft, instant(call.clock.now()))


# Reading


def _reader(call: MailCall, number: int) -> AbstractAsyncContextManager[None]:
    """One of the places to read from; a mailbox bears only so many readers at once, whichever calls they serve."""
    return call.exclusive(f"reader {number % READERS}")


async def _read_each(
    call: MailCall, message_ids: Sequence[str], *, with_body: bool
) -> list[tuple[Raw, Body | None] | None]:
    """The messages in their order, several at once; None for those that are gone since they were listed."""
    first = randrange(READERS)  # noqa: S311  # nothing depends on which it is

    async def read(index: int, message_id: str) -> tuple[Raw, Body | None] | None:
        async with _reader(call, first + index):
            with suppress(MessageNotFound, AttachmentNotFound):
                raw = await call.upstream.get_message(message_id, fields="" if with_body else OUTLINE)
                return raw, await _body(call, raw) if with_body else None
            return None

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(index, message_id)) for index, message_id in enumerate(message_ids)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _headers(call: MailCall, message_id: str) -> Raw | None:
    """A message without its parts, or None if there is none."""
    with suppress(MessageNotFound):
        return await call.upstream.get_message(message_id, "metadata")
    return None


async def _body(call: MailCall, raw: Raw) -> Body:
    """What a message says."""

    async def said(mime_type: str) -> str | None:
        part = mime.body_part(raw.get("payload") or {}, mime_type)
        return None if part is None else mime.text(part, await _content(call, raw, part))

    return Body(text=await said("text/plain"), html=await said("text/html"))


# Attachments


async def _part(call: MailCall, raw: Raw, wanted: str) -> Raw:
    """The part that an attachment's name stands for, whether it is ours or the vendor's."""
    part_id = mapping.part_id(wanted, raw["id"])
    part = await _same_file(call, raw, wanted) if part_id is None else mime.find(raw["payload"], part_id)
    if part is None:
        raise mapping.no_attachment(wanted, raw["id"])
    return part


async def _same_file(call: MailCall, raw: Raw, wanted: str) -> Raw | None:
    """The part with the content that the vendor's name stands for, since each reading gives the parts new names."""
    told = await _fingerprint(call, raw, wanted)
    alike = [part for part in mime.files(raw["payload"]) if part["body"].get("size") == told[0]]
    if len(alike) == 1:
        return alike[0]
    for part in alike:
        if await _fingerprint(call, raw, part["body"]["attachmentId"]) == told:
            return part
    return None


async def _fingerprint(call: MailCall, raw: Raw, attachment_id: str) -> tuple[int, str]:
    """Size and digest of a file."""
    size, digest = 0, hashlib.sha256()
    async with aclosing(call.upstream.stream_attachment(raw["id"], attachment_id)) as pieces:
        async for piece in pieces:
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()


async def _content(call: MailCall, raw: Raw, part: Raw) -> bytes:
    """The bytes of a part, whole."""
    async with aclosing(_pieces(call.upstream, raw, part)) as pieces:
        return b"".join([piece async for piece in pieces])


async def _content_base64(call: MailCall, raw: Raw, part: Raw) -> tuple[int, list[bytes]]:
    """The size of a part, and its bytes as base64, which is padded at its very end alone."""
    size_bytes, rest, encoded = 0, b"", []
    async with aclosing(_pieces(call.upstream, raw, part)) as pieces:
        async for piece in pieces:
            size_bytes += len(piece)
            ready = rest + piece
            whole = len(ready) // 3 * 3
            encoded.append(b64encode(ready[:whole]))
            rest = ready[whole:]
    return size_bytes, [*encoded, b64encode(rest)]


async def _pieces(client: MailClient, raw: Raw, part: Raw) -> AsyncGenerator[bytes, None]:
    """The bytes of a part, one after the other."""
    content = mime.inline_content(part)
    if content is not None:
        yield content
        return
    async with aclosing(client.stream_attachment(raw["id"], part["body"]["attachmentId"])) as pieces:
        async for piece in pieces:
            yield piece


# Labels


async def _labels(call: MailCall, suffice: Callable[[Names], bool]) -> Names:
    """The names of all labels by their identifiers; read again where those remembered do not *suffice*."""

    async def find() -> Names:
        return {raw["id"]: raw["name"] for raw in await call.upstream.list_labels()}

    return await call.recall(LookUp("labels", LABELS_SECONDS, find), suffices=suffice)


async def _change_labels(call: MailCall, params: ChangeMessageLabels, created: Sequence[str]) -> ChangedLabels:
    """The labels after the change; *created* names those that an earlier attempt set out to create."""
    if call.memory.get("labels") is not None:
        with suppress(UpstreamRefused):
            return await _apply(call, params, created)
        call.memory.forget("labels")
    try:
        return await _apply(call, params, created)
    except UpstreamRefused:
        await call.upstream.get_message(params.message_id, "minimal")
        raise


async def _apply(call: MailCall, params: ChangeMessageLabels, created: Sequence[str]) -> ChangedLabels:
    wanted = [*params.add, *params.remove]
    names = await _labels(call, lambda names: all(mapping.label_id(names, name) for name in wanted))
    change = mapping.change(names, params.add, params.remove)
    if change.missing and not params.create_missing:
        raise mapping.no_label(change.missing, params.add)
    if change.missing:
        created = await _create_labels(call, params.message_id, change.missing, created)
        call.memory.forget("labels")
        names = await _labels(call, lambda _: True)
        change = mapping.change(names, params.add, params.remove)
    raw = await _modified(call, params.message_id, change)
    names = await _labels(call, lambda names: names.keys() >= set(raw.get("labelIds", [])))
    return mapping.changed_labels(raw, names, [name for name in created if mapping.label_id(names, name)])


async def _create_labels(
    call: MailCall, message_id: str, missing: Sequence[str], created: Sequence[str]
) -> Sequence[str]:
    """Create labels, once it is certain that the message exists; the names of those that were not there before."""
    await call.upstream.get_message(message_id, "minimal")
    await call.notebook.intend(created=[*dict.fromkeys([*created, *missing])])
    new = [name for name in missing if await call.upstream.create_label(name)]
    return [*dict.fromkeys([*created, *new])]


async def _modified(call: MailCall, message_id: str, change: mapping.Change) -> Raw:
    """The message after *change*."""
    if not change.add and not change.remove:
        return await call.upstream.get_message(message_id, "minimal")
    return await call.upstream.modify_message(message_id, change.add, change.remove)


# Sending


async def _draft(
    call: MailCall, to: Sequence[Mailbox], body_html: str, parent: mapping.Parent, thread_id: str | None
) -> Raw:
    """A new draft, with a header of its own by which it is found again."""
    marker = ulid()
    await call.notebook.intend(marker=marker)
    letter = mime.Letter(
        sender=await _sender(call),
        to=to,
        subject=parent.subject,
        body_html=body_html,
        marker=(MARKER, marker),
        written_at=instant(call.clock.now()),
        in_reply_to=parent.message_id,
        references=parent.references,
    )
    return await call.upstream.create_draft(await asyncio.to_thread(mime.raw, letter), thread_id)


async def _sender(call: MailCall) -> Mailbox:
    """The connected address."""

    async def find() -> Mailbox:
        return mapping.own_mailbox(await call.upstream.list_send_as())

    return await call.recall(LookUp("sender", SENDER_SECONDS, find))


async def _send(call: MailCall, draft: Raw, to: Sequence[Mailbox]) -> SentMessage:
    """Send a draft, which then is one no more; one that is refused for good is not left behind."""
    await call.notebook.note(draft_id=draft["id"], thread_id=draft["message"]["threadId"])
    try:
        raw = await call.upstream.send_draft(draft["id"])
    except GatewayError as error:
        if error.doubt is None:
            await _discard(call, draft["id"])
        raise
    if raw is None:
        raise UpstreamConflict("The draft was taken away before it could be sent.", doubt="failed")
    return mapping.sent_message(raw, to, instant(call.clock.now()))


async def _discard(call: MailCall, draft_id: str) -> None:
    """Delete a draft that will not be sent; where even that fails, it is found again by its header."""
    await call.notebook.note(draft_id=None)
    with suppress(GatewayError):
        await call.upstream.delete_draft(draft_id)


async def _noted_draft(call: MailCall, attempt: Attempt) -> Raw | None:
    """The draft that an attempt made, if it still is one."""
    draft_id = attempt.progress.get("draft_id")
    if draft_id is None:
        return await _marked_draft(call, attempt)
    draft = await call.upstream.get_draft(draft_id)
    while draft and attempt.doubt == "silent" and call.clock.now() < attempt.doubted_at + SILENCE_SECONDS:
        await call.clock.sleep(WATCH_SECONDS)
        draft = await call.upstream.get_draft(draft_id)
    return draft


async def _marked_draft(call: MailCall, attempt: Attempt) -> Raw | None:
    """The draft with an attempt's header, among those that are not older than the attempt."""
    async for draft in call.upstream.list_drafts():
        raw = await _headers(call, draft["message"]["id"])
        if raw is not None and not _since(raw, attempt):
            return None
        if raw is not None and _is_marked(raw, attempt):
            return {**draft, "message": raw}
    return None


async def _sent(call: MailCall, attempt: Attempt) -> Raw | None:
    """The sent message with an attempt's header: in the thread of its draft, or else among the latest."""
    with suppress(ThreadNotFound):
        thread = await call.upstream.get_thread(attempt.progress["thread_id"])
        messages: Sequence[Raw] = thread.get("messages", [])
        for raw in messages:
            if "SENT" in raw.get("labelIds", []) and _is_marked(raw, attempt):
                return raw
    listed = await call.upstream.list_messages({"labelIds": "SENT", "maxResults": LATEST_SENT})
    for message_id in mapping.page_of(listed)[0]:
        found = await _headers(call, message_id)
        if found is not None and _is_marked(found, attempt):
            return found
    return None


def _since(raw: Raw, attempt: Attempt) -> bool:
    return mapping.received_at(raw).timestamp() >= attempt.started_at - CLOCK_SKEW_SECONDS


def _is_marked(raw: Raw, attempt: Attempt) -> bool:
    marker = attempt.progress.get("marker")
    return marker is not None and mime.header(raw.get("payload") or {}, MARKER) == marker
