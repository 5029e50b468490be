"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from connector_gateway.connectors.mail.mapping.attachments import attachment_id
from harness.operation_calls import Examples, ReadCall

WRITE = ("mail.create_draft", "/gmail/v1/users/me/drafts")
"""A write as the simulation names it, and where the request begins that carries it out."""


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing; the first of them asks the application each time."""
    message = known["attachment_message_id"]
    attachment = attachment_id(message, known["attachment_part_id"])
    letter = {"to": ["ada@example.com"], "subject": "x", "body_html": "<p>x</p>"}
    return [
        ReadCall("GET", "/messages", {"q": known["q"], "limit": 3}),
        ReadCall("GET", "/messages", {"q": "has:attachment", "limit": 3, "include_body": True}),
        ReadCall("POST", f"/messages/{known['message_id']}/labels", {"add": ["no such label"]}),
        ReadCall("POST", "/messages/1111111111111111/labels", {"add": known["labels"]}),
        ReadCall("POST", "/messages", {**letter, "thread_id": "1111111111111111"}),
        ReadCall("GET", f"/attachments/{attachment}", {"message_id": message, "as": "base64"}),
        ReadCall("GET", f"/attachments/{attachment}", {"message_id": message}),
        ReadCall("GET", f"/attachments/{attachment}", {"message_id": "1111111111111111"}),
    ]
