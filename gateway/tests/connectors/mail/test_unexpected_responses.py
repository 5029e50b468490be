"""Vendor responses of undocumented shapes."""

from itertools import count
from typing import Any

import pytest

from gateway.tests.connectors.mail.vendor_view import VendorInspector, build_attachment, receive_message, search_one
from harness.gateway_server import Gateway, Reply

ME = "/gmail/v1/users/me"
DRAFTS, SEND, LABELS, MESSAGES, THREADS = (
    f"{ME}/{noun}" for noun in ("drafts", "drafts/send", "labels", "messages", "threads")
)

ID = "19a3f0c2b7d4e851"

numbers = count(1)


@pytest.fixture
def subject() -> str:
    """A subject that no other message has."""
    return f"Odd {next(numbers)}"


def inject_response(gateway: Gateway, path: str, body: Any, status: int = 200, **more: Any) -> None:
    """Make the emulator respond to the next such request with *body*, and do nothing else."""
    gateway.fault("mail", fault="status", path=path, status=status, body=body, **more)


def send(gateway: Gateway, subject: str, **more: Any) -> Reply:
    message = {"to": ["ben@acmefreight.test"], "subject": subject, "body_html": "<p>Hello</p>"}
    return gateway.post("/mail/messages", **(message | more))


@pytest.mark.parametrize("body", [{"messages": {}}, {"messages": [{"id": ID}]}, {"messages": [None]}, "text"])
def test_unreadable_thread_is_not_replied_to(
    gateway: Gateway, mailbox: VendorInspector, subject: str, body: Any
) -> None:
    message_id = receive_message(gateway, subject)
    inject_response(gateway, THREADS, body)

    reply = send(gateway, subject, thread_id=message_id)

    assert 502 == reply.status
    assert reply.code in {"upstream_unexpected", "upstream_error"}
    assert 0 == len(mailbox.sent(f"Re: {subject}"))


@pytest.mark.parametrize("body", [{"data": 7}, {"data": "A"}, {"size": "12"}, []])
def test_unreadable_file_is_an_upstream_error(gateway: Gateway, subject: str, body: Any) -> None:
    message_id = receive_message(gateway, subject, build_attachment("plan.pdf", b"x" * 1000))
    attachment_id = search_one(gateway, f'subject:"{subject}"', include_body=True)["attachments"][0]["attachment_id"]
    inject_response(gateway, f"{MESSAGES}/{message_id}/attachments/", body)

    reply = gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id, **{"as": "base64"})

    assert (502, "upstream_error") == (reply.status, reply.code)
