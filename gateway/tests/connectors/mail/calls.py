"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from connector_gateway.connectors.mail.mapping.attachments import attachment_id
from harness.operation_calls import Examples, ReadCall

WRITE = ("mail.create_draft", "/gmail/v1/users/me/drafts")
"""The name of a write in the simulation, and the start of the path of its vendor request."""


def list_reads(examples: Examples) -> Sequence[ReadCall]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    message_id = examples["attachment_message_id"]
    attachment = attachment_id(message_id, examples["attachment_part_id"])
    email = {"to": ["ada@example.com"], "subject": "x", "body_html": "<p>x</p>"}
    return [
        ReadCall("GET", "/messages", {"q": examples["q"], "limit": 3}),
        ReadCall("GET", "/messages", {"q": "has:attachment", "limit": 3, "include_body": True}),
        ReadCall("POST", f"/messages/{examples['message_id']}/labels", {"add": ["no such label"]}),
        ReadCall("POST", "/messages/1111111111111111/labels", {"add": examples["labels"]}),
        ReadCall("POST", "/messages", {**email, "thread_id": "1111111111111111"}),
        ReadCall("GET", f"/attachments/{attachment}", {"message_id": message_id, "as": "base64"}),
        ReadCall("GET", f"/attachments/{attachment}", {"message_id": message_id}),
        ReadCall("GET", f"/attachments/{attachment}", {"message_id": "1111111111111111"}),
    ]
