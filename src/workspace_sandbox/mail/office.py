"""The post office: carries mail between the sandbox's mailboxes, and rewrites it as the vendor does."""

import re
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from workspace_sandbox.mail import compose, rules
from workspace_sandbox.mail.mime import parse, read_headers, split_head
from workspace_sandbox.mail.refusals import invalid, not_found
from workspace_sandbox.mail.schema import encode
from workspace_sandbox.mail.state import Mailbox, Message
from workspace_sandbox.mail.topics import Topics

ADDRESS = re.compile(r"[^\s@,;:<>()\[\]\\\"]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
HEX_ID = re.compile(r"[0-9a-f]{1,16}")
LONG_LABEL = 10**9
"""Label numbers from here on are of the long kind, which is not counted up."""

MAX_RECIPIENTS = 500
RECIPIENT_HEADERS = ("To", "Cc", "Bcc")


class MailTransport:
    """All mailboxes, and the way from one to another."""

    def __init__(self, random: Random, now: Callable[[], float], knobs: Mapping[str, Any]) -> None:
        self.random = random
        self.now = now
        self.knobs = knobs
        self.mailboxes: dict[str, Mailbox] = {}
        self.topics = Topics()
        self._sequence = 0
        self._used: set[str] = set()

    def open(self, address: str, name: str) -> Mailbox:
        """A new mailbox."""
        self.mailboxes[address] = Mailbox(address, name, self.new_id)
        self.mailboxes[address].heard = self.hear
        return self.mailboxes[address]

    def hear(self, mailbox: Mailbox, record: Mapping[str, Any]) -> None:
        """Tell whoever watches *mailbox* of a record of its history."""
        self.topics.hear(mailbox, record, self.now(), limited=self.knobs["limits"])

    def new_id(self, at: int) -> tuple[str, int]:
        """An identifier that looks like the vendor's, and the number of the message in the order of arrival."""
        self._sequence += 1
        while True:
            new = f"{max(at, 1 << 40):011x}{self.random.getrandbits(20):05x}"
            if new not in self._used:
                self._used.add(new)
                return new, self._sequence

    def new_draft_id(self) -> str:
        """An identifier of a draft: as the vendor's, a signed number behind an r."""
        return f"r{self.random.randrange(-(1 << 62), 1 << 62)}"

    def new_label_id(self, mailbox: Mailbox) -> str:
        """The identifier of the next label of a user's own."""
        numbers = [int(label_id[6:]) for label_id in mailbox.labels if label_id.startswith("Label_")]
        return f"Label_{max([number for number in numbers if number < LONG_LABEL], default=0) + 1}"

    def now_ms(self) -> int:
        """The present in milliseconds."""
        return int(self.now() * 1000)

    def prepared(self, mailbox: Mailbox, raw: bytes) -> bytes:
        """*raw* as the vendor keeps what its user wrote: own lines, own sender."""
        raw = compose.with_crlf(raw)
        senders = [address.lower() for _, address in parse(raw[: split_head(raw, 0, len(raw))[1]]).addresses("From")]
        # Gmail puts the account's own address in place of one that it may not send as.
        return raw if senders == [mailbox.address] else compose.changed(raw, {"From": _own(mailbox)})

    def thread_for(self, mailbox: Mailbox, raw: bytes, thread_id: str | None) -> str | None:
        """The thread that a message written for *thread_id* joins, if it follows the rules of threads."""
        if not thread_id:
            return None
        if not HEX_ID.fullmatch(thread_id.lower()):
            raise invalid("Invalid thread_id value")
        if thread_id.lower() not in mailbox.threads:
            raise not_found()
        # Without fitting headers and subject, a message begins a thread of its own ("Managing threads").
        return thread_id.lower() if mailbox.joins(thread_id.lower(), raw) else None

    def send(self, mailbox: Mailbox, raw: bytes, recipients: Collection[str], thread_id: str | None) -> Message:
        """Send *raw* from that mailbox into that thread of it, and deliver it to the *recipients* who have one here."""
        at = self.now_ms()
        headers = {name.lower() for name, _ in read_headers(raw, 0, split_head(raw, 0, len(raw))[0])}
        made = {} if "date" in headers else {"Date": compose.date(at)}
        # Gmail replaces the ``Message-ID`` that a client wrote, as measurements show; no page says so.
        if self.knobs["rewrite_message_id"] or "message-id" not in headers:
            made["Message-ID"] = f"<CA{encode(self.random.randbytes(36))}@mail.gmail.com>"
        raw = compose.changed(raw, made) if made else raw
        # A mail to oneself is one message with the labels of both sides.
        own = ["INBOX", "UNREAD"] if mailbox.address in recipients else []
        sent = mailbox.add(raw, ["SENT", *own], at, thread_id)
        for address in recipients:
            if address in self.mailboxes and address != mailbox.address:
                self.deliver(self.mailboxes[address], raw, mailbox.address, at)
        return sent

    def deliver(self, mailbox: Mailbox, raw: bytes, sender: str, at: int) -> Message:
        """Put *raw* into a mailbox as it arrives from elsewhere."""
        # Whoever gets a message must not see who got it in secret.
        arrived = compose.changed(raw, {"Bcc": None}, compose.traces(self.random, mailbox.address, sender, at))
        label_ids = rules.labels_of(mailbox, arrived, ["UNREAD", "INBOX"], at)
        return mailbox.add(arrived, label_ids, at, mailbox.thread_of(arrived))

    def recipients(self, raw: bytes) -> list[str]:
        """The addresses *raw* is for, in small letters; a damaged one is refused."""
        root = parse(raw[: split_head(raw, 0, len(raw))[1]])
        found: list[str] = []
        for header in RECIPIENT_HEADERS:
            written = root.header(header) or ""
            addresses = [address for _, address in root.addresses(header)]
            empty_group = written.rstrip().endswith(":;")
            broken = not addresses and written.strip() and not empty_group
            if broken or not all(ADDRESS.fullmatch(address) and address.isascii() for address in addresses):
                raise invalid(f"Invalid {header} header")
            found += [address.lower() for address in addresses]
        if not found:
            raise invalid("Recipient address required")
        if len(found) > MAX_RECIPIENTS:
            raise invalid("Too many recipients")
        return list(dict.fromkeys(found))


def _own(mailbox: Mailbox) -> str:
    return compose.mailbox(mailbox.name, mailbox.address)
