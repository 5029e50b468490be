"""Letters: what is to be written, and what became of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.utils import unquote
from typing import Any

from email_validator import EmailNotValidError, validate_email

from connector_gateway.connectors.mail import mime, wire
from connector_gateway.connectors.mail.mapping.messages import Kept, seconds
from connector_gateway.connectors.mail.models import CreatedDraft, SentMessage
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import Detail, InvalidRecipient, ThreadNotFound, UpstreamUnexpected
from connector_gateway.kit.write_steps import StepInput

UNANSWERABLE = frozenset({"DRAFT", "TRASH"})
"""What is no part of a conversation (any more)."""

SENDER = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""An address as it may stand in a header just as it is."""

NAMED_ADDRESS = re.compile(r"([^<>]*)<([^<>]*)>")
MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
REPLY = re.compile(r"\s*re\s*:", re.IGNORECASE)

REFERENCES = 20
"""How many of the last identifiers a reply refers to, beside the first; longer chains are cut by every mailer."""


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
            # Hardly any mail system tells addresses apart by case, and nobody wants a letter twice.
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
    # Whether a domain exists is left to the application, which has to deliver; characters beyond ASCII before the ``@``
    # are not, since many servers on the way refuse them.
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
class ReplyTarget:
    """What a reply takes over from the message that it answers: the subject and the references."""

    subject: str
    message_id: str = ""
    references: Sequence[str] = ()


def parent(thread: wire.Thread, thread_id: str) -> ReplyTarget:
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
    return ReplyTarget(_reply_subject(mime.header(payload, "Subject")), own[0] if own else "", kept)


def _identifiers(payload: wire.Part, name: str) -> list[str]:
    return MESSAGE_ID.findall(mime.header(payload, name))


def _reply_subject(subject: str) -> str:
    line = " ".join(subject.split())
    return line if REPLY.match(line) else f"Re: {line}".strip()


def plan_message(
    sender: mime.Mailbox, to: Iterable[mime.Mailbox], parent: ReplyTarget, thread_id: str | None, now: float
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


def build_message(planned: Kept, body_html: str, marker: tuple[str, str]) -> mime.OutgoingMessage:
    """The letter that was *planned*, with its body and the header that marks it."""
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


def _kept_mailbox(mailbox: mime.Mailbox) -> dict[str, str]:
    return {"name": mailbox.name, "address": mailbox.address}


def kept_draft(draft_id: str, message: wire.Threaded | wire.Message, mark: str, made_at: float) -> dict[str, Any]:
    """What is kept of a draft that was made, *mark* in its header."""
    kept = {"id": draft_id, "message_id": message.id, "thread_id": message.thread_id}
    return kept | {"mark": mark, "made_at": made_at}


def assumed_draft(_: StepInput) -> dict[str, Any]:
    """What a dry run takes for a draft that was made."""
    return {"id": "new-draft", "message_id": "new-message", "thread_id": "new-thread", "mark": "", "made_at": 0.0}


def told_draft(kept: Kept) -> dict[str, Any]:
    """What callers are told of a draft when something else fails."""
    return {"draft_id": kept["id"], "message_id": kept["message_id"]}


def created_draft(kept: Kept) -> CreatedDraft:
    """The result of making a draft."""
    return CreatedDraft(draft_id=kept["id"], message_id=kept["message_id"], created_at=utc_datetime(kept["made_at"]))


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
        sent_at=utc_datetime(kept["sent_at"]),
    )
