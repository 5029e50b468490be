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


def message(raw: Raw, names: Mapping[str, str], body: MessageBody | None = None) -> Message:
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
    """When a message arrived."""
    return instant(seconds(raw))


def seconds(raw: Raw) -> float:
    """When a message arrived, in seconds since the epoch; the vendor tells milliseconds."""
    return int(raw.get("internalDate") or 0) / 1000


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


def change(names: Mapping[str, str], add: Sequence[str], remove: Sequence[str]) -> dict[str, list[Any]]:
    """The labels meant by *add* and *remove*, by identifiers, and the names that the mailbox lacks.

    In *add* the place of each missing one is kept by a None.
    ``InvalidParameters`` if they contradict each other or are unmovable.
    """
    adding = {name: label_id(names, name) for name in add}
    removing = {name: label_id(names, name) for name in remove}
    faults = [*_unmovable("add", adding), *_unmovable("remove", removing), *_contradictions(adding, removing)]
    if faults:
        raise InvalidParameters("Some of the labels cannot be changed like that.", *faults)
    missing: dict[str, str] = {}
    placed: list[str | None] = []
    for name, found in adding.items():
        if found is not None or name.strip().casefold() not in missing:
            placed.append(found)
        if found is None:
            missing.setdefault(name.strip().casefold(), name.strip())
    return {"add": placed, "remove": _known(removing), "missing": list(missing.values())}


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


def kept_labels(raw: Raw) -> dict[str, Any]:
    """What is kept of a message whose labels were changed."""
    return {"id": raw["id"], "label_ids": raw.get("labelIds", [])}


def is_changed(kept: Raw, wanted: Raw) -> bool:
    """Whether a message bears just those of the labels in question that it should."""
    present = set(kept["label_ids"])
    return present.issuperset(wanted["add"]) and present.isdisjoint(wanted["remove"])


def told_label(kept: Raw) -> dict[str, Any]:
    """What callers are told of a label when something else fails."""
    return {"label": kept["name"], "created": kept["created"]}


def changed_labels(kept: Raw, names: Mapping[str, str], labels: Iterable[Raw]) -> ChangedLabels:
    """The labels after a change; *labels* are those that were to be created on the way."""
    return ChangedLabels(
        message_id=kept["id"],
        labels=[names.get(label_id, label_id) for label_id in kept["label_ids"]],
        created=[label["name"] for label in labels if label["created"]],
    )


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


def letter(planned: Raw, body_html: str, marker: tuple[str, str]) -> mime.Letter:
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


def kept_draft(raw: Raw, mark: str, made_at: float) -> dict[str, Any]:
    """What is kept of a draft that was made, *mark* in its header."""
    message = raw["message"]
    kept = {"id": raw["id"], "message_id": message["id"], "thread_id": message["threadId"]}
    return kept | {"mark": mark, "made_at": made_at}


def told_draft(kept: Raw) -> dict[str, Any]:
    """What callers are told of a draft when something else fails."""
    return {"draft_id": kept["id"], "message_id": kept["message_id"]}


def created_draft(kept: Raw) -> CreatedDraft:
    """The result of making a draft."""
    return CreatedDraft(draft_id=kept["id"], message_id=kept["message_id"], created_at=instant(kept["made_at"]))


def sending(draft: Raw) -> dict[str, str]:
    """What it takes to send a draft, and to find the message that it becomes."""
    return {"draft_id": draft["id"], "thread_id": draft["thread_id"], "mark": draft["mark"]}


def kept_message(raw: Raw, sent_at: float) -> dict[str, Any]:
    """What is kept of a message that was sent."""
    return {"id": raw["id"], "thread_id": raw["threadId"], "sent_at": sent_at}


def told_message(kept: Raw) -> dict[str, Any]:
    """What callers are told of a message when something else fails."""
    return {"message_id": kept["id"]}


def sent_message(kept: Raw, planned: Raw) -> SentMessage:
    """The result of sending the letter that was *planned*."""
    return SentMessage(
        message_id=kept["id"],
        thread_id=kept["thread_id"],
        to=[recipient["address"] for recipient in planned["to"]],
        sent_at=instant(kept["sent_at"]),
    )
