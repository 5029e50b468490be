"""What a person would see in the mailbox, and pages read to the end."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any
from urllib.parse import urlsplit

import httpx

from harness.gateway_server import Gateway
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.mail.data.mime import decode_words
from workspace_sandbox.mail.data.state import Label, Mailbox, Message

OWN = "nora@brightfjord.test"


@dataclass(frozen=True)
class Looking:
    """The stand-in's mailboxes, looked at directly."""

    emulator: MailEmulator

    @property
    def own(self) -> Mailbox:
        """The connected mailbox."""
        return self.emulator.services.transport.mailboxes[OWN]

    def under(self, subject: str, label: str) -> list[Message]:
        """The messages with that label whose subject is exactly that."""
        held = list(self.own.messages.values())  # a call that was given up may still be adding to them
        return [found for found in held if label in found.label_ids and _is(found, subject)]

    def sent(self, subject: str) -> list[Message]:
        """The sent messages with that subject."""
        return self.under(subject, "SENT")

    def drafts(self, subject: str) -> list[Message]:
        """The drafts with that subject."""
        return self.under(subject, "DRAFT")

    def letter(self, message_id: str) -> EmailMessage:
        """A message as the standard library reads it."""
        return read(self.own.messages[message_id].raw)

    def add_label(self, label_id: str, name: str) -> None:
        """Make a label, as if it had just been made elsewhere."""
        self.own.labels[label_id] = Label(label_id, name, "user", {})

    def receive(self, raw: bytes, *labels: str) -> Message:
        """Put a message into the mailbox just as its sender wrote it."""
        return self.own.add(raw, list(labels) or ["INBOX"], self.emulator.services.transport.now_ms())


def _is(message: Message, subject: str) -> bool:
    return decode_words(message.header("Subject")) == subject


def read(raw: bytes) -> EmailMessage:
    """A message as the standard library reads it."""
    found = message_from_bytes(raw, policy=default)
    assert isinstance(found, EmailMessage)
    return found


def one(gateway: Gateway, q: str, **query: Any) -> dict[str, Any]:
    """The only message that is found."""
    (found,) = gateway.get("/mail/messages", q=q, **query).data
    assert isinstance(found, dict)
    return found


def follow(gateway: Gateway, url: str, method: str = "GET") -> httpx.Response:
    """What is at a download address, asked for without a key; the address as the operator publishes it leads here."""
    return gateway.http.request(method, gateway.base_url + urlsplit(url).path)


def code_of(response: httpx.Response) -> str | None:
    """The code of a refused download; None where there is a file."""
    return None if response.status_code == 200 else str(response.json()["error"]["code"])


def received(gateway: Gateway, subject: str, *attachments: Mapping[str, Any], **more: Any) -> str:
    """The identifier of a new message, written by somebody else."""
    told = gateway.act(
        "mail",
        action="receive",
        **{"from": "Ben Roe <ben@acmefreight.test>"},
        subject=subject,
        body_html="<p>Hello</p>",
        attachments=list(attachments),
        **more,
    )
    return str(told["message_id"])


def file(name: str, content: bytes, mime_type: str = "application/pdf") -> dict[str, Any]:
    """An attachment for a message to be received."""
    return {"filename": name, "mime_type": mime_type, "content_base64": b64encode(content).decode()}


def plain(letter: EmailMessage) -> str:
    """The plain-text alternative of a letter."""
    part = letter.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n").strip("\n")


def recipients(letter: EmailMessage) -> Sequence[tuple[str, str]]:
    """Names and addresses that a letter is for."""
    return [(address.display_name, address.addr_spec) for address in letter["To"].addresses]
