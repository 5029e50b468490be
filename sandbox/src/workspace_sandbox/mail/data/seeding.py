"""Labels and received messages from a seed file."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.mail.api.labels import check_name
from workspace_sandbox.mail.data.state import SHOWN, Label, Mailbox
from workspace_sandbox.mail.error_responses import ApiError

if TYPE_CHECKING:
    from workspace_sandbox.mail.emulator import MailEmulator

FIELDS = ("from", "subject", "body_html", "body_text", "labels", "attachments", "thread_id")


def apply_seed(gmail: "MailEmulator", data: SeedValue) -> dict[str, Any]:
    """Create the labels and messages of *data* in the filled mailbox.

    Returns labels by name, and messages in order.
    """
    data.check_object("labels", "messages")
    labels = {item.as_text(): _label(gmail.mailbox, item) for item in data.list_items("labels")}
    messages = [_message(gmail, item.check_object(*FIELDS)) for item in data.list_items("messages")]
    return {"labels": labels, "messages": messages}


def _label(mailbox: Mailbox, seed_value: SeedValue) -> str:
    try:
        name = check_name(seed_value.as_text(), mailbox.labels)
    except ApiError as error:
        raise seed_value.error(error.message) from error
    label_id = f"Label_seed_{len(mailbox.labels)}"
    mailbox.labels[label_id] = Label(label_id, name, "user", dict(SHOWN))
    return label_id


def _message(gmail: "MailEmulator", seed_value: SeedValue) -> str:
    with seed_value.locate_errors():
        return str(gmail.perform({"action": "receive", **seed_value.value})["message_id"])
