"""Labels and received messages, from the plain words of a seed."""

from typing import Any

from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.mail import acts
from workspace_sandbox.mail.labels import checked_name
from workspace_sandbox.mail.office import PostOffice
from workspace_sandbox.mail.state import SHOWN, Label, Mailbox
from workspace_sandbox.mail.wire import Refusal

FIELDS = ("from", "subject", "body_html", "body_text", "labels", "attachments", "thread_id")


def sow(office: PostOffice, mailbox: Mailbox, given: SeedValue) -> dict[str, Any]:
    """Make what *given* tells in *mailbox*; labels by name, and messages in their order."""
    given.object_of("labels", "messages")
    labels = {one.as_text(): _label(mailbox, one) for one in given.each("labels")}
    messages = [_message(office, mailbox, one.object_of(*FIELDS)) for one in given.each("messages")]
    return {"labels": labels, "messages": messages}


def _label(mailbox: Mailbox, given: SeedValue) -> str:
    try:
        name = checked_name(given.as_text(), mailbox.labels)
    except Refusal as refusal:
        raise given.wrong(refusal.message) from refusal
    label_id = f"Label_seed_{len(mailbox.labels)}"
    mailbox.labels[label_id] = Label(label_id, name, "user", dict(SHOWN))
    return label_id


def _message(office: PostOffice, mailbox: Mailbox, given: SeedValue) -> str:
    with given.doing():
        return str(acts.perform(office, mailbox, {"action": "receive", **given.value})["message_id"])
