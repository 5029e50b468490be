"""Between the vendor's JSON and our shapes: pure functions."""

import mimetypes
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import unquote
from typing import Any

from email_validator import EmailNotValidError, validate_email

from connector_gateway.connectors.mail import mime
from connector_gateway.connectors.mail.models import (
    Attachment,
    Body,
    ChangedLabels,
    CreatedDraft,
    Message,
    SentMessage,
)
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    AttachmentNotFound,
    Detail,
    InvalidParameters,
    InvalidRecipient,
    LabelNotFound,
    ThreadNotFound,
)

Raw = Mapping[str, Any]

ATTACHMENT_PREFIX = "att_"
UNMOVABLE = frozenset({"SENT", "DRAFT"})
"""Labels that the vendor alone puts on and takes off."""

UNANSWERABLE = frozenset({"DRAFT", "TRASH"})
"""What is no part of a conversation (any more)."""

NAMED_ADDRESS = re.compile(r"([^<>]*)<([^<>]*)>")
MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
REPLY = re.compile(r"\s*re\s*:", re.IGNORECASE)
REFERENCES = 20
"""How many of the last identifiers a reply refers to, beside the first; longer chains are cut by every mailer."""


# Messages


def message(raw: Raw, names: Mapping[str, str], body: Body | None = None) -> Message:
    """A message in short, with its *body* and the list of its attachments where there is one."""
    payload = raw.get("payload") or {}
    found = attachments(raw)
    return Message(
        message_id=raw["id"],
        thread_id=raw["threadId"],
        sender=mime.header(payload, "From"),
        subject=mime.header(payload, "Subject"),
        received_at=received_at(raw),
        has_attachments=bool(found),
        labels=label_names(raw, names),
        body=body,
        attachments=None if body is None else found,
    )


def received_at(raw: Raw) -> datetime:
    """When a message arrived, which the vendor tells in milliseconds."""
    return instant(int(raw.get("internalDate") or 0) / 1000)


def page_of(listed: Raw) -> tuple[list[str], Raw | None]:
    """The identifiers of a page, and where the next one starts."""
    token = listed.get("nextPageToken")
    return [found["id"] for found in listed.get("messages", [])], {"token": token} if token else None


# Attachments


def attachments(raw: Raw) -> list[Attachment]:
    """What came with a message, in its order; pictures within the text and signatures are no attachments."""
    return [attachment(raw["id"], part) for part in mime.attachments(raw.get("payload") or {})]


def attachment(message_id: str, part: Raw) -> Attachment:
    """A part as an attachment."""
    mime_type = part.get("mimeType") or "application/octet-stream"
    named = re.split(r"[/\\]", mime.decoded(part.get("filename") or ""))[-1].strip()
    return Attachment(
        attachment_id=attachment_id(message_id, part.get("partId") or ""),
        filename=named if named.strip(". ") else f"attachment{mimetypes.guess_extension(mime_type) or ''}",
        mime_type=mime_type,
        size_bytes=(part.get("body") or {}).get("size") or 0,
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


def label_names(raw: Raw, names: Mapping[str, str]) -> list[str]:
    """The names of the labels on a message; one that nobody knows keeps its identifier."""
    return [names.get(label_id, label_id) for label_id in raw.get("labelIds", [])]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of labels, by their identifiers, and the names to be applied that the mailbox lacks."""

    add: Sequence[str]
    remove: Sequence[str]
    missing: Sequence[str]


def change(names: Mapping[str, str], add: Sequence[str], remove: Sequence[str]) -> Change:
    """The labels meant by *add* and *remove*; ``InvalidParameters`` if they contradict each other or are unmovable."""
    adding = {name: label_id(names, name) for name in add}
    removing = {name: label_id(names, name) for name in remove}
    faults = [*_unmovable("add", adding), *_unmovable("remove", removing), *_contradictions(adding, removing)]
    if faults:
        raise InvalidParameters("Some of the labels cannot be changed like that.", *faults)
    missing: dict[str, str] = {}
    for name, found in adding.items():
        if found is None:
            missing.setdefault(name.strip().casefold(), name.strip())
    return Change(_known(adding), _known(removing), list(missing.values()))


def label_id(names: Mapping[str, str], name: str) -> str | None:
    """The label of that name: exactly, or else but for case."""
    wanted = name.strip()
    exact = next((found for found, known in names.items() if known == wanted), None)
    folded = wanted.casefold()
    return exact or next((found for found, known in names.items() if known.casefold() == folded), None)


def no_label(missing: Sequence[str], add: Sequence[str]) -> LabelNotFound:
    """The refusal of labels that are to be applied and do not exist."""
    lacked = {name.casefold() for name in missing}
    return LabelNotFound(
        f"The mailbox has no label {', '.join(map(repr, missing))}.",
        *(
            {"parameter": f"add.{index}", "index": index, "value": name}
            for index, name in enumerate(add)
            if name.strip().casefold() in lacked
        ),
    )


def changed_labels(raw: Raw, names: Mapping[str, str], created: Iterable[str]) -> ChangedLabels:
    """The labels after a change."""
    return ChangedLabels(message_id=raw["id"], labels=label_names(raw, names), created=list(created))


def _known(found: Mapping[str, str | None]) -> list[str]:
    return list(dict.fromkeys(label_id for label_id in found.values() if label_id is not None))


def _unmovable(parameter: str, found: Mapping[str, str | None]) -> Iterable[Detail]:
    for name, known in found.items():
        if known in UNMOVABLE:
            yield {"parameter": parameter, "value": name, "message": "Is put on and taken off by the application alone"}


def _contradictions(adding: Mapping[str, str | None], removing: Mapping[str, str | None]) -> Iterable[Detail]:
    added = {known or name.strip().casefold() for name, known in adding.items()}
    for name, known in removing.items():
        if (known or name.strip().casefold()) in added:
            yield {"parameter": "remove", "value": name, "message": "Is in add as well"}


# Outgoing mail


def recipients(to: Sequence[str]) -> list[mime.Mailbox]:
    """The recipients, each address once; ``InvalidRecipient`` lists every one that is not valid."""
    found: dict[str, mime.Mailbox] = {}
    faults: list[Detail] = []
    for index, written in enumerate(to):
        try:
            recipient = _recipient(written)
        except EmailNotValidError as fault:
            faults.append({"parameter": f"to.{index}", "index": index, "value": written, "message": str(fault)})
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


def own_mailbox(addresses: Sequence[Raw]) -> mime.Mailbox:
    """The connected address, with the name that its owner sends under."""
    own = next((raw for raw in addresses if raw.get("isPrimary")), addresses[0])
    return mime.Mailbox(own.get("displayName") or "", own["sendAsEmail"])


@dataclass(frozen=True, slots=True)
class Parent:
    """What a message follows: under which subject, and as a reply to what."""

    subject: str
    message_id: str = ""
    references: Sequence[str] = ()


def parent(thread: Raw) -> Parent:
    """The message of a thread that a reply answers: the last one that is neither draft nor thrown away."""
    answerable = [raw for raw in thread.get("messages", []) if UNANSWERABLE.isdisjoint(raw.get("labelIds", []))]
    if not answerable:
        raise ThreadNotFound("The thread holds nothing that can be replied to.", {"parameter": "thread_id"})
    payload = max(answerable, key=received_at).get("payload") or {}
    own = _identifiers(payload, "Message-ID")[:1]
    earlier = _identifiers(payload, "References") or _identifiers(payload, "In-Reply-To")[:1]
    chain = list(dict.fromkeys([*earlier, *own]))
    kept = chain if len(chain) <= REFERENCES + 1 else [chain[0], *chain[-REFERENCES:]]
    return Parent(_reply_subject(mime.header(payload, "Subject")), own[0] if own else "", kept)


def _identifiers(payload: Raw, name: str) -> list[str]:
    return MESSAGE_ID.findall(mime.header(payload, name))


def _reply_subject(subject: str) -> str:
    line = " ".join(subject.split())
    return line if REPLY.match(line) else f"Re: {line}".strip()


def sent_message(raw: Raw, to: Iterable[mime.Mailbox], sent_at: datetime) -> SentMessage:
    """The result of sending."""
    return SentMessage(
        message_id=raw["id"],
        thread_id=raw["threadId"],
        to=[recipient.address for recipient in to],
        sent_at=sent_at,
    )


def created_draft(raw: Raw, created_at: datetime) -> CreatedDraft:
    """The result of making a draft."""
    return CreatedDraft(draft_id=raw["id"], message_id=raw["message"]["id"], created_at=created_at)
