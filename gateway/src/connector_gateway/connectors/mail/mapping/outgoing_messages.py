"""Outgoing messages: their plans and results."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.utils import unquote
from typing import Any

from email_validator import EmailNotValidError, validate_email

from connector_gateway.connectors.mail import mime, vendor_models
from connector_gateway.connectors.mail.html_text import html_to_text
from connector_gateway.connectors.mail.mapping.messages import StoredData, arrived_at
from connector_gateway.connectors.mail.models import CreatedDraft, SentMessage
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import Detail, InvalidRecipient, ThreadNotFound, UpstreamUnexpected
from connector_gateway.kit.write_steps import StepInput

EXCLUDED_LABELS = frozenset({"DRAFT", "TRASH"})
"""Labels of messages that are not, or no longer, part of a conversation."""

SENDER = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""An address that can be in a header without quoting."""

NAMED_ADDRESS = re.compile(r"([^<>]*)<([^<>]*)>")
MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
REPLY = re.compile(r"\s*re\s*:", re.IGNORECASE)

MAX_REFERENCES = 20
"""The number of last references in a reply, in addition to the first. All mailers shorten longer chains."""


def recipients(to: Sequence[str]) -> list[mime.Mailbox]:
    """Return the recipients, each address once. Raises ``InvalidRecipient`` with all invalid addresses."""
    by_address: dict[str, mime.Mailbox] = {}
    violations: list[Detail] = []
    for index, written in enumerate(to):
        try:
            recipient = _recipient(written)
        except EmailNotValidError as error:
            location = {"code": InvalidRecipient.code, "parameter": f"to.{index}", "index": index}
            violations.append({**location, "value": written, "message": str(error)})
        else:
            # Most mail systems ignore the case of addresses, and duplicates are unwanted.
            by_address.setdefault(recipient.address.lower(), recipient)
    if violations:
        raise InvalidRecipient(f"{len(violations)} of {len(to)} recipients are not valid addresses.", *violations)
    return list(by_address.values())


def _recipient(written: str) -> mime.Mailbox:
    """Return one recipient, with the domain in ASCII, which all mail systems accept."""
    if len(written.splitlines()) > 1:
        raise EmailNotValidError("A recipient must be on one line.")
    match = NAMED_ADDRESS.fullmatch(written.strip())
    name, address = (match[1].strip(), match[2]) if match else ("", written.strip())
    # The vendor delivers, so it checks whether a domain exists. Non-ASCII characters before the ``@`` are rejected
    # here, because many servers on the way reject them.
    valid = validate_email(
        address, allow_smtputf8=False, strict=True, check_deliverability=False, test_environment=True
    )
    return mime.Mailbox(unquote(name), str(valid.ascii_email))


def own_mailbox(addresses: Sequence[vendor_models.SendAs]) -> mime.Mailbox:
    """Return the connected address, with its owner's sender name."""
    own = next((address for address in addresses if address.is_primary), addresses[0] if addresses else None)
    if own is None or not SENDER.fullmatch(own.send_as_email):
        raise UpstreamUnexpected("The vendor lists no address that the account can send from.")
    return mime.Mailbox(own.display_name, own.send_as_email)


@dataclass(frozen=True, slots=True)
class ReplyTarget:
    """The subject and references that a reply takes over from the message that it answers."""

    subject: str
    message_id: str = ""
    references: Sequence[str] = ()


def parent(thread: vendor_models.Thread, thread_id: str) -> ReplyTarget:
    """Return the message of a thread that a reply answers: the last one that is neither draft nor trashed."""
    answerable = [message for message in thread.messages if EXCLUDED_LABELS.isdisjoint(message.label_ids)]
    if not answerable:
        detail = {"parameter": "thread_id", "value": thread_id}
        raise ThreadNotFound("The thread has no message that can be replied to.", detail)
    payload = max(answerable, key=arrived_at).payload
    own = _identifiers(payload, "Message-ID")[:1]
    earlier = _identifiers(payload, "References") or _identifiers(payload, "In-Reply-To")[:1]
    chain = list(dict.fromkeys([*earlier, *own]))
    references = chain if len(chain) <= MAX_REFERENCES + 1 else [chain[0], *chain[-MAX_REFERENCES:]]
    return ReplyTarget(_reply_subject(mime.header(payload, "Subject")), own[0] if own else "", references)


def _identifiers(payload: vendor_models.Part, name: str) -> list[str]:
    return MESSAGE_ID.findall(mime.header(payload, name))


def _reply_subject(subject: str) -> str:
    line = " ".join(subject.split())
    return line if REPLY.match(line) else f"Re: {line}".strip()


def plan_message(
    sender: mime.Mailbox, to: Iterable[mime.Mailbox], parent: ReplyTarget, thread_id: str | None, now: float
) -> dict[str, Any]:
    """Plan a message without its body."""
    return {
        "sender": _stored_mailbox(sender),
        "to": [_stored_mailbox(recipient) for recipient in to],
        "subject": parent.subject,
        "in_reply_to": parent.message_id,
        "references": list(parent.references),
        "thread_id": thread_id,
        "written_at": now,
    }


def build_message(planned: StoredData, body_html: str, marker: tuple[str, str]) -> mime.OutgoingMessage:
    """Return the *planned* message with its body and its marker header."""
    return mime.OutgoingMessage(
        sender=mime.Mailbox(**planned["sender"]),
        to=[mime.Mailbox(**recipient) for recipient in planned["to"]],
        subject=planned["subject"],
        body_html=body_html,
        marker=marker,
        written_at=utc_datetime(planned["written_at"]),
        in_reply_to=planned["in_reply_to"],
        references=planned["references"],
    )


def _stored_mailbox(mailbox: mime.Mailbox) -> dict[str, str]:
    return {"name": mailbox.name, "address": mailbox.address}


def stored_draft(
    draft_id: str, message: vendor_models.Threaded | vendor_models.Message, mark: str, created_at: float
) -> dict[str, Any]:
    """Return the stored form of a created draft with *mark* in its header."""
    stored = {"id": draft_id, "message_id": message.id, "thread_id": message.thread_id}
    return stored | {"mark": mark, "made_at": created_at}


def preview(body_html: str, planned: StoredData) -> dict[str, Any]:
    """Return the planned message as a person reads it."""
    return {
        "from": _written(planned["sender"]),
        "to": [_written(recipient) for recipient in planned["to"]],
        "subject": planned["subject"],
        "text": html_to_text(body_html),
        "thread_id": planned["thread_id"],
        "attachments": [],
    }


def _written(mailbox: StoredData) -> str:
    return f"{mailbox['name']} <{mailbox['address']}>" if mailbox["name"] else str(mailbox["address"])


def dry_run_draft(_: StepInput) -> dict[str, Any]:
    """Return the assumed result of creating a draft, for dry runs."""
    return {"id": "new-draft", "message_id": "new-message", "thread_id": "new-thread", "mark": "", "made_at": 0.0}


def public_draft(stored: StoredData) -> dict[str, Any]:
    """Return the part of a draft that is included in the error when a later step fails."""
    return {"draft_id": stored["id"], "message_id": stored["message_id"]}


def created_draft(stored: StoredData) -> CreatedDraft:
    """Return the result of creating a draft."""
    return CreatedDraft(
        draft_id=stored["id"], message_id=stored["message_id"], created_at=utc_datetime(stored["made_at"])
    )


def send_intent(draft: StoredData) -> dict[str, str]:
    """Return the intent of sending a draft, with the data to find the resulting message."""
    return {"draft_id": draft["id"], "thread_id": draft["thread_id"], "mark": draft["mark"]}


def stored_message(message: vendor_models.Threaded | vendor_models.Message, sent_at: float) -> dict[str, Any]:
    """Return the stored form of a sent message."""
    return {"id": message.id, "thread_id": message.thread_id, "sent_at": sent_at}


def public_message(stored: StoredData) -> dict[str, Any]:
    """Return the part of a message that is included in the error when a later step fails."""
    return {"message_id": stored["id"]}


def sent_message(stored: StoredData, planned: StoredData) -> SentMessage:
    """Return the result of sending the *planned* message."""
    return SentMessage(
        message_id=stored["id"],
        thread_id=stored["thread_id"],
        to=[recipient["address"] for recipient in planned["to"]],
        sent_at=utc_datetime(stored["sent_at"]),
    )
