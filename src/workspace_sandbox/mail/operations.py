"""What each method of the API does to a mailbox, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from workspace_sandbox.mail import labels
from workspace_sandbox.mail.labels import IMMOVABLE, MAX_LABELS, SHOWN, Label
from workspace_sandbox.mail.listing import list_drafts, list_history, list_messages, list_threads
from workspace_sandbox.mail.office import HEX_ID, PostOffice
from workspace_sandbox.mail.quota import Ledger
from workspace_sandbox.mail.refusals import (
    NO_RAW,
    Refusal,
    invalid,
    metadata_scope,
    not_found,
    precondition,
)
from workspace_sandbox.mail.request import Ask
from workspace_sandbox.mail.resources import Attachments, Resources, short
from workspace_sandbox.mail.schema import encode
from workspace_sandbox.mail.state import Mailbox, Message

MAX_CHANGES = 100
MAX_BATCH_IDS = 1_000


@dataclass(frozen=True)
class Desk:
    """Where the methods are served: the mail itself and everything that counts or shows it."""

    office: PostOffice
    resources: Resources
    attachments: Attachments
    ledger: Ledger


T = TypeVar("T")
Answer = dict[str, Any] | None
Operation = Callable[[Desk, Ask], Answer]


def get_profile(_: Desk, ask: Ask) -> Answer:
    """Address and size of the mailbox."""
    box = ask.mailbox
    return {
        "emailAddress": box.address,
        "messagesTotal": len(box.messages),
        "threadsTotal": len(box.threads),
        "historyId": str(box.history_id),
    }


def get_message(desk: Desk, ask: Ask) -> Answer:
    """One message."""
    return desk.resources.message(_message(ask), *_reading(ask))


def send_message(desk: Desk, ask: Ask) -> Answer:
    """Send what is given, new or into a thread."""
    raw = desk.office.prepared(ask.mailbox, _content(ask, ask.body))
    thread_id = desk.office.thread_for(ask.mailbox, raw, ask.body.get("threadId"))
    return short(_send(desk, ask.mailbox, raw, thread_id))


def insert_message(desk: Desk, ask: Ask) -> Answer:
    """Put a message into the mailbox without sending it."""
    raw = _content(ask, ask.body)
    label_ids = _known(ask.mailbox, ask.body.get("labelIds", []))
    thread_id = desk.office.thread_for(ask.mailbox, raw, ask.body.get("threadId"))
    return short(ask.mailbox.add(raw, label_ids, _received_at(desk, ask, raw), thread_id))


def delete_message(_: Desk, ask: Ask) -> Answer:
    """Delete a message for good."""
    ask.mailbox.remove(_message(ask))
    return None


def modify_message(_: Desk, ask: Ask) -> Answer:
    """Change the labels of one message."""
    add, remove = _changes(ask)
    message = _message(ask)
    if message.has("DRAFT"):
        raise precondition()
    ask.mailbox.relabel(message, add, remove)
    return short(message)


def batch_modify(_: Desk, ask: Ask) -> Answer:
    """Change the labels of many messages; those that do not exist are passed over."""
    add, remove = _changes(ask)
    for message in _many(ask):
        if not message.has("DRAFT"):
            ask.mailbox.relabel(message, add, remove)
    return None


def batch_delete(_: Desk, ask: Ask) -> Answer:
    """Delete many messages; those that do not exist are passed over."""
    for message in _many(ask):
        ask.mailbox.remove(message)
    return None


def trash_message(_: Desk, ask: Ask) -> Answer:
    """Move a message to the trash."""
    message = _message(ask)
    ask.mailbox.relabel(message, ["TRASH"], [])
    return short(message)


def untrash_message(_: Desk, ask: Ask) -> Answer:
    """Take a message out of the trash."""
    message = _message(ask)
    ask.mailbox.relabel(message, [], ["TRASH"])
    return short(message)


def get_attachment(desk: Desk, ask: Ask) -> Answer:
    """The bytes of an attachment."""
    part = desk.attachments.resolve(_message(ask, "messageId"), ask.ids["id"])
    return {"size": part.size, "data": encode(part.content)}


def get_thread(desk: Desk, ask: Ask) -> Answer:
    """A thread with all its messages."""
    return desk.resources.thread(ask.mailbox, _thread(ask), *_reading(ask))


def modify_thread(_: Desk, ask: Ask) -> Answer:
    """Change the labels of every message of a thread."""
    return _relabel_thread(ask, *_changes(ask))


def trash_thread(_: Desk, ask: Ask) -> Answer:
    """Move a thread to the trash."""
    return _relabel_thread(ask, ["TRASH"], [])


def untrash_thread(_: Desk, ask: Ask) -> Answer:
    """Take a thread out of the trash."""
    return _relabel_thread(ask, [], ["TRASH"])


def delete_thread(_: Desk, ask: Ask) -> Answer:
    """Delete a thread for good."""
    for message in list(ask.mailbox.threads[_thread(ask)]):
        ask.mailbox.remove(message)
    return None


def create_draft(desk: Desk, ask: Ask) -> Answer:
    """Keep a message for later."""
    given = ask.body.get("message", {})
    raw = desk.office.prepared(ask.mailbox, _content(ask, given))
    thread_id = desk.office.thread_for(ask.mailbox, raw, given.get("threadId"))
    return _keep_draft(desk, ask.mailbox, desk.office.new_draft_id(), raw, thread_id)


def get_draft(desk: Desk, ask: Ask) -> Answer:
    """A draft and its message."""
    return {"id": ask.ids["id"], "message": desk.resources.message(_draft(ask, ask.ids["id"]), *_reading(ask))}


def update_draft(desk: Desk, ask: Ask) -> Answer:
    """Replace the message of a draft: the draft keeps its id, the message gets a new one."""
    held, given = _draft(ask, ask.ids["id"]), ask.body.get("message", {})
    raw = desk.office.prepared(ask.mailbox, _content(ask, given))
    thread_id = desk.office.thread_for(ask.mailbox, raw, given.get("threadId")) or held.thread_id
    ask.mailbox.remove(held)
    return _keep_draft(desk, ask.mailbox, ask.ids["id"], raw, thread_id)


def send_draft(desk: Desk, ask: Ask) -> Answer:
    """Send a draft, which then is one no more; its thread stays, its message gets a new id."""
    if not ask.body.get("id"):
        raise invalid("Invalid draft")
    held, given = _draft(ask, ask.body["id"]), ask.body.get("message", {})
    replaced = ask.media is not None or "raw" in given
    raw = desk.office.prepared(ask.mailbox, _content(ask, given)) if replaced else held.raw
    sent = _send(desk, ask.mailbox, raw, held.thread_id)
    ask.mailbox.remove(held)
    return short(sent)


def delete_draft(_: Desk, ask: Ask) -> Answer:
    """Delete a draft for good."""
    ask.mailbox.remove(_draft(ask, ask.ids["id"]))
    return None


def list_labels(_: Desk, ask: Ask) -> Answer:
    """All labels."""
    return {"labels": [label.resource for label in ask.mailbox.labels.values()]}


def get_label(_: Desk, ask: Ask) -> Answer:
    """One label, with what carries it counted."""
    label = _label(ask)
    carrying = [message for message in ask.mailbox.messages.values() if message.has(label.id)]
    unread = [message for message in carrying if message.has("UNREAD")]
    counts = {
        "messagesTotal": len(carrying),
        "messagesUnread": len(unread),
        "threadsTotal": len({message.thread_id for message in carrying}),
        "threadsUnread": len({message.thread_id for message in unread}),
    }
    return label.resource | counts


def create_label(desk: Desk, ask: Ask) -> Answer:
    """A new label of the user's own."""
    if len(ask.mailbox.labels) >= MAX_LABELS:
        raise invalid("Exceeded the maximum number of labels")
    name = labels.checked_name(ask.body.get("name", ""), ask.mailbox.labels)
    label = Label(desk.office.new_label_id(ask.mailbox), name, "user", dict(SHOWN))
    labels.changed(label, ask.body, ask.mailbox.labels)
    ask.mailbox.labels[label.id] = label
    return label.resource


def update_label(_: Desk, ask: Ask) -> Answer:
    """Change a label of the user's own."""
    label = _label(ask)
    if label.type == "system":
        raise invalid("Invalid update request")
    if ask.method.verb == "PUT" and not ask.body.get("name"):
        raise invalid("Invalid label name")
    labels.changed(label, ask.body, ask.mailbox.labels)
    return label.resource


def delete_label(_: Desk, ask: Ask) -> Answer:
    """Delete a label of the user's own and take it off every message."""
    label = _label(ask)
    if label.type == "system":
        raise invalid("Invalid delete request")
    ask.mailbox.forget_label(label.id)
    return None


def list_send_as(_: Desk, ask: Ask) -> Answer:
    """The addresses the user may send from: only the own one."""
    own = {
        "sendAsEmail": ask.mailbox.address,
        "displayName": ask.mailbox.name,
        "replyToAddress": "",
        "signature": "",
        "isPrimary": True,
        "isDefault": True,
    }
    return {"sendAs": [own]}


OPERATIONS: Mapping[str, Operation] = {
    "getProfile": get_profile,
    "messages.list": lambda desk, ask: list_messages(ask, desk.office.now()),
    "messages.get": get_message,
    "messages.send": send_message,
    "messages.insert": insert_message,
    "messages.import": insert_message,
    "messages.delete": delete_message,
    "messages.modify": modify_message,
    "messages.batchModify": batch_modify,
    "messages.batchDelete": batch_delete,
    "messages.trash": trash_message,
    "messages.untrash": untrash_message,
    "messages.attachments.get": get_attachment,
    "threads.list": lambda desk, ask: list_threads(ask, desk.office.now()),
    "threads.get": get_thread,
    "threads.modify": modify_thread,
    "threads.trash": trash_thread,
    "threads.untrash": untrash_thread,
    "threads.delete": delete_thread,
    "drafts.list": lambda desk, ask: list_drafts(ask, desk.office.now()),
    "drafts.create": create_draft,
    "drafts.get": get_draft,
    "drafts.update": update_draft,
    "drafts.send": send_draft,
    "drafts.delete": delete_draft,
    "labels.list": list_labels,
    "labels.get": get_label,
    "labels.create": create_label,
    "labels.update": update_label,
    "labels.patch": update_label,
    "labels.delete": delete_label,
    "history.list": lambda _, ask: list_history(ask),
    "settings.sendAs.list": list_send_as,
}
"""How each method of the catalogue is served."""


def _send(desk: Desk, mailbox: Mailbox, raw: bytes, thread_id: str | None) -> Message:
    recipients = desk.office.recipients(raw)
    desk.ledger.send(mailbox.address)
    return desk.office.send(mailbox, raw, recipients, thread_id)


def _keep_draft(desk: Desk, mailbox: Mailbox, draft_id: str, raw: bytes, thread_id: str | None) -> Answer:
    message = mailbox.add(raw, ["DRAFT"], desk.office.now_ms(), thread_id)
    mailbox.drafts[draft_id] = message
    return {"id": draft_id, "message": short(message)}


def _content(ask: Ask, given: Mapping[str, Any]) -> bytes:
    content = given.get("raw", b"") if ask.media is None else ask.media
    if not content:
        raise invalid(NO_RAW)
    return bytes(content)


def _received_at(desk: Desk, ask: Ask, raw: bytes) -> int:
    default = "dateHeader" if ask.method.id == "messages.import" else "receivedTime"
    written = Message("", "", raw, [], 0, 0).header("Date")
    if ask.query.get("internalDateSource", default) == "receivedTime" or not written:
        return desk.office.now_ms()
    try:
        return max(0, int(parsedate_to_datetime(written).timestamp() * 1000))
    except (ValueError, OverflowError):
        return desk.office.now_ms()


def _reading(ask: Ask) -> tuple[str, list[str]]:
    form = ask.query.get("format", "full").lower()
    if ask.metadata_only and form in {"full", "raw"}:
        raise metadata_scope(f"format {form.upper()}")
    return form, ask.query.get("metadataHeaders", [])


def _message(ask: Ask, name: str = "id") -> Message:
    return _existing(ask.mailbox.messages, ask.ids[name])


def _thread(ask: Ask) -> str:
    return _existing(ask.mailbox.threads, ask.ids["id"])[0].thread_id


def _existing(known: Mapping[str, T], wanted: str) -> T:
    if not HEX_ID.fullmatch(wanted.lower()):
        raise invalid("Invalid id value")
    if wanted.lower() not in known:
        raise not_found()
    return known[wanted.lower()]


def _draft(ask: Ask, draft_id: str) -> Message:
    if draft_id not in ask.mailbox.drafts:
        raise not_found()
    return ask.mailbox.drafts[draft_id]


def _label(ask: Ask) -> Label:
    if ask.ids["id"] not in ask.mailbox.labels:
        raise not_found()
    return ask.mailbox.labels[ask.ids["id"]]


def _many(ask: Ask) -> list[Message]:
    wanted = [one.lower() for one in ask.body.get("ids", [])]
    if not wanted:
        raise invalid("No message ids specified")
    if len(wanted) > MAX_BATCH_IDS:
        raise invalid("Too many message ids specified")
    if not all(map(HEX_ID.fullmatch, wanted)):
        raise invalid("Invalid ids value")
    return [ask.mailbox.messages[one] for one in dict.fromkeys(wanted) if one in ask.mailbox.messages]


def _changes(ask: Ask) -> tuple[list[str], list[str]]:
    add, remove = ask.body.get("addLabelIds", []), ask.body.get("removeLabelIds", [])
    if not add and not remove:
        raise invalid("No label add or removes specified")
    if max(len(add), len(remove)) > MAX_CHANGES:
        raise invalid("Too many labels specified")
    if not set(add).isdisjoint(remove):
        raise invalid("Cannot both add and remove the same label")
    return _movable(ask.mailbox, add), _movable(ask.mailbox, remove)


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


def _relabel_thread(ask: Ask, add: list[str], remove: list[str]) -> Answer:
    thread_id = _thread(ask)
    members = ask.mailbox.threads[thread_id]
    for message in members:
        if not message.has("DRAFT"):
            ask.mailbox.relabel(message, add, remove)
    return {"id": thread_id, "messages": [short(message) for message in members]}
