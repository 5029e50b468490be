"""Between the vendor's JSON and our shapes: pure functions."""

import mimetypes
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import unquote
from typing import Any

from email_validator import EmailNotValidError, validate_email

from connector_gateway.connectors.mail import mime, wire
from connector_gateway.connectors.mail.models import (
    Attachment,
    ChangedLabels,
    CreatedDraft,
    Message,
    MessageBody,
    SentMessage,
)
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    AttachmentNotFound,
    Detail,
    GatewayError,
    InvalidParameters,
    InvalidRecipient,
    LabelNotFound,
    ThreadNotFound,
    UpstreamUnexpected,
)

Kept = Mapping[str, Any]
"""What is planned or was learned: JSON of our own, kept until the call has ended."""

ATTACHMENT_PREFIX = "att_"
UNMOVABLE = frozenset({"SENT", "DRAFT"})
"""Labels that the vendor alone puts on and takes off."""

UNMOVABLE_MESSAGE = "Is put on and taken off by the application alone"

UNANSWERABLE = frozenset({"DRAFT", "TRASH"})
"""What is no part of a conversation (any more)."""

SENDER = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""An address as it may stand in a header just as it is."""

NAMED_ADDRESS = re.compile(r"([^<>]*)<([^<>]*)>")
MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
REPLY = re.compile(r"\s*re\s*:", re.IGNORECASE)
REFERENCES = 20
"""How many of the last identifiers a reply refers to, beside the first; longer chains are cut by every mailer."""


# Messages


def message(told: wire.Message, names: Mapping[str, str], body: MessageBody | None = None) -> Message:
    """A message in short, with its *body* and the list of its attachments where there is one."""
    found = attachments(told)
    return Message(
        message_id=told.id,
        thread_id=told.thread_id,
        sender=mime.header(told.payload, "From"),
        subject=mime.header(told.payload, "Subject"),
        received_at=instant(seconds(told)),
        has_attachments=bool(found),
        labels=[names.get(label_id, label_id) for label_id in told.label_ids],
        body=body,
        attachments=None if body is None else found,
    )


def seconds(told: wire.Message) -> float:
    """When a message arrived, in seconds since the epoch; the vendor tells milliseconds."""
    return int(told.internal_date) / 1000


def page_of(listed: wire.MessageList) -> tuple[list[str], Kept | None]:
    """The identifiers of a page, and where the next one starts."""
    token = listed.next_page_token
    return [found.id for found in listed.messages], {"token": token} if token else None


# Attachments


def attachments(told: wire.Message) -> list[Attachment]:
    """What came with a message, in its order; pictures within the text and signatures are no attachments."""
    return [attachment(told.id, part) for part in mime.attachments(told.payload)]


def attachment(message_id: str, part: wire.Part) -> Attachment:
    """A part as an attachment."""
    mime_type = part.mime_type or "application/octet-stream"
    named = re.split(r"[/\\]", mime.decoded(part.filename))[-1].strip()
    return Attachment(
        attachment_id=attachment_id(message_id, part.part_id),
        filename=named if named.strip(". ") else f"attachment{mimetypes.guess_extension(mime_type) or ''}",
        mime_type=mime_type,
        size_bytes=part.body.size,
    )


def attachment_id(message_id: str, part_id: str) -> str:
    """A name for a part that stays, which the vendor's own does not."""
    return ATTACHMENT_PREFIX + urlsafe_b64encode(f"{message_id}:{part_id}".encode()).decode().rstrip("=")


def part_id(wanted: str, message_id: str) -> str | None:
    """The part that one of our names stands for, or None for a name of the vendor's."""
    if not wanted.startswith(ATTACHMENT_PREFIX):
        return None
    encoded = wanted.removeprefix(ATTACHMENT_PREFIX)
    try:
        named, _, part = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode().rpartition(":")
    except ValueError:
        named, part = "", ""
    if named != message_id:
        raise no_attachment(wanted, message_id)
    return part


def no_attachment(wanted: str, message_id: str) -> AttachmentNotFound:
    """The refusal of a name that stands for nothing in that message."""
    return AttachmentNotFound(
        f"Message {message_id} has no such attachment.", {"parameter": "attachment_id", "value": wanted}
    )


# Labels


@dataclass(frozen=True, slots=True)
class Wanted:
    """A label that is named in a call, and which of the mailbox's it is."""

    parameter: str
    index: int
    name: str
    known: str | None

    @property
    def sameness(self) -> str:
        """What two that mean the same label have in common."""
        return self.known or self.name.strip().casefold()

    def fault(self, code: str, message: str) -> Detail:
        """What is wrong with it."""
        place = {"parameter": f"{self.parameter}.{self.index}", "index": self.index}
        return {"code": code, **place, "value": self.name, "message": message}


def change(
    names: Mapping[str, str], add: Sequence[str], remove: Sequence[str], *, create_missing: bool
) -> dict[str, list[Any]]:
    """The labels meant by *add* and *remove*, by identifiers, and the names of those that are to be created.

    In *add* the place of each of these is kept by a None.
    ``LabelNotFound`` or ``InvalidParameters`` with every fault, if there is any; the first one decides which.
    """
    adding = [Wanted("add", index, name, label_id(names, name)) for index, name in enumerate(add)]
    removing = [Wanted("remove", index, name, label_id(names, name)) for index, name in enumerate(remove)]
    faults = [*_faults_of_adding(adding, create_missing=create_missing), *_faults_of_removing(removing, adding)]
    if faults:
        raise _refusal(faults)
    unlike = {wanted.sameness: wanted for wanted in reversed(adding)}
    placed = [wanted for wanted in adding if unlike[wanted.sameness] is wanted]
    return {
        "add": [wanted.known for wanted in placed],
        "remove": list(dict.fromkeys(wanted.known for wanted in removing if wanted.known is not None)),
        "missing": [wanted.name.strip() for wanted in placed if wanted.known is None],
    }


def _faults_of_adding(adding: Sequence[Wanted], *, create_missing: bool) -> Iterable[Detail]:
    for wanted in adding:
        if wanted.known in UNMOVABLE:
            yield wanted.fault(InvalidParameters.code, UNMOVABLE_MESSAGE)
        elif wanted.known is None and not create_missing:
            yield wanted.fault(LabelNotFound.code, "The mailbox has no such label")


def _faults_of_removing(removing: Sequence[Wanted], adding: Sequence[Wanted]) -> Iterable[Detail]:
    added = {wanted.sameness for wanted in adding}
    for wanted in removing:
        if wanted.known in UNMOVABLE:
            yield wanted.fault(InvalidParameters.code, UNMOVABLE_MESSAGE)
        elif wanted.sameness in added:
            yield wanted.fault(InvalidParameters.code, "Is in add as well")


def _refusal(faults: Sequence[Detail]) -> GatewayError:
    """The refusal of a change with these *faults*."""
    lacking = [fault["value"] for fault in faults if fault["code"] == LabelNotFound.code]
    refusal = LabelNotFound if faults[0]["code"] == LabelNotFound.code else InvalidParameters
    if len(lacking) < len(faults):
        return refusal("Some of the labels cannot be changed like that.", *faults)
    named = ", ".join(f'"{name}"' for name in lacking)
    return refusal(f"The mailbox has no label {named}.", *faults)


def label_id(names: Mapping[str, str], name: str) -> str | None:
    """The label of that name: exactly, or else but for case."""
    wanted = name.strip()
    exact = next((found for found, known in names.items() if known == wanted), None)
    folded = wanted.casefold()
    return exact or next((found for found, known in names.items() if known.casefold() == folded), None)


def kept_label(label: wire.Label) -> dict[str, Any]:
    """What is kept of a label that was created."""
    return {"id": label.id, "name": label.name, "created": True}


def kept_labels(told: wire.Labelled) -> dict[str, Any]:
    """What is kept of a message whose labels were changed."""
    return {"id": told.id, "label_ids": list(told.label_ids)}


def is_changed(kept: Kept, wanted: Kept) -> bool:
    """Whether a message bears just those of the labels in question that it should."""
    present = set(kept["label_ids"])
    return present.issuperset(wanted["add"]) and present.isdisjoint(wanted["remove"])


def told_label(kept: Kept) -> dict[str, Any]:
    """What callers are told of a label when something else fails."""
    return {"label": kept["name"], "created": kept["created"]}


def changed_labels(kept: Kept, names: Mapping[str, str], labels: Iterable[Kept]) -> ChangedLabels:
    """The labels after a change; *labels* are those that were to be created on the way."""
    return ChangedLabels(
        message_id=kept["id"],
        labels=[names.get(label_id, label_id) for label_id in kept["label_ids"]],
        created=[label["name"] for label in labels if label["created"]],
    )


# Outgoing mail


def recipients(to: Sequence[str]) -> list[mime.Mailbox]:
    """The recipients, each address once; ``InvalidRecipient`` lists every one that is not valid."""
    found: dict[str, mime.Mailbox] = {}
    faults: list[Detail] = []
    for index, written in enumerate(to):
        try:
            recipient = _recipient(written)
        except EmailNotValidError as fault:
            place = {"code": InvalidRecipient.code, "parameter": f"to.{index}", "index": index}
            faults.append({**place, "value": written, "message": str(fault)})
        else:
            found.setdefault(recipient.address.lower(), recipient)
    if faults:
        raise InvalidRecipient(f"{len(faults)} of {len(to)} recipients are not valid addresses.", *faults)
    return list(found.values())


def _recipient(written: str) -> mime.Mailbox:
    """One recipient; the domain in its ASCII form, which every mail system takes."""
    if len(written.splitlines()) > 1:
        raise EmailNotValidError("A recipient stands on one line.")
    named = NAMED_ADDRESS.fullmatch(written.strip())
    name, address = (named[1].strip(), named[2]) if named else ("", written.strip())
    valid = validate_email(
        address, allow_smtputf8=False, strict=True, check_deliverability=False, test_environment=True
    )
    return mime.Mailbox(unquote(name), str(valid.ascii_email))


def own_mailbox(addresses: Sequence[wire.SendAs]) -> mime.Mailbox:
    """The connected address, with the name that its owner sends under."""
    own = next((told for told in addresses if told.is_primary), addresses[0] if addresses else None)
    if own is None or not SENDER.fullmatch(own.send_as_email):
        raise UpstreamUnexpected("The application names no address that the account sends from.")
    return mime.Mailbox(own.display_name, own.send_as_email)


@dataclass(frozen=True, slots=True)
class Parent:
    """What a message follows: under which subject, and as a reply to what."""

    subject: str
    message_id: str = ""
    references: Sequence[str] = ()


def parent(thread: wire.Thread, thread_id: str) -> Parent:
    """The message of a thread that a reply answers: the last one that is neither draft nor thrown away."""
    answerable = [told for told in thread.messages if UNANSWERABLE.isdisjoint(told.label_ids)]
    if not answerable:
        sought = {"parameter": "thread_id", "value": thread_id}
        raise ThreadNotFound("The thread holds nothing that can be replied to.", sought)
    payload = max(answerable, key=seconds).payload
    own = _identifiers(payload, "Message-ID")[:1]
    earlier = _identifiers(payload, "References") or _identifiers(payload, "In-Reply-To")[:1]
    chain = list(dict.fromkeys([*earlier, *own]))
    kept = chain if len(chain) <= REFERENCES + 1 else [chain[0], *chain[-REFERENCES:]]
    return Parent(_reply_subject(mime.header(payload, "Subject")), own[0] if own else "", kept)


def _identifiers(payload: wire.Part, name: str) -> list[str]:
    return MESSAGE_ID.findall(mime.header(payload, name))


def _reply_subject(subject: str) -> str:
    line = " ".join(subject.split())
    return line if REPLY.match(line) else f"Re: {line}".strip()


def planned_letter(
    sender: mime.Mailbox, to: Iterable[mime.Mailbox], parent: Parent, thread_id: str | None, now: float
) -> dict[str, Any]:
    """A letter to be written, without its body."""
    return {
        "sender": _kept_mailbox(sender),
        "to": [_kept_mailbox(recipient) for recipient in to],
        "subject": parent.subject,
        "in_reply_to": parent.message_id,
        "references": list(parent.references),
        "thread_id": thread_id,
        "written_at": now,
    }


def letter(planned: Kept, body_html: str, marker: tuple[str, str]) -> mime.Letter:
    """The letter that was *planned*, with its body and the header that marks it."""
    return mime.Letter(
        sender=mime.Mailbox(**planned["sender"]),
        to=[mime.Mailbox(**recipient) for recipient in planned["to"]],
        subject=planned["subject"],
        body_html=body_html,
        marker=marker,
        written_at=instant(planned["written_at"]),
        in_reply_to=planned["in_reply_to"],
        references=planned["references"],
    )


def _kept_mailbox(mailbox: mime.Mailbox) -> dict[str, str]:
    return {"name": mailbox.name, "address": mailbox.address}


def kept_draft(draft_id: str, message: wire.Threaded | wire.Message, mark: str, made_at: float) -> dict[str, Any]:
    """What is kept of a draft that was made, *mark* in its header."""
    kept = {"id": draft_id, "message_id": message.id, "thread_id": message.thread_id}
    return kept | {"mark": mark, "made_at": made_at}


def told_draft(kept: Kept) -> dict[str, Any]:
    """What callers are told of a draft when something else fails."""
    return {"draft_id": kept["id"], "message_id": kept["message_id"]}


def created_draft(kept: Kept) -> CreatedDraft:
    """The result of making a draft."""
    return CreatedDraft(draft_id=kept["id"], message_id=kept["message_id"], created_at=instant(kept["made_at"]))


def sending(draft: Kept) -> dict[str, str]:
    """What it takes to send a draft, and to find the message that it becomes."""
    return {"draft_id": draft["id"], "thread_id": draft["thread_id"], "mark": draft["mark"]}


def kept_message(message: wire.Threaded | wire.Message, sent_at: float) -> dict[str, Any]:
    """What is kept of a message that was sent."""
    return {"id": message.id, "thread_id": message.thread_id, "sent_at": sent_at}


def told_message(kept: Kept) -> dict[str, Any]:
    """What callers are told of a message when something else fails."""
    return {"message_id": kept["id"]}


def sent_message(kept: Kept, planned: Kept) -> SentMessage:
    """The result of sending the letter that was *planned*."""
    return SentMessage(
        message_id=kept["id"],
        thread_id=kept["thread_id"],
        to=[recipient["address"] for recipient in planned["to"]],
        sent_at=instant(kept["sent_at"]),
    )
