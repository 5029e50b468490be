"""The transport: delivers mail between the sandbox's mailboxes and rewrites it in the vendor's way."""

import re
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from workspace_sandbox.mail.body_schemas import encode
from workspace_sandbox.mail.data import mail_filters, mime_writer
from workspace_sandbox.mail.data.mime_parser import parse, read_headers, split_head
from workspace_sandbox.mail.data.pubsub import Topics
from workspace_sandbox.mail.data.state import Mailbox, Message
from workspace_sandbox.mail.error_responses import invalid, not_found

ADDRESS = re.compile(r"[^\s@,;:<>()\[\]\\\"]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
HEX_ID = re.compile(r"[0-9a-f]{1,16}")
LONG_LABEL = 10**9
"""Label numbers from here on belong to seeded labels and do not advance the counter."""

MAX_RECIPIENTS = 500
RECIPIENT_HEADERS = ("To", "Cc", "Bcc")


class MailTransport:
    """All mailboxes, and the delivery of mail between them."""

    def __init__(self, random: Random, now: Callable[[], float], knobs: Mapping[str, Any]) -> None:
        self.random = random
        self.now = now
        self.knobs = knobs
        self.mailboxes: dict[str, Mailbox] = {}
        self.topics = Topics()
        self._sequence = 0
        self._used: set[str] = set()

    def create_mailbox(self, address: str, name: str) -> Mailbox:
        """Create a mailbox."""
        self.mailboxes[address] = Mailbox(address, name, self.new_id)
        self.mailboxes[address].on_change = self.publish_record
        return self.mailboxes[address]

    def publish_record(self, mailbox: Mailbox, record: Mapping[str, Any]) -> None:
        """Publish a history record of *mailbox* to its watchers."""
        self.topics.notify(mailbox, record, self.now(), limited=self.knobs["limits"])

    def new_id(self, at: int) -> tuple[str, int]:
        """Return an identifier in the vendor's format, and the message's sequence number."""
        self._sequence += 1
        while True:
            identifier = f"{max(at, 1 << 40):011x}{self.random.getrandbits(20):05x}"
            if identifier not in self._used:
                self._used.add(identifier)
                return identifier, self._sequence

    def new_draft_id(self) -> str:
        """Return a draft identifier in the vendor's format: a signed number after an r."""
        return f"r{self.random.randrange(-(1 << 62), 1 << 62)}"

    def new_label_id(self, mailbox: Mailbox) -> str:
        """Return the identifier of the next user label."""
        numbers = [int(label_id[6:]) for label_id in mailbox.labels if label_id.startswith("Label_")]
        return f"Label_{max([number for number in numbers if number < LONG_LABEL], default=0) + 1}"

    def now_ms(self) -> int:
        """Return the current time in milliseconds."""
        return int(self.now() * 1000)

    def prepare(self, mailbox: Mailbox, raw: bytes) -> bytes:
        """Return *raw* as the vendor stores a user's message: with CRLF line endings and the user's own sender."""
        raw = mime_writer.with_crlf(raw)
        senders = [address.lower() for _, address in parse(raw[: split_head(raw, 0, len(raw))[1]]).addresses("From")]
        # Gmail replaces a sender that the account is not allowed to use by the account's own address.
        return raw if senders == [mailbox.address] else mime_writer.replace_headers(raw, {"From": _own_sender(mailbox)})

    def resolve_thread(self, mailbox: Mailbox, raw: bytes, thread_id: str | None) -> str | None:
        """Return the thread that a message written for *thread_id* joins, if it follows the rules of threads."""
        if not thread_id:
            return None
        if not HEX_ID.fullmatch(thread_id.lower()):
            raise invalid("Invalid thread_id value")
        if thread_id.lower() not in mailbox.threads:
            raise not_found()
        # Without matching headers and subject, a message starts a new thread ("Managing threads").
        return thread_id.lower() if mailbox.belongs_to_thread(thread_id.lower(), raw) else None

    def send(self, mailbox: Mailbox, raw: bytes, recipients: Collection[str], thread_id: str | None) -> Message:
        """Send *raw* from that mailbox in that thread, and deliver it to the *recipients* that have a mailbox here."""
        at = self.now_ms()
        headers = {name.lower() for name, _ in read_headers(raw, 0, split_head(raw, 0, len(raw))[0])}
        new_headers = {} if "date" in headers else {"Date": mime_writer.date(at)}
        # Gmail replaces the client's ``Message-ID``, as measurements show. This is undocumented.
        if self.knobs["rewrite_message_id"] or "message-id" not in headers:
            new_headers["Message-ID"] = f"<CA{encode(self.random.randbytes(36))}@mail.gmail.com>"
        raw = mime_writer.replace_headers(raw, new_headers) if new_headers else raw
        # A mail to oneself is one message with the labels of both sides.
        own = ["INBOX", "UNREAD"] if mailbox.address in recipients else []
        sent = mailbox.add(raw, ["SENT", *own], at, thread_id)
        for address in recipients:
            if address in self.mailboxes and address != mailbox.address:
                self.deliver(self.mailboxes[address], raw, mailbox.address, at)
        return sent

    def deliver(self, mailbox: Mailbox, raw: bytes, sender: str, at: int) -> Message:
        """Deliver *raw* to a mailbox as incoming mail."""
        # Recipients must not see the Bcc addresses.
        arrived = mime_writer.replace_headers(
            raw, {"Bcc": None}, mime_writer.trace_headers(self.random, mailbox.address, sender, at)
        )
        label_ids = mail_filters.apply_filters(mailbox, arrived, ["UNREAD", "INBOX"], at)
        return mailbox.add(arrived, label_ids, at, mailbox.find_thread(arrived))

    def recipients(self, raw: bytes) -> list[str]:
        """Return the recipient addresses of *raw* in lower case. A malformed one is rejected."""
        root = parse(raw[: split_head(raw, 0, len(raw))[1]])
        recipients: list[str] = []
        for header in RECIPIENT_HEADERS:
            text = root.header(header) or ""
            addresses = [address for _, address in root.addresses(header)]
            empty_group = text.rstrip().endswith(":;")
            broken = not addresses and text.strip() and not empty_group
            if broken or not all(ADDRESS.fullmatch(address) and address.isascii() for address in addresses):
                raise invalid(f"Invalid {header} header")
            recipients += [address.lower() for address in addresses]
        if not recipients:
            raise invalid("Recipient address required")
        if len(recipients) > MAX_RECIPIENTS:
            raise invalid("Too many recipients")
        return list(dict.fromkeys(recipients))


def _own_sender(mailbox: Mailbox) -> str:
    return mime_writer.mailbox(mailbox.name, mailbox.address)
