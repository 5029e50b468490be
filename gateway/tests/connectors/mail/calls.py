"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from connector_gateway.connectors.mail.mapping.attachments import attachment_id
from harness.operation_calls import Examples, Reading

WRITE = ("mail.create_draft", "/gmail/v1/users/me/drafts")
"""A write as the simulation names it, and where the request begins that carries it out."""


def readings(known: Examples) -> Sequence[Reading]:
    """The calls that change nothing; the first of them asks the application each time."""
    message = known["attachment_message_id"]
    attachment = attachment_id(message, known["attachment_part_id"])
    letter = {"to": ["ada@example.com"], "subject": "x", "body_html": "<p>x</p>"}
    return [
        Reading("GET", "/messages", {"q": known["q"], "limit": 3}),
        Reading("GET", "/messages", {"q": "has:attachment", "limit": 3, "include_body": True}),
        Reading("POST", f"/messages/{known['message_id']}/labels", {"add": ["no such label"]}),
        Reading("POST", "/messages/1111111111111111/labels", {"add": known["labels"]}),
        Reading("POST", "/messages", {**letter, "thread_id": "1111111111111111"}),
        Reading("GET", f"/attachments/{attachment}", {"message_id": message, "as": "base64"}),
        Reading("GET", f"/attachments/{attachment}", {"message_id": message}),
        Reading("GET", f"/attachments/{attachment}", {"message_id": "1111111111111111"}),
    ]
