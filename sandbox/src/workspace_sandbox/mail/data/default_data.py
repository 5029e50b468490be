"""The default mailbox: several months of office mail, always identical."""

from collections.abc import Sequence
from random import Random
from typing import Any

from workspace_sandbox.mail.data import mime_writer
from workspace_sandbox.mail.data.edge_case_messages import EDGE_CASES, MANIFEST, MANIFEST_PDF_PART, EdgeCaseMessage
from workspace_sandbox.mail.data.mail_delivery import MailTransport
from workspace_sandbox.mail.data.state import SHOWN, Label, Mailbox, Message

ADDRESS, NAME = "nora@brightfjord.test", "Nora Lind"
COLLEAGUES = (("jonas@brightfjord.test", "Jonas Weiß"), ("priya@brightfjord.test", "Priya Raman"))
RANDOM_SEED = 20261120
"""The seed of the random source of the default mailbox, so that its identifiers never change."""

LATEST = 1_795_161_600_000
"""The time of the newest message, 2026-11-20T08:00:00Z. The default data does not move with the clock."""

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
LABELS = {
    "Label_1": "Clients",
    "Label_2": "Clients/Acme Freight",
    "Label_3": "Clients/Brio Foods",
    "Label_4": "Invoices",
    "Label_5": "invoices/Paid",
    "Label_7": "Follow Up",
    "Label_8": "URGENT",
    "Label_9": "to-do",
    "Label_12": "Büro",
    "Label_15": "Travel 2026",
    "Label_16": "clients-brio-foods",
    "Label_8213470912345678901": "重要案件",
}
LABELS_WITHOUT_VISIBILITY = frozenset({"Label_9", "Label_15"})
"""Labels without visibility in lists, like those created in Gmail long ago."""

EXAMPLE_LABELS = ("Follow Up", "Clients/Acme Freight")
EXAMPLE_QUERY = "subject:invoice"
CONVERSATIONS, PROMOTIONS, UPDATES, SOCIAL, FORUMS, SPAM, TRASH, DRAFTS = 150, 45, 40, 20, 14, 14, 12, 9
PEOPLE = (
    ("Ben Roe", "ben@acmefreight.test"),
    ("Ana Ferreira", "ana@acmefreight.test"),
    ("Greta Müller", "greta@kaiwerk.test"),
    ("Luca Conti", "luca@briofoods.test"),
    ("Mei Tan", "mei@minato-line.test"),
    ("Samuel O'Neill", "sam@oneill-ropes.test"),
    *((name, address) for address, name in COLLEAGUES),
)
THINGS = (
    "invoice",
    "berth",
    "reefer",
    "crane slot",
    "customs form",
    "crew list",
    "pallet count",
    "sailing",
    "contract",
)
TURNS = ("for week {n}", "no. {n}", "at quay {n}", "for November, part {n}", "({n})")
SENTENCES = (
    "The {thing} is ready and needs your signature.",
    "Could you look at the {thing} before noon?",
    "We moved it to Tuesday because of the swell.",
    "Nothing else changes, the price stays as agreed.",
    "Jonas has the keys to the cold store.",
    "I have copied the port office so that they know.",
    "Please let me know if the numbers look wrong.",
    "The drivers wait at gate B from six.",
    "Thanks for the quick answer yesterday.",
    "Attached you will find nothing this time.",
)


def fill_mailboxes(transport: MailTransport) -> dict[str, Any]:
    """Open the mailboxes, fill the first one and return example identifiers."""
    mailbox = transport.create_mailbox(ADDRESS, NAME)
    for address, name in COLLEAGUES:
        transport.create_mailbox(address, name)
    for label_id, name in LABELS.items():
        visibility = {} if label_id in LABELS_WITHOUT_VISIBILITY else dict(SHOWN)
        mailbox.labels[label_id] = Label(label_id, name, "user", visibility)
    mailbox.labels["Label_8"].color = {"textColor": "#ffffff", "backgroundColor": "#cc3a21"}
    examples = _Writer(transport, mailbox).write()
    return {"address": ADDRESS, "q": EXAMPLE_QUERY, **examples, "labels": list(EXAMPLE_LABELS)}


class _Writer:
    """Fills one mailbox."""

    def __init__(self, transport: MailTransport, mailbox: Mailbox) -> None:
        self._random: Random = transport.random
        self._transport = transport
        self._mailbox = mailbox

    def write(self) -> dict[str, Any]:
        """Write all messages and return the examples."""
        threads = [self._conversation(LATEST - 2 * DAY - number * 2 * DAY) for number in range(CONVERSATIONS)]
        for count, sender, domain, category in CIRCULARS:
            for number in range(count):
                self._circular(number, sender, domain, category)
        for number in range(SPAM):
            self._single(
                "You won {thing} no. {n}", ("Prize Desk", f"win{number}@luck.test"), ["SPAM", "UNREAD"], number
            )
        for number in range(TRASH):
            self._single("Old note on the {thing} ({n})", PEOPLE[number % len(PEOPLE)], ["TRASH"], number)
        edge_cases = {edge_case.subject: self._edge_case(edge_case, at) for at, edge_case in enumerate(EDGE_CASES)}
        for number in range(DRAFTS):
            self._draft(number, threads[number * 3] if number % 2 else None)
        longest = max(threads, key=len)
        return {
            "message_id": longest[0].id,
            "thread_id": longest[0].thread_id,
            "attachment_message_id": edge_cases[MANIFEST.subject].id,
            "attachment_part_id": MANIFEST_PDF_PART,
        }

    def _conversation(self, at: int) -> list[Message]:
        other, thing = self._random.choice(PEOPLE), self._random.choice(THINGS)
        subject = f"{thing.capitalize()} {self._random.choice(TURNS).format(n=self._random.randrange(1, 53))}"
        messages: list[Message] = []
        for position in range(self._random.choice((1, 1, 2, 2, 3, 4, 5))):
            at += self._random.randrange(5 * MINUTE, 9 * HOUR)
            messages.append(
                self._conversation_message(messages, other, subject if not position else f"Re: {subject}", thing, at)
            )
        return messages

    def _conversation_message(
        self, earlier: Sequence[Message], other: tuple[str, str], subject: str, thing: str, at: int
    ) -> Message:
        mine = bool(len(earlier) % 2) if earlier else self._random.random() < 0.2
        own = (NAME, ADDRESS)
        sender, receiver = (own, other) if mine else (other, own)
        headers = [*_envelope(sender, receiver, subject, at, self._message_id(sender[1])), *_reply_headers(earlier)]
        raw = mime_writer.build_message(headers, self._body(thing))
        thread_id = earlier[0].thread_id if earlier else None
        if mine:
            return self._mailbox.add(raw, ["SENT"], at, thread_id)
        return self._receive(raw, sender[1], self._received_labels(at), at, thread_id)

    def _received_labels(self, at: int) -> list[str]:
        recent = LATEST - at < 120 * DAY
        label_ids = ["CATEGORY_PERSONAL", *(["INBOX"] if recent else [])]
        chances = (("UNREAD", 0.25 if recent else 0.02), ("IMPORTANT", 0.3), ("STARRED", 0.06))
        label_ids += [label_id for label_id, chance in chances if self._random.random() < chance]
        return label_ids + [label_id for label_id in LABELS if self._random.random() < 0.05]

    def _circular(self, number: int, sender: str, domain: str, category: str) -> None:
        at = LATEST - number * 5 * DAY - self._random.randrange(DAY)
        subject = f"{sender} no. {300 - number}: {self._random.choice(THINGS)}s and more"
        headers = _envelope((sender, f"news@{domain}"), (NAME, ADDRESS), subject, at, self._message_id(domain))
        headers += [("List-Id", f"<news.{domain}>"), ("List-Unsubscribe", f"<https://{domain}/leave>")]
        raw = mime_writer.build_message(headers, self._body(self._random.choice(THINGS), rich=True))
        label_ids = [category, *(["INBOX"] if number < 12 else []), *(["UNREAD"] if number % 3 else [])]
        self._receive(raw, f"news@{domain}", label_ids, at, None)

    def _single(self, subject: str, sender: tuple[str, str], label_ids: list[str], number: int) -> None:
        at = LATEST - number * DAY - self._random.randrange(DAY)
        thing = self._random.choice(THINGS)
        title = subject.format(thing=thing, n=number + 1)
        headers = _envelope(sender, (NAME, ADDRESS), title, at, self._message_id(sender[1]))
        self._receive(mime_writer.build_message(headers, self._body(thing)), sender[1], label_ids, at, None)

    def _edge_case(self, edge_case: EdgeCaseMessage, number: int) -> Message:
        at = LATEST - number * 7 * HOUR
        message_id = edge_case.message_id or self._message_id(edge_case.sender[1])
        headers = _envelope(edge_case.sender, (NAME, ADDRESS), edge_case.subject, at, message_id)
        raw = mime_writer.build_message([*headers, *edge_case.headers], edge_case.content)
        return self._receive(raw, edge_case.sender[1], list(edge_case.label_ids), at, None)

    def _draft(self, number: int, thread: Sequence[Message] | None) -> None:
        at, other = LATEST - number * 11 * HOUR, PEOPLE[number % len(PEOPLE)]
        subject = f"Re: {thread[0].header('Subject')}" if thread else f"Plan {number + 1} for the spring"
        headers = [
            ("From", mime_writer.mailbox(NAME, ADDRESS)),
            ("To", mime_writer.mailbox(*other)),
            ("Subject", subject),
        ]
        headers += _reply_headers(thread or ())
        raw = mime_writer.build_message([*headers, ("Date", mime_writer.date(at))], self._body("berth"))
        thread_id = thread[0].thread_id if thread else None
        self._mailbox.drafts[self._transport.new_draft_id()] = self._mailbox.add(raw, ["DRAFT"], at, thread_id)

    def _receive(self, raw: bytes, sender: str, label_ids: list[str], at: int, thread_id: str | None) -> Message:
        received = mime_writer.replace_headers(raw, {}, mime_writer.trace_headers(self._random, ADDRESS, sender, at))
        return self._mailbox.add(received, label_ids, at, thread_id)

    def _body(self, thing: str, *, rich: bool = False) -> mime_writer.MimeEntity:
        lines = [line.format(thing=thing) for line in self._random.sample(SENTENCES, 4)]
        plain = mime_writer.text("\n\n".join(lines), encoding="7bit")
        if not rich and self._random.random() < 0.4:
            return plain
        paragraphs = "".join(f"<p>{line}</p>" for line in lines)
        boundary = f"=_{self._random.getrandbits(64):016x}"
        return mime_writer.multipart(
            "alternative", boundary, plain, mime_writer.text(f"<div>{paragraphs}</div>", "html")
        )

    def _message_id(self, address: str) -> str:
        domain = address.rpartition("@")[2]
        if address == ADDRESS:
            return f"<CA{self._random.getrandbits(240):060x}@mail.gmail.com>"
        return f"<{self._random.getrandbits(96):024x}@{domain}>"


CIRCULARS = (
    (PROMOTIONS, "Chandlers' Offers", "chandlery.test", "CATEGORY_PROMOTIONS"),
    (UPDATES, "Port Notices", "portnotices.test", "CATEGORY_UPDATES"),
    (SOCIAL, "Quayside Circle", "quayside.test", "CATEGORY_SOCIAL"),
    (FORUMS, "Rope Makers", "ropemakers.test", "CATEGORY_FORUMS"),
)


def _envelope(
    sender: tuple[str, str], receiver: tuple[str, str], subject: str | None, at: int, message_id: str
) -> list[tuple[str, str]]:
    title = [] if subject is None else [("Subject", mime_writer.encode_word(subject))]
    return [
        ("From", mime_writer.mailbox(*sender)),
        ("To", mime_writer.mailbox(*receiver)),
        *title,
        ("Date", mime_writer.date(at)),
        ("Message-ID", message_id),
    ]


def _reply_headers(earlier: Sequence[Message]) -> list[tuple[str, str]]:
    if not earlier:
        return []
    references = " ".join(message.message_id for message in earlier)
    return [("In-Reply-To", earlier[-1].message_id), ("References", references)]
