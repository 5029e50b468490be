"""A view of the emulator's mailboxes, and helpers for searches and downloads."""

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
from workspace_sandbox.mail.data.mime_parser import decode_words
from workspace_sandbox.mail.data.state import Label, Mailbox, Message

OWN_ADDRESS = "nora@brightfjord.test"


@dataclass(frozen=True)
class VendorInspector:
    """Direct access to the emulator's mailboxes."""

    emulator: MailEmulator

    @property
    def own(self) -> Mailbox:
        """The connected mailbox."""
        return self.emulator.services.transport.mailboxes[OWN_ADDRESS]

    def find_messages(self, subject: str, label: str) -> list[Message]:
        """Return the messages with this label and exactly this subject."""
        messages = list(self.own.messages.values())  # an abandoned call may still be adding to them
        return [message for message in messages if label in message.label_ids and _has_subject(message, subject)]

    def sent(self, subject: str) -> list[Message]:
        """Return the sent messages with this subject."""
        return self.find_messages(subject, "SENT")

    def drafts(self, subject: str) -> list[Message]:
        """Return the drafts with this subject."""
        return self.find_messages(subject, "DRAFT")

    def parse_message(self, message_id: str) -> EmailMessage:
        """Return a message as the standard library parses it."""
        return parse_message(self.own.messages[message_id].raw)

    def add_label(self, label_id: str, name: str) -> None:
        """Add a label, like another client of the mailbox."""
        self.own.labels[label_id] = Label(label_id, name, "user", {})

    def receive(self, raw: bytes, *labels: str) -> Message:
        """Add a raw message to the mailbox."""
        return self.own.add(raw, list(labels) or ["INBOX"], self.emulator.services.transport.now_ms())


def _has_subject(message: Message, subject: str) -> bool:
    return decode_words(message.header("Subject")) == subject


def parse_message(raw: bytes) -> EmailMessage:
    """Return a message as the standard library parses it."""
    message = message_from_bytes(raw, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def search_one(gateway: Gateway, q: str, **query: Any) -> dict[str, Any]:
    """Return the only match of a search."""
    (message,) = gateway.get("/mail/messages", q=q, **query).data
    assert isinstance(message, dict)
    return message


def download(gateway: Gateway, url: str, method: str = "GET") -> httpx.Response:
    """Send a request to a download link without a key, at the gateway's own URL instead of the published one."""
    return gateway.http.request(method, gateway.base_url + urlsplit(url).path)


def get_error_code(response: httpx.Response) -> str | None:
    """Return the error code of a failed download, or None if it succeeded."""
    return None if response.status_code == 200 else str(response.json()["error"]["code"])


def receive_message(gateway: Gateway, subject: str, *attachments: Mapping[str, Any], **more: Any) -> str:
    """Receive a message from another sender, and return its identifier."""
    response = gateway.act(
        "mail",
        action="receive",
        **{"from": "Ben Roe <ben@acmefreight.test>"},
        subject=subject,
        body_html="<p>Hello</p>",
        attachments=list(attachments),
        **more,
    )
    return str(response["message_id"])


def build_attachment(name: str, content: bytes, mime_type: str = "application/pdf") -> dict[str, Any]:
    """Return an attachment for a message to receive."""
    return {"filename": name, "mime_type": mime_type, "content_base64": b64encode(content).decode()}


def get_plain_text(message: EmailMessage) -> str:
    """Return the plain-text alternative of a message."""
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n").strip("\n")


def list_recipients(message: EmailMessage) -> Sequence[tuple[str, str]]:
    """Return names and addresses of a message's recipients."""
    return [(address.display_name, address.addr_spec) for address in message["To"].addresses]
