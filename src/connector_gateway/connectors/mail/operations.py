"""The five mail operations."""

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from functools import partial
from random import randrange
from typing import Any

from connector_gateway.connectors.mail import mapping, mime
from connector_gateway.connectors.mail.client import MARKER, OUTLINE, READERS, MailClient
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
Raw = Mapping[str, Any]
Names = Mapping[str, str]

LABELS_SECONDS = 60.0
SENDER_SECONDS = 60 * 60.0
OLDER_IN_A_ROW = 10
"""A listing comes newest first, but nobody promises that; it is read on until so many in a row are too old."""


# The steps that change something


async def _send_new_draft(body_html: str, call: MailCall, intent: Intent, mark: str) -> Learned:
    """Make a draft of a letter, which bears the mark in a header."""
    letter = mapping.letter(intent, body_html, (MARKER, mark))
    raw = await call.upstream.create_draft(await asyncio.to_thread(mime.raw, letter), intent["thread_id"])
    return mapping.kept_draft(raw, mark, call.clock.now())


async def _find_draft(call: MailCall, _: Intent, sent: Sent) -> Sequence[Found]:
    """The draft that bears the mark, among all drafts that are not too old."""
    drafts = call.upstream.list_drafts()
    async for draft, raw in _not_older(call, drafts, lambda draft: str(draft["message"]["id"]), sent.earliest):
        if _is_marked(raw, sent.mark):
            return [Found(mapping.kept_draft({**draft, "message": raw}, sent.mark, mapping.seconds(raw)))]
    return []


async def _send_message(call: MailCall, intent: Intent, _: str) -> Learned:
    raw = await call.upstream.send_draft(intent["draft_id"])
    if raw is None:
        raise UpstreamConflict("The draft was taken away before it could be sent.", doubt="failed")
    return mapping.kept_message(raw, call.clock.now())


async def _find_message(call: MailCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The message that a draft became; nothing while it is a draft, for sending it takes it away."""
    if await call.upstream.get_draft(intent["draft_id"]):
        return []
    raw = await _marked_in_thread(call, intent) or await _marked_among_sent(call, intent, sent)
    if raw is None:
        raise OutcomeUnknown("The draft is gone, and no message that it became can be found.", doubt="silent")
    return [Found(mapping.kept_message(raw, mapping.seconds(raw)))]


async def _send_no_draft(call: MailCall, intent: Intent, _: str) -> Learned:
    await call.upstream.delete_draft(intent["draft_id"])
    return {}


async def _find_no_draft(call: MailCall, intent: Intent, _: Sent) -> Sequence[Found]:
    return [] if await call.upstream.get_draft(intent["draft_id"]) else [Found({})]


async def _send_label(call: MailCall, intent: Intent, _: str) -> Learned:
    """Create a label; where somebody did so meanwhile, it is taken as it is."""
    raw = await call.upstream.create_label(intent["name"])
    if raw is not None:
        return {"id": raw["id"], "name": raw["name"], "created": True}
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
    kept = mapping.kept_labels(await call.upstream.get_message(intent["message_id"], "minimal"))
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
    carried = {label_id for raw, _ in found for label_id in raw.get("labelIds", [])}
    names = await call.recall(_labels(call), suffices=lambda names: names.keys() >= carried)
    return Page[Message](items=[mapping.message(raw, names, body) for raw, body in found], position=position)


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
) -> list[tuple[Raw, MessageBody | None] | None]:
    """The messages in their order, several at once; None for those that are gone since they were listed."""
    first = randrange(READERS)  # noqa: S311  # nothing depends on which it is

    async def read(index: int, message_id: str) -> tuple[Raw, MessageBody | None] | None:
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


async def _body(call: MailCall, raw: Raw) -> MessageBody:
    """What a message says."""

    async def said(mime_type: str) -> str | None:
        part = mime.body_part(raw.get("payload") or {}, mime_type)
        return None if part is None else mime.text(part, await _content(call, raw, part))

    return MessageBody(text=await said("text/plain"), html=await said("text/html"))


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


def _labels(call: MailCall) -> LookUp[Names]:
    """The names of all labels by their identifiers."""
    return LookUp("labels", LABELS_SECONDS, partial(_every_label, call))


async def _every_label(call: MailCall) -> Names:
    """The names of all labels by their identifiers, as they are now."""
    return {raw["id"]: raw["name"] for raw in await call.upstream.list_labels()}


async def _change(call: MailCall, params: ChangeMessageLabels, *, renewed: bool = False) -> Raw:
    """What is to be put on and taken off, and which labels are to be created, for a message that then exists."""
    wanted = [*params.add, *params.remove]
    known: Names | None = call.memory.get("labels")
    labels = _labels(call)
    names = await (
        call.renew(labels)
        if renewed
        else call.recall(labels, suffices=lambda names: all(mapping.label_id(names, name) for name in wanted))
    )
    change = mapping.change(names, params.add, params.remove)
    if change["missing"] and not params.create_missing:
        raise mapping.no_label(change["missing"], params.add)
    if change["missing"]:
        await call.upstream.get_message(params.message_id, "minimal")
    return change | {"remembered": names is known}


async def _change_labels(call: MailCall, message_id: str, change: Raw) -> ChangedLabels:
    """The labels after a change."""
    created = [await call.step(CREATE_LABEL, {"name": name}) for name in change["missing"]]
    made = iter(created)
    add = [label_id or next(made)["id"] for label_id in change["add"]]
    intent = {"message_id": message_id, "add": add, "remove": change["remove"]}
    try:
        changed = await _changed(call, intent)
    except UpstreamRefused:
        # What the application did not take may have been the identifier of the message.
        await call.upstream.get_message(message_id, "minimal")
        raise
    new = {label["id"]: label["name"] for label in created}
    names = await call.recall(
        _labels(call), suffices=lambda names: names.keys() | new.keys() >= set(changed["label_ids"])
    )
    return mapping.changed_labels(changed, {**new, **names}, created)


async def _changed(call: MailCall, intent: Intent) -> Raw:
    """The message after a change, which may be none."""
    if intent["add"] or intent["remove"]:
        return await call.step(CHANGE_LABELS, intent)
    return mapping.kept_labels(await call.upstream.get_message(intent["message_id"], "minimal"))


# Sending


async def _letter(call: MailCall, params: SendMessage | CreateDraft, thread_id: str | None) -> Raw:
    """Everything of a letter but its body."""
    to = mapping.recipients(params.to)
    thread = None if thread_id is None else await call.upstream.get_thread(thread_id)
    parent = mapping.Parent(params.subject) if thread is None else mapping.parent(thread)
    return mapping.planned_letter(await _sender(call), to, parent, thread_id, call.clock.now())


async def _sender(call: MailCall) -> Mailbox:
    """The connected address."""

    async def find() -> Mailbox:
        return mapping.own_mailbox(await call.upstream.list_send_as())

    return await call.recall(LookUp("sender", SENDER_SECONDS, find))


# Recognising what a write has made


async def _marked_in_thread(call: MailCall, intent: Intent) -> Raw | None:
    """The sent message that bears the draft's mark, in the thread of the draft."""
    with suppress(ThreadNotFound):
        thread = await call.upstream.get_thread(intent["thread_id"])
        for raw in thread.get("messages", []):
            if "SENT" in raw.get("labelIds", []) and _is_marked(raw, intent["mark"]):
                found: Raw = raw
                return found
    return None


async def _marked_among_sent(call: MailCall, intent: Intent, sent: Sent) -> Raw | None:
    """The sent message that bears the draft's mark, wherever it is; its thread may have become another."""
    listed = call.upstream.every_message({"labelIds": "SENT"})
    async for _, raw in _not_older(call, listed, lambda listed: str(listed["id"]), sent.earliest):
        if _is_marked(raw, intent["mark"]):
            return raw
    return None


async def _not_older(
    call: MailCall, listing: AsyncIterator[Raw], message_id: Callable[[Raw], str], earliest: float
) -> AsyncIterator[tuple[Raw, Raw]]:
    """What is listed, newest first, and its message without its parts; it ends where all that follows is too old."""
    older = 0
    async for listed in listing:
        raw = await _headers(call, message_id(listed))
        if raw is None:
            continue
        older = older + 1 if mapping.seconds(raw) < earliest else 0
        if older == OLDER_IN_A_ROW:
            return
        yield listed, raw


def _is_marked(raw: Raw, mark: str) -> bool:
    return mime.header(raw.get("payload") or {}, MARKER) == mark
