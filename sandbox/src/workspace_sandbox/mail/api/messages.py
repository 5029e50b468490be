"""The methods of messages, with helpers that threads and drafts share."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.mail.api.message_json import short
from workspace_sandbox.mail.api.pagination import build_filter, matching_messages, page
from workspace_sandbox.mail.body_schemas import encode
from workspace_sandbox.mail.data.mail_delivery import HEX_ID
from workspace_sandbox.mail.data.state import Mailbox, Message
from workspace_sandbox.mail.error_responses import NO_RAW, ApiError, invalid, metadata_scope, not_found, precondition
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody

MAX_CHANGES = 100
MAX_BATCH_IDS = 1_000
IMMOVABLE = frozenset({"SENT", "DRAFT"})
"""Labels that a client cannot add or remove."""

T = TypeVar("T")


def list_messages(services: MailServices, request: ApiRequest) -> ResponseBody:
    """List messages."""
    is_match = build_filter(request, services.transport.now())
    return page(
        request,
        "messages",
        matching_messages(request, is_match),
        lambda match: {"id": match.id, "threadId": match.thread_id},
    )


def get_message(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Return a message."""
    return services.resources.message(_message(request), *read_format(request))


def send_message(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Send a message, in a new thread or an existing one."""
    raw = services.transport.prepare(request.mailbox, read_content(request, request.body))
    thread_id = services.transport.resolve_thread(request.mailbox, raw, request.body.get("threadId"))
    return short(send(services, request.mailbox, raw, thread_id))


def insert_message(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Store a message in the mailbox without sending it."""
    raw = read_content(request, request.body)
    label_ids = _check_labels(request.mailbox, request.body.get("labelIds", []))
    thread_id = services.transport.resolve_thread(request.mailbox, raw, request.body.get("threadId"))
    return short(request.mailbox.add(raw, label_ids, _received_at(services, request, raw), thread_id))


def delete_message(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete a message permanently."""
    request.mailbox.remove(_message(request))
    return None


def modify_message(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Change the labels of one message."""
    add, remove = read_label_changes(request)
    message = _message(request)
    if message.has_label("DRAFT"):
        raise precondition()
    request.mailbox.relabel(message, add, remove)
    return short(message)


def batch_modify(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Change the labels of several messages. Unknown ids are ignored."""
    add, remove = read_label_changes(request)
    for message in _messages(request):
        if not message.has_label("DRAFT"):
            request.mailbox.relabel(message, add, remove)
    return None


def batch_delete(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete several messages. Unknown ids are ignored."""
    for message in _messages(request):
        request.mailbox.remove(message)
    return None


def trash_message(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Move a message to the trash."""
    message = _message(request)
    request.mailbox.relabel(message, ["TRASH"], [])
    return short(message)


def untrash_message(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Take a message out of the trash."""
    message = _message(request)
    request.mailbox.relabel(message, [], ["TRASH"])
    return short(message)


def get_attachment(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Return the bytes of an attachment."""
    part = services.attachments.resolve(_message(request, "messageId"), request.ids["id"])
    # The response has neither a name nor a type: a client has to take them from the message.
    return {"size": part.size, "data": encode(part.content)}


def send(services: MailServices, mailbox: Mailbox, raw: bytes, thread_id: str | None) -> Message:
    """Charge the daily sending limit and send a message to its recipients."""
    recipients = services.transport.recipients(raw)
    services.quotas.send(mailbox.address)
    return services.transport.send(mailbox, raw, recipients, thread_id)


def read_content(request: ApiRequest, fields: Mapping[str, Any]) -> bytes:
    """Return the raw message of the request, uploaded or base64-decoded."""
    content = fields.get("raw", b"") if request.media is None else request.media
    if not content:
        raise invalid(NO_RAW)
    return bytes(content)


def _received_at(services: MailServices, request: ApiRequest, raw: bytes) -> int:
    default = "dateHeader" if request.method.id == "messages.import" else "receivedTime"
    date_header = Message("", "", raw, [], 0, 0).header("Date")
    if request.query.get("internalDateSource", default) == "receivedTime" or not date_header:
        return services.transport.now_ms()
    try:
        return max(0, int(parsedate_to_datetime(date_header).timestamp() * 1000))
    except (ValueError, OverflowError):
        return services.transport.now_ms()


def read_format(request: ApiRequest) -> tuple[str, list[str]]:
    """Return the requested format and header names."""
    form = request.query.get("format", "full").lower()
    if request.metadata_only and form in {"full", "raw"}:
        raise metadata_scope(f"format {form.upper()}")
    return form, request.query.get("metadataHeaders", [])


def read_label_changes(request: ApiRequest) -> tuple[list[str], list[str]]:
    """Return the labels to add and the labels to remove."""
    add, remove = request.body.get("addLabelIds", []), request.body.get("removeLabelIds", [])
    if not add and not remove:
        raise invalid("No label add or removes specified")
    if max(len(add), len(remove)) > MAX_CHANGES:
        raise invalid("Too many labels specified")
    if not set(add).isdisjoint(remove):
        raise invalid("Cannot both add and remove the same label")
    return _check_movable(request.mailbox, add), _check_movable(request.mailbox, remove)


def get_existing(items: Mapping[str, T], item_id: str) -> T:
    """Return the item with the id *item_id*."""
    if not HEX_ID.fullmatch(item_id.lower()):
        raise invalid("Invalid id value")
    return require(items.get(item_id.lower()), not_found())


def _message(request: ApiRequest, name: str = "id") -> Message:
    return get_existing(request.mailbox.messages, request.ids[name])


def _messages(request: ApiRequest) -> list[Message]:
    ids = [message_id.lower() for message_id in request.body.get("ids", [])]
    if not ids:
        raise invalid("No message ids specified")
    if len(ids) > MAX_BATCH_IDS:
        raise invalid("Too many message ids specified")
    if not all(map(HEX_ID.fullmatch, ids)):
        raise invalid("Invalid ids value")
    # The reference does not guarantee that the messages exist, and the response is 204 in any case.
    return [
        request.mailbox.messages[message_id]
        for message_id in dict.fromkeys(ids)
        if message_id in request.mailbox.messages
    ]


def _check_movable(mailbox: Mailbox, label_ids: list[str]) -> list[str]:
    fixed = next((label_id for label_id in label_ids if label_id in IMMOVABLE), None)
    if fixed:
        raise _no_label(fixed)
    return _check_labels(mailbox, label_ids)


def _check_labels(mailbox: Mailbox, label_ids: list[str]) -> list[str]:
    unknown = next((label_id for label_id in label_ids if label_id not in mailbox.labels), None)
    if unknown is not None:
        raise _no_label(unknown)
    return list(dict.fromkeys(label_ids))


def _no_label(label_id: str) -> ApiError:
    return invalid(f"Invalid label: {label_id}")
