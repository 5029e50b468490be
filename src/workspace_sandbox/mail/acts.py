"""What people do: write to the mailbox from elsewhere, and tidy it up in the application."""

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from email.utils import parseaddr
from typing import Any

from workspace_sandbox.kit.acts import Act
from workspace_sandbox.mail import compose
from workspace_sandbox.mail.compose import Entity
from workspace_sandbox.mail.index import untagged
from workspace_sandbox.mail.office import PostOffice
from workspace_sandbox.mail.resources import short
from workspace_sandbox.mail.state import Mailbox, Message

Action = Mapping[str, Any]


def perform(office: PostOffice, mailbox: Mailbox, action: Action) -> dict[str, Any]:
    """Do *action*; one that is unknown or incomplete is a ``ValueError``."""
    name = str(action.get("action"))
    if name not in ACTS:
        raise ValueError(f"unknown action {name!r}; there are {', '.join(ACTS)}")
    return ACTS[name].do(office, mailbox, action)


def receive(office: PostOffice, mailbox: Mailbox, action: Action) -> dict[str, Any]:
    """Somebody writes to the mailbox, with ``thread_id`` into a thread of it."""
    sender = parseaddr(_text(action, "from"))
    if "@" not in sender[1]:
        raise ValueError("from: not an address")
    at, token = office.now_ms(), f"{office.random.getrandbits(80):020x}"
    headers = [
        ("From", compose.mailbox(*sender)),
        ("To", compose.mailbox(mailbox.name, mailbox.address)),
        ("Subject", compose.word(_text(action, "subject"))),
        ("Date", compose.date(at)),
        ("Message-ID", f"<{token}@mail.{sender[1].rpartition('@')[2]}>"),
        *_following(mailbox, action.get("thread_id")),
    ]
    raw = compose.letter(headers, _content(action, f"=_{token}"))
    message = office.deliver(mailbox, raw, sender[1], at)
    mailbox.relabel(message, _label_ids(mailbox, _listed(action, "labels", str)), [])
    return _told(message)


def trash(_: PostOffice, mailbox: Mailbox, action: Action) -> dict[str, Any]:
    """The user moves a message to the trash."""
    return _relabelled(mailbox, action, add=["TRASH"])


def archive(_: PostOffice, mailbox: Mailbox, action: Action) -> dict[str, Any]:
    """The user takes a message out of the inbox."""
    return _relabelled(mailbox, action, remove=["INBOX"])


def mark_read(_: PostOffice, mailbox: Mailbox, action: Action) -> dict[str, Any]:
    """The user reads a message."""
    return _relabelled(mailbox, action, remove=["UNREAD"])


def delete(_: PostOffice, mailbox: Mailbox, action: Action) -> dict[str, Any]:
    """The user deletes a message for good."""
    message = _message(mailbox, action)
    mailbox.remove(message)
    return _told(message)


def pull(office: PostOffice, _: Mailbox, action: Action) -> dict[str, Any]:
    """Take what waits in a topic."""
    topic = _text(action, "topic") if action.get("topic") is not None else None
    return {"messages": office.topics.pull(topic)}


MESSAGE = {"message_id": "the message"}
TOLD = "`message_id`, `thread_id`, `id`, `threadId`"

ACTS: Mapping[str, Act[Callable[[PostOffice, Mailbox, Action], dict[str, Any]]]] = {
    "receive": Act(
        receive,
        "Somebody writes to the mailbox.",
        {"from": "an address, also with a name before it", "subject": "its subject", "body_html": "its text"},
        {
            "body_text": "the plain text; otherwise made of the other",
            "thread_id": "the thread that it answers",
            "labels": "names of labels",
            "attachments": "`filename`, `mime_type`, and `content_base64` or `size_bytes` of each",
        },
        TOLD,
    ),
    "trash": Act(trash, "Moves a message to the trash.", MESSAGE, answers=TOLD),
    "archive": Act(archive, "Takes a message out of the inbox.", MESSAGE, answers=TOLD),
    "mark_read": Act(mark_read, "Reads a message.", MESSAGE, answers=TOLD),
    "delete": Act(delete, "Deletes a message for good.", MESSAGE, answers=TOLD),
    "pull": Act(
        pull,
        "Takes the notifications that watches have published.",
        takes={"topic": "of this topic alone"},
        answers="`messages`: `data` in base64, `messageId`, `publishTime` of each",
    ),
}
"""Everything a person can do here, by name."""


def _relabelled(
    mailbox: Mailbox, action: Action, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> dict[str, Any]:
    message = _message(mailbox, action)
    mailbox.relabel(message, add, remove)
    return _told(message)


def _told(message: Message) -> dict[str, Any]:
    return {"message_id": message.id, "thread_id": message.thread_id, **short(message)}


def _message(mailbox: Mailbox, action: Action) -> Message:
    message = mailbox.messages.get(_text(action, "message_id"))
    if message is None:
        raise ValueError(f"message_id: no message {action['message_id']!r}")
    return message


def _text(action: Action, name: str) -> str:
    value = action.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}: wanted, as text")
    return " ".join(value.splitlines()) if name in {"from", "subject"} else value


def _listed(action: Action, name: str, kind: type) -> list[Any]:
    listed = action.get(name, [])
    if not isinstance(listed, list) or not all(isinstance(one, kind) for one in listed):
        raise ValueError(f"{name}: wanted, as a list")
    return listed


def _content(action: Action, boundary: str) -> Entity:
    rich = _text(action, "body_html")
    plain = " ".join(untagged(action.get("body_text") or rich).split())
    body = compose.multipart("alternative", f"{boundary}.a", compose.text(plain), compose.text(rich, "html"))
    files = [_file(given) for given in _listed(action, "attachments", Mapping)]
    return compose.multipart("mixed", f"{boundary}.m", body, *files) if files else body


def _file(given: Mapping[str, Any]) -> Entity:
    name, mime_type = str(given.get("filename", "")), str(given.get("mime_type", "application/octet-stream"))
    if "size_bytes" in given:
        return compose.filler(mime_type, int(given["size_bytes"]), name)
    return compose.attachment(mime_type, b64decode(given["content_base64"], validate=True), name)


def _following(mailbox: Mailbox, thread_id: str | None) -> list[tuple[str, str]]:
    if not thread_id:
        return []
    if thread_id not in mailbox.threads:
        raise ValueError(f"thread_id: no thread {thread_id!r}")
    parent = mailbox.threads[thread_id][-1]
    return [
        ("In-Reply-To", parent.message_id),
        ("References", f"{parent.header('References')} {parent.message_id}".strip()),
    ]


def _label_ids(mailbox: Mailbox, names: list[str]) -> list[str]:
    found = {name: mailbox.label_named(name) for name in names}
    missing = [name for name, label in found.items() if label is None]
    if missing:
        raise ValueError(f"labels: no label {', '.join(missing)}")
    return [label.id for label in found.values() if label]
