"""Messages, and what threads and drafts share with them."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.mail.listing import filter_of, matching, page
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.office import HEX_ID
from workspace_sandbox.mail.refusals import NO_RAW, invalid, metadata_scope, not_found, precondition
from workspace_sandbox.mail.resources import short
from workspace_sandbox.mail.schema import encode
from workspace_sandbox.mail.state import Mailbox, Message
from workspace_sandbox.mail.wire import Refusal

MAX_CHANGES = 100
MAX_BATCH_IDS = 1_000
IMMOVABLE = frozenset({"SENT", "DRAFT"})
"""Labels that nobody can put on a message or take off it."""

T = TypeVar("T")


def list_messages(desk: MailServices, ask: Ask) -> Answer:
    """A page of messages."""
    chosen = filter_of(ask, desk.office.now())
    return page(ask, "messages", matching(ask, chosen), lambda found: {"id": found.id, "threadId": found.thread_id})


def get_message(desk: MailServices, ask: Ask) -> Answer:
    """One message."""
    return desk.resources.message(_message(ask), *reading(ask))


def send_message(desk: MailServices, ask: Ask) -> Answer:
    """Send what is given, new or into a thread."""
    raw = desk.office.prepared(ask.mailbox, content(ask, ask.body))
    thread_id = desk.office.thread_for(ask.mailbox, raw, ask.body.get("threadId"))
    return short(send(desk, ask.mailbox, raw, thread_id))


def insert_message(desk: MailServices, ask: Ask) -> Answer:
    """Put a message into the mailbox without sending it."""
    raw = content(ask, ask.body)
    label_ids = _known(ask.mailbox, ask.body.get("labelIds", []))
    thread_id = desk.office.thread_for(ask.mailbox, raw, ask.body.get("threadId"))
    return short(ask.mailbox.add(raw, label_ids, _received_at(desk, ask, raw), thread_id))


def delete_message(_: MailServices, ask: Ask) -> Answer:
    """Delete a message for good."""
    ask.mailbox.remove(_message(ask))
    return None


def modify_message(_: MailServices, ask: Ask) -> Answer:
    """Change the labels of one message."""
    add, remove = changes(ask)
    message = _message(ask)
    if message.has("DRAFT"):
        raise precondition()
    ask.mailbox.relabel(message, add, remove)
    return short(message)


def batch_modify(_: MailServices, ask: Ask) -> Answer:
    """Change the labels of many messages; those that do not exist are passed over."""
    add, remove = changes(ask)
    for message in _many(ask):
        if not message.has("DRAFT"):
            ask.mailbox.relabel(message, add, remove)
    return None


def batch_delete(_: MailServices, ask: Ask) -> Answer:
    """Delete many messages; those that do not exist are passed over."""
    for message in _many(ask):
        ask.mailbox.remove(message)
    return None


def trash_message(_: MailServices, ask: Ask) -> Answer:
    """Move a message to the trash."""
    message = _message(ask)
    ask.mailbox.relabel(message, ["TRASH"], [])
    return short(message)


def untrash_message(_: MailServices, ask: Ask) -> Answer:
    """Take a message out of the trash."""
    message = _message(ask)
    ask.mailbox.relabel(message, [], ["TRASH"])
    return short(message)


def get_attachment(desk: MailServices, ask: Ask) -> Answer:
    """The bytes of an attachment."""
    part = desk.attachments.resolve(_message(ask, "messageId"), ask.ids["id"])
    # Neither a name nor a type: a client has to take them from the message.
    return {"size": part.size, "data": encode(part.content)}


def send(desk: MailServices, mailbox: Mailbox, raw: bytes, thread_id: str | None) -> Message:
    """Send a message to those it is for, and count it."""
    recipients = desk.office.recipients(raw)
    desk.ledger.send(mailbox.address)
    return desk.office.send(mailbox, raw, recipients, thread_id)


def content(ask: Ask, given: Mapping[str, Any]) -> bytes:
    """The message that is given, uploaded or in base64."""
    content = given.get("raw", b"") if ask.media is None else ask.media
    if not content:
        raise invalid(NO_RAW)
    return bytes(content)


def _received_at(desk: MailServices, ask: Ask, raw: bytes) -> int:
    default = "dateHeader" if ask.method.id == "messages.import" else "receivedTime"
    written = Message("", "", raw, [], 0, 0).header("Date")
    if ask.query.get("internalDateSource", default) == "receivedTime" or not written:
        return desk.office.now_ms()
    try:
        return max(0, int(parsedate_to_datetime(written).timestamp() * 1000))
    except (ValueError, OverflowError):
        return desk.office.now_ms()


def reading(ask: Ask) -> tuple[str, list[str]]:
    """The form that is asked for, and the headers."""
    form = ask.query.get("format", "full").lower()
    if ask.metadata_only and form in {"full", "raw"}:
        raise metadata_scope(f"format {form.upper()}")
    return form, ask.query.get("metadataHeaders", [])


def changes(ask: Ask) -> tuple[list[str], list[str]]:
    """The labels that are to be put on and taken off."""
    add, remove = ask.body.get("addLabelIds", []), ask.body.get("removeLabelIds", [])
    if not add and not remove:
        raise invalid("No label add or removes specified")
    if max(len(add), len(remove)) > MAX_CHANGES:
        raise invalid("Too many labels specified")
    if not set(add).isdisjoint(remove):
        raise invalid("Cannot both add and remove the same label")
    return _movable(ask.mailbox, add), _movable(ask.mailbox, remove)


def existing(known: Mapping[str, T], wanted: str) -> T:
    """What is *known* by the identifier that is *wanted*."""
    if not HEX_ID.fullmatch(wanted.lower()):
        raise invalid("Invalid id value")
    return require(known.get(wanted.lower()), not_found())


def _message(ask: Ask, name: str = "id") -> Message:
    return existing(ask.mailbox.messages, ask.ids[name])


def _many(ask: Ask) -> list[Message]:
    wanted = [one.lower() for one in ask.body.get("ids", [])]
    if not wanted:
        raise invalid("No message ids specified")
    if len(wanted) > MAX_BATCH_IDS:
        raise invalid("Too many message ids specified")
    if not all(map(HEX_ID.fullmatch, wanted)):
        raise invalid("Invalid ids value")
    # The reference gives no guarantee that the messages exist, and answers 204 all the same.
    return [ask.mailbox.messages[one] for one in dict.fromkeys(wanted) if one in ask.mailbox.messages]


def _movable(mailbox: Mailbox, label_ids: list[str]) -> list[str]:
    fixed = next((label_id for label_id in label_ids if label_id in IMMOVABLE), None)
    if fixed:
        raise _no_label(fixed)
    return _known(mailbox, label_ids)


def _known(mailbox: Mailbox, label_ids: list[str]) -> list[str]:
    unknown = next((label_id for label_id in label_ids if label_id not in mailbox.labels), None)
    if unknown is not None:
        raise _no_label(unknown)
    return list(dict.fromkeys(label_ids))


def _no_label(label_id: str) -> Refusal:
    return invalid(f"Invalid label: {label_id}")
