"""User actions: external mail arrives, and people tidy up the mailbox in Gmail."""

from base64 import b64decode
from collections.abc import Mapping
from email.utils import parseaddr
from functools import partial
from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit import input_validation
from workspace_sandbox.kit.input_validation import texts
from workspace_sandbox.kit.user_actions import (
    ActionField,
    UserAction,
    UserActions,
    lookup_in,
    optional,
    reader_for,
    text,
)
from workspace_sandbox.mail.api.message_json import short
from workspace_sandbox.mail.data import mime_writer
from workspace_sandbox.mail.data.mime_writer import MimeEntity
from workspace_sandbox.mail.data.search_index import strip_tags
from workspace_sandbox.mail.data.state import Mailbox, Message

if TYPE_CHECKING:
    from workspace_sandbox.mail.emulator import MailEmulator

ActionResult = dict[str, Any]


def _receive(
    gmail: "MailEmulator",
    sender: tuple[str, str],
    subject: str,
    rich: str,
    *,
    body_text: str = "",
    thread_id: str = "",
    labels: list[str] | None = None,
    attachments: list[Mapping[str, Any]] | None = None,
) -> ActionResult:
    transport, mailbox = gmail.services.transport, gmail.mailbox
    at, token = transport.now_ms(), f"{transport.random.getrandbits(80):020x}"
    headers = [
        ("From", mime_writer.mailbox(*sender)),
        ("To", mime_writer.mailbox(mailbox.name, mailbox.address)),
        ("Subject", mime_writer.encode_word(subject)),
        ("Date", mime_writer.date(at)),
        ("Message-ID", f"<{token}@mail.{sender[1].rpartition('@')[2]}>"),
        *(_reply_headers(mailbox, thread_id) if thread_id else ()),
    ]
    plain = " ".join(strip_tags(body_text or rich).split())
    raw = mime_writer.build_message(headers, _content(plain, rich, attachments or [], f"=_{token}"))
    label_ids = _label_ids(mailbox, labels or [])
    message = transport.deliver(mailbox, raw, sender[1], at)
    mailbox.relabel(message, label_ids, [])
    return _message_json(message)


def _relabel(gmail: "MailEmulator", message: Message, *, add: str = "", remove: str = "") -> ActionResult:
    gmail.mailbox.relabel(message, [add] if add else [], [remove] if remove else [])
    return _message_json(message)


def _delete(gmail: "MailEmulator", message: Message) -> ActionResult:
    gmail.mailbox.remove(message)
    return _message_json(message)


def _pull(gmail: "MailEmulator", *, topic: str | None = None) -> ActionResult:
    return {"messages": gmail.services.transport.topics.pull(topic)}


def _message_json(message: Message) -> ActionResult:
    return {"message_id": message.id, "thread_id": message.thread_id, **short(message)}


def _line(value: Any) -> str:
    return " ".join(input_validation.text(value).splitlines())


def _sender(_: Any, value: Any) -> tuple[str, str]:
    sender = parseaddr(_line(value))
    if "@" not in sender[1]:
        raise ValueError("must be an email address")
    return sender


def _files(_: Any, value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("must be a list of objects")
    return value


def _content(plain: str, rich: str, attachments: list[Mapping[str, Any]], boundary: str) -> MimeEntity:
    body = mime_writer.multipart(
        "alternative", f"{boundary}.a", mime_writer.text(plain), mime_writer.text(rich, "html")
    )
    files = [_file(item) for item in attachments]
    return mime_writer.multipart("mixed", f"{boundary}.m", body, *files) if files else body


def _file(item: Mapping[str, Any]) -> MimeEntity:
    name, mime_type = str(item.get("filename", "")), str(item.get("mime_type", "application/octet-stream"))
    if "size_bytes" in item:
        return mime_writer.filler(mime_type, int(item["size_bytes"]), name)
    return mime_writer.attachment(mime_type, b64decode(item["content_base64"], validate=True), name)


def _reply_headers(mailbox: Mailbox, thread_id: str) -> list[tuple[str, str]]:
    if thread_id not in mailbox.threads:
        raise ValueError(f"no thread {thread_id!r}")
    parent = mailbox.threads[thread_id][-1]
    references = f"{parent.header('References')} {parent.message_id}".strip()
    return [("In-Reply-To", parent.message_id), ("References", references)]


def _label_ids(mailbox: Mailbox, names: list[str]) -> list[str]:
    matches = {name: mailbox.find_label(name) for name in names}
    missing = [name for name, label in matches.items() if label is None]
    if missing:
        raise ValueError(f"no label {', '.join(missing)}")
    return [label.id for label in matches.values() if label]


MESSAGE = (ActionField("message_id", "the message", lookup_in(lambda gmail: gmail.mailbox.messages)),)
TOLD = "`message_id`, `thread_id`, `id`, `threadId`"

ACTS: UserActions = {
    "receive": UserAction(
        _receive,
        "Delivers a message to the mailbox.",
        (
            ActionField("from", "an email address, optionally with a display name", _sender),
            ActionField("subject", "its subject", reader_for(_line)),
            ActionField("body_html", "its text", text),
            optional("body_text", "the plain text; default: derived from body_html", text),
            optional("thread_id", "the thread to reply in", text),
            optional("labels", "names of labels", reader_for(texts)),
            optional("attachments", "`filename`, `mime_type`, and `content_base64` or `size_bytes` of each", _files),
        ),
        TOLD,
    ),
    "trash": UserAction(partial(_relabel, add="TRASH"), "Moves a message to the trash.", MESSAGE, TOLD),
    "archive": UserAction(partial(_relabel, remove="INBOX"), "Archives a message.", MESSAGE, TOLD),
    "mark_read": UserAction(partial(_relabel, remove="UNREAD"), "Marks a message as read.", MESSAGE, TOLD),
    "delete": UserAction(_delete, "Deletes a message permanently.", MESSAGE, TOLD),
    "pull": UserAction(
        _pull,
        "Pulls the notifications that watches have published.",
        (optional("topic", "the topic; default: all", text),),
        "`messages`: `data` in base64, `messageId`, `publishTime` of each",
    ),
}
