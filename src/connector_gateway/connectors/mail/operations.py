"""The five mail operations."""

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from functools import partial
from random import randrange
from typing import TypeVar

from connector_gateway.connectors.mail import mapping, mime, wire
from connector_gateway.connectors.mail.client import MARKER, OUTLINE, READERS, MailClient
from connector_gateway.connectors.mail.mapping import Kept
from connector_gateway.connectors.mail.mime import Mailbox
from connector_gateway.connectors.mail.models import (
    ChangedLabels,
    ChangeMessageLabels,
    CreatedDraft,
    CreateDraft,
    FetchAttachment,
    FetchedAttachment,
    Message,
    MessageBody,
    SearchMessages,
    SendMessage,
    SentMessage,
)
from connector_gateway.kit.call import Call, Download, LookUp
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
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Page, Position
from connector_gateway.kit.writing import Found, Intent, Learned, Sent, Step

MailCall = Call[MailClient]
Names = Mapping[str, str]
T = TypeVar("T")

LABELS_SECONDS = 60.0
SENDER_SECONDS = 60 * 60.0
OLDER_IN_A_ROW = 10
"""A listing comes newest first, but nobody promises that; it is read on until so many in a row are too old."""


# The steps that change something


async def _send_new_draft(body_html: str, call: MailCall, intent: Intent, mark: str) -> Learned:
    """Make a draft of a letter, which bears the mark in a header."""
    letter = mapping.letter(intent, body_html, (MARKER, mark))
    draft = await call.upstream.create_draft(await asyncio.to_thread(mime.written, letter), intent["thread_id"])
    return mapping.kept_draft(draft.id, draft.message, mark, call.clock.now())


async def _find_draft(call: MailCall, _: Intent, sent: Sent) -> Sequence[Found]:
    """The draft that bears the mark, among all drafts that are not too old."""
    drafts = call.upstream.list_drafts()
    async for draft, message in _not_older(call, drafts, lambda draft: draft.message.id, sent.earliest):
        if _is_marked(message, sent.mark):
            return [Found(mapping.kept_draft(draft.id, message, sent.mark, mapping.seconds(message)))]
    return []


async def _send_message(call: MailCall, intent: Intent, _: str) -> Learned:
    message = await call.upstream.send_draft(intent["draft_id"])
    if message is None:
        raise UpstreamConflict("The draft was taken away before it could be sent.", doubt="failed")
    return mapping.kept_message(message, call.clock.now())


async def _find_message(call: MailCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The message that a draft became; nothing while it is a draft, for sending it takes it away."""
    if await call.upstream.get_draft(intent["draft_id"]):
        return []
    message = await _marked_in_thread(call, intent) or await _marked_among_sent(call, intent, sent)
    if message is None:
        raise OutcomeUnknown("The draft is gone, and no message that it became can be found.", doubt="silent")
    return [Found(mapping.kept_message(message, mapping.seconds(message)))]


async def _send_no_draft(call: MailCall, intent: Intent, _: str) -> Learned:
    await call.upstream.delete_draft(intent["draft_id"])
    return {}


async def _find_no_draft(call: MailCall, intent: Intent, _: Sent) -> Sequence[Found]:
    return [] if await call.upstream.get_draft(intent["draft_id"]) else [Found({})]


async def _send_label(call: MailCall, intent: Intent, _: str) -> Learned:
    """Create a label; where somebody did so meanwhile, it is taken as it is."""
    label = await call.upstream.create_label(intent["name"])
    if label is not None:
        return mapping.kept_label(label)
    names = await _every_label(call)
    label_id = mapping.label_id(names, intent["name"])
    if label_id is None:
        raise UpstreamConflict("A label of that name was created and deleted at the same time.")
    return {"id": label_id, "name": names[label_id], "created": False}


async def _find_label(call: MailCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The label of that name, which was not there when the call was planned; in another spelling it is not ours."""
    names = await _every_label(call)
    label_id = mapping.label_id(names, intent["name"])
    if label_id is None:
        return []
    name = names[label_id]
    return [Found({"id": label_id, "name": name, "created": name == intent["name"]})]


async def _send_change(call: MailCall, intent: Intent, _: str) -> Learned:
    return mapping.kept_labels(
        await call.upstream.modify_message(intent["message_id"], intent["add"], intent["remove"])
    )


async def _find_change(call: MailCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The message, if it bears what was to be put on, and nothing of what was to be taken off."""
    kept = mapping.kept_labels(await call.upstream.get_message_labels(intent["message_id"]))
    return [Found(kept)] if mapping.is_changed(kept, intent) else []


def _drafting(body_html: str) -> "Step[MailCall]":
    """The step that makes a draft; its body, which may be large, is kept with the call's arguments alone."""
    return Step("make the draft", partial(_send_new_draft, body_html), _find_draft, tells=mapping.told_draft)


SEND_DRAFT = Step("send the draft", _send_message, _find_message, tells=mapping.told_message)
DELETE_DRAFT = Step("delete the draft", _send_no_draft, _find_no_draft)
CREATE_LABEL = Step("create the label", _send_label, _find_label, tells=mapping.told_label)
CHANGE_LABELS = Step("change the labels", _send_change, _find_change, tells=mapping.told_message)


# The operations


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
    carried = {label_id for message, _ in found for label_id in message.label_ids}
    names = await call.recall(_labels(call), suffices=lambda names: names.keys() >= carried)
    return Page[Message](items=[mapping.message(message, names, body) for message, body in found], position=position)


@writes("POST /messages", errors=[InvalidRecipient, ThreadNotFound, UpstreamConflict])
async def send_message(call: MailCall, params: SendMessage) -> SentMessage:
    """Send an email from the connected address, or a reply inside a thread.

    Every recipient is validated first; if one of them is not a valid address, nothing is sent.
    The message is made as a draft and then sent, so that a repeat can tell whether it went out.
    """
    letter = await call.plan(partial(_letter, call, params, params.thread_id))
    draft = await call.step(_drafting(params.body_html), letter)
    try:
        sent = await call.step(SEND_DRAFT, mapping.sending(draft))
    except GatewayError:
        # A draft that is left behind would look to its owner like a mail that was never finished.
        await call.undo(DELETE_DRAFT, {"draft_id": draft["id"]})
        raise
    return mapping.sent_message(sent, letter)


@writes("POST /messages/{message_id}/labels", errors=[MessageNotFound, LabelNotFound, UpstreamConflict])
async def change_message_labels(call: MailCall, params: ChangeMessageLabels) -> ChangedLabels:
    """Apply labels to a message and strip others from it, by their names.

    A label that is to be applied and does not exist is refused, or created where that is asked for.
    """
    change = await call.plan(partial(_change, call, params))
    try:
        return await _change_labels(call, params.message_id, change)
    except UpstreamRefused:
        if not change["remembered"]:
            raise
    # A label that was remembered may have been deleted since.
    change = await call.plan(partial(_change, call, params, renewed=True))
    return await _change_labels(call, params.message_id, change)


@reads("GET /attachments/{attachment_id}", errors=[MessageNotFound, AttachmentNotFound])
async def fetch_attachment(call: MailCall, params: FetchAttachment) -> FetchedAttachment:
    """Fetch an attachment as a short-lived download link, or as base64."""
    message = await call.upstream.get_message(params.message_id)
    part = await _part(call, message, params.attachment_id)
    found = mapping.attachment(message.id, part).model_dump()
    if params.form == "base64":
        # It is held whole until it is sent: as many at once as a mailbox has readers, and no more.
        async with _reader(call, randrange(READERS)):  # noqa: S311  # nothing depends on which it is
            size_bytes, content = await _content_base64(call, message.id, part)
        return FetchedAttachment(**found | {"size_bytes": size_bytes}, content_base64=content)
    link = call.links.issue({"message": message.id, "part": part.part_id})
    return FetchedAttachment(**found, download_url=link.url, expires_at=link.expires_at)


@asynccontextmanager
async def open_attachment(client: MailClient, content: Position) -> AsyncIterator[Download]:
    """The file behind a download link that was issued for an attachment."""
    message = await client.get_message(content["message"])
    part = mime.find(message.payload, content["part"])
    if part is None:
        raise mapping.no_attachment(content["part"], message.id)
    found = mapping.attachment(message.id, part)
    async with aclosing(_pieces(client, message.id, part)) as pieces:
        yield Download(found.filename, found.mime_type, found.size_bytes or None, pieces)


@writes("POST /drafts", errors=[InvalidRecipient])
async def create_draft(call: MailCall, params: CreateDraft) -> CreatedDraft:
    """Create an unsent draft; nothing is sent."""
    letter = await call.plan(partial(_letter, call, params, None))
    return mapping.created_draft(await call.step(_drafting(params.body_html), letter))


# Reading


def _reader(call: MailCall, number: int) -> AbstractAsyncContextManager[None]:
    """One of the places to read from; a mailbox bears only so many readers at once, whichever calls they serve."""
    return call.exclusive(f"reader {number % READERS}")


async def _read_each(
    call: MailCall, message_ids: Sequence[str], *, with_body: bool
) -> list[tuple[wire.Message, MessageBody | None] | None]:
    """The messages in their order, several at once; None for those that are gone since they were listed."""
    first = randrange(READERS)  # noqa: S311  # nothing depends on which it is

    async def read(index: int, message_id: str) -> tuple[wire.Message, MessageBody | None] | None:
        async with _reader(call, first + index):
            with suppress(MessageNotFound, AttachmentNotFound):
                message = await call.upstream.get_message(message_id, fields="" if with_body else OUTLINE)
                return message, await _body(call, message) if with_body else None
            return None

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(index, message_id)) for index, message_id in enumerate(message_ids)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _headers(call: MailCall, message_id: str) -> wire.Message | None:
    """A message without its parts, or None if there is none."""
    with suppress(MessageNotFound):
        return await call.upstream.get_message_headers(message_id)
    return None


async def _body(call: MailCall, message: wire.Message) -> MessageBody:
    """What a message says."""

    async def said(mime_type: str) -> str | None:
        parts = mime.body_parts(message.payload, mime_type)
        return mime.joined([mime.text(part, await _content(call, message.id, part)) for part in parts])

    return MessageBody(text=await said("text/plain"), html=await said("text/html"))


# Attachments


async def _part(call: MailCall, message: wire.Message, wanted: str) -> wire.Part:
    """The part that an attachment's name stands for, whether it is ours or the vendor's."""
    part_id = mapping.part_id(wanted, message.id)
    part = await _same_file(call, message, wanted) if part_id is None else mime.find(message.payload, part_id)
    if part is None:
        raise mapping.no_attachment(wanted, message.id)
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
    """Size and digest of a file."""
    size, digest = 0, hashlib.sha256()
    async with aclosing(call.upstream.stream_attachment(message_id, attachment_id)) as pieces:
        async for piece in pieces:
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()


async def _content(call: MailCall, message_id: str, part: wire.Part) -> bytes:
    """The bytes of a part, whole."""
    async with aclosing(_pieces(call.upstream, message_id, part)) as pieces:
        return b"".join([piece async for piece in pieces])


async def _content_base64(call: MailCall, message_id: str, part: wire.Part) -> tuple[int, list[bytes]]:
    """The size of a part, and its bytes as base64, which is padded at its very end alone."""
    size_bytes, rest, encoded = 0, b"", []
    async with aclosing(_pieces(call.upstream, message_id, part)) as pieces:
        async for piece in pieces:
            size_bytes += len(piece)
            ready = rest + piece
            # Three bytes make four characters: cut elsewhere, padding would stand in the middle.
            whole = len(ready) // 3 * 3
            encoded.append(b64encode(ready[:whole]))
            rest = ready[whole:]
    return size_bytes, [*encoded, b64encode(rest)]


async def _pieces(client: MailClient, message_id: str, part: wire.Part) -> AsyncGenerator[bytes, None]:
    """The bytes of a part, one after the other."""
    content = mime.inline_content(part)
    if content is not None:
        yield content
        return
    async with aclosing(client.stream_attachment(message_id, part.body.attachment_id or "")) as pieces:
        async for piece in pieces:
            yield piece


# Labels


def _labels(call: MailCall) -> LookUp[Names]:
    """The names of all labels by their identifiers."""
    return LookUp("labels", LABELS_SECONDS, partial(_every_label, call))


async def _every_label(call: MailCall) -> Names:
    """The names of all labels by their identifiers, as they are now."""
    return {label.id: label.name for label in await call.upstream.list_labels()}


async def _change(call: MailCall, params: ChangeMessageLabels, *, renewed: bool = False) -> Kept:
    """What is to be put on and taken off, and which labels are to be created, for a message that then exists."""
    wanted = [*params.add, *params.remove]
    known: Names | None = call.memory.get("labels")
    labels = _labels(call)
    names = await (
        call.renew(labels)
        if renewed
        else call.recall(labels, suffices=lambda names: all(mapping.label_id(names, name) for name in wanted))
    )
    change = mapping.change(names, params.add, params.remove, create_missing=params.create_missing)
    if change["missing"]:
        await call.upstream.get_message_labels(params.message_id)
    return change | {"remembered": names is known}


async def _change_labels(call: MailCall, message_id: str, change: Kept) -> ChangedLabels:
    """The labels after a change."""
    created = [await call.step(CREATE_LABEL, {"name": name}) for name in change["missing"]]
    made = iter(created)
    add = [label_id or next(made)["id"] for label_id in change["add"]]
    intent = {"message_id": message_id, "add": add, "remove": change["remove"]}
    try:
        changed = await _changed(call, intent)
    except UpstreamRefused:
        # What the application did not take may have been the identifier of the message.
        await call.upstream.get_message_labels(message_id)
        raise
    new = {label["id"]: label["name"] for label in created}
    names = await call.recall(
        _labels(call), suffices=lambda names: names.keys() | new.keys() >= set(changed["label_ids"])
    )
    return mapping.changed_labels(changed, {**new, **names}, created)


async def _changed(call: MailCall, intent: Intent) -> Kept:
    """The message after a change, which may be none."""
    if intent["add"] or intent["remove"]:
        return await call.step(CHANGE_LABELS, intent)
    return mapping.kept_labels(await call.upstream.get_message_labels(intent["message_id"]))


# Sending


async def _letter(call: MailCall, params: SendMessage | CreateDraft, thread_id: str | None) -> Kept:
    """Everything of a letter but its body."""
    to = mapping.recipients(params.to)
    parent = mapping.Parent(params.subject)
    if thread_id is not None:
        parent = mapping.parent(await call.upstream.get_thread(thread_id), thread_id)
    return mapping.planned_letter(await _sender(call), to, parent, thread_id, call.clock.now())


async def _sender(call: MailCall) -> Mailbox:
    """The connected address."""

    async def find() -> Mailbox:
        return mapping.own_mailbox(await call.upstream.list_send_as())

    return await call.recall(LookUp("sender", SENDER_SECONDS, find))


# Recognising what a write has made


async def _marked_in_thread(call: MailCall, intent: Intent) -> wire.Message | None:
    """The sent message that bears the draft's mark, in the thread of the draft."""
    with suppress(ThreadNotFound):
        thread = await call.upstream.get_thread(intent["thread_id"])
        for message in thread.messages:
            if "SENT" in message.label_ids and _is_marked(message, intent["mark"]):
                return message
    return None


async def _marked_among_sent(call: MailCall, intent: Intent, sent: Sent) -> wire.Message | None:
    """The sent message that bears the draft's mark, wherever it is; its thread may have become another."""
    listed = call.upstream.every_message({"labelIds": "SENT"})
    async for _, message in _not_older(call, listed, lambda listed: listed.id, sent.earliest):
        if _is_marked(message, intent["mark"]):
            return message
    return None


async def _not_older(
    call: MailCall, listing: AsyncIterator[T], message_id: Callable[[T], str], earliest: float
) -> AsyncIterator[tuple[T, wire.Message]]:
    """What is listed, newest first, and its message without its parts; it ends where all that follows is too old."""
    older = 0
    async for listed in listing:
        message = await _headers(call, message_id(listed))
        if message is None:
            continue
        older = older + 1 if mapping.seconds(message) < earliest else 0
        if older == OLDER_IN_A_ROW:
            return
        yield listed, message


def _is_marked(message: wire.Message, mark: str) -> bool:
    return mime.header(message.payload, MARKER) == mark
