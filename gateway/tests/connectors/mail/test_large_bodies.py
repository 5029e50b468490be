"""Searches for messages with large bodies: pages end early, and no message is lost or truncated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.tests.connectors.mail.vendor_view import VendorInspector
from harness.all_connectors import only
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

MEBIBYTE = 1024 * 1024
LONG_TIMEOUT: dict[str, Any] = {"GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "30"}
"""A timeout that allows a busy machine to produce large responses."""

LOW_MEMORY: dict[str, Any] = LONG_TIMEOUT | {"GATEWAY_MAX_HELD_BYTES": "1000000"}


@pytest.fixture(scope="module")
def module_gateway(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_gateway(sandbox, tmp_path_factory.mktemp("large"), connectors=only("mail"), **LONG_TIMEOUT) as gateway:
        yield gateway


def build_message(subject: str, size_bytes: int) -> bytes:
    """Return a message with a text of that size and a small file."""
    return (
        b"From: a@b.test\r\nSubject: %b\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=cut\r\n\r\n"
        b"--cut\r\nContent-Type: text/plain\r\n\r\n%b\r\n"
        b"--cut\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\n1,2\r\n--cut--\r\n"
    ) % (subject.encode(), b"x" * size_bytes)


@requirement("mail-41")
def test_page_with_large_bodies_ends_early_and_the_cursor_continues(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_ids = [mailbox.receive(build_message("Endless report", 3 * MEBIBYTE // 2)).id for _ in range(4)]

    first = gateway.get("/mail/messages", q='subject:"Endless report"', include_body=True, limit=4)
    messages = gateway.items("/mail/messages", q='subject:"Endless report"', include_body=True, limit=4)

    assert 2 == len(first.data)
    assert sorted(message_ids) == sorted(each["message_id"] for each in messages)
    assert {3 * MEBIBYTE // 2} == {len(each["body"]["text"].strip()) for each in messages}


@requirement("mail-41")
def test_page_end_does_not_depend_on_the_order_of_arrival(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_ids = [mailbox.receive(build_message("Endless race", 3 * MEBIBYTE // 2)).id for _ in range(4)]
    newest = f"/gmail/v1/users/me/messages/{message_ids[-1]}"
    gateway.fault("mail", method="GET", path=newest, fault="delay", seconds=0.3)

    page = gateway.get("/mail/messages", q='subject:"Endless race"', include_body=True, limit=4)

    assert message_ids[:1:-1] == [each["message_id"] for each in page.data]


@requirement("mail-41")
def test_page_does_not_wait_for_messages_after_its_limit(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_ids = [mailbox.receive(build_message("Endless queue", 3 * MEBIBYTE // 2)).id for _ in range(4)]
    oldest = f"/gmail/v1/users/me/messages/{message_ids[0]}"
    gateway.fault("mail", method="GET", path=oldest, fault="delay", seconds=10)

    page = gateway.get("/mail/messages", q='subject:"Endless queue"', include_body=True, limit=4)
    run = gateway.request("GET", f"/v1/runs/{page.body['run_id']}").data

    assert message_ids[:1:-1] == [each["message_id"] for each in page.data]
    assert run["duration_ms"] < 10_000


@requirement("mail-41")
def test_limit_can_change_after_a_short_page(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_ids = [mailbox.receive(build_message("Endless minutes", 3 * MEBIBYTE // 2)).id for _ in range(4)]
    first = gateway.get("/mail/messages", q='subject:"Endless minutes"', include_body=True, limit=4)

    rest = gateway.items(
        "/mail/messages", q='subject:"Endless minutes"', include_body=True, limit=1, cursor=first.body["next_cursor"]
    )

    assert sorted(message_ids) == sorted(each["message_id"] for each in [*first.data, *rest])


@requirement("mail-41")
def test_page_without_bodies_is_complete_despite_large_bodies(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_ids = [mailbox.receive(build_message("Endless list", 3 * MEBIBYTE)).id for _ in range(3)]

    reply = gateway.get("/mail/messages", q='subject:"Endless list"', limit=3)

    assert sorted(message_ids) == sorted(each["message_id"] for each in reply.data)
    assert reply.body["next_cursor"] is None


@requirement("mail-42")
def test_too_large_message_is_returned_without_its_body(gateway: Gateway, mailbox: VendorInspector) -> None:
    mailbox.receive(build_message("Endless novel", 5 * MEBIBYTE))

    (message,) = gateway.get("/mail/messages", q='subject:"Endless novel"', include_body=True).data

    assert {"text": None, "html": None, "too_large": True} == message["body"]
    assert ["a.csv"] == [each["filename"] for each in message["attachments"]]


@requirement("common-188")
def test_call_above_the_memory_limit_is_rejected_and_small_ones_succeed(
    sandbox: Sandbox, mailbox: VendorInspector, tmp_path: Path
) -> None:
    mailbox.receive(build_message("Endless wait", 2 * MEBIBYTE))
    query = {"q": 'subject:"Endless wait"', "limit": 1}
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), **LOW_MEMORY) as limited_gateway:
        rejected = [limited_gateway.get("/mail/messages", **query, include_body=True) for _ in range(2)]
        small = limited_gateway.get("/mail/messages", **query)

    assert [(503, "overloaded", 2)] * 2 == [(reply.status, reply.code, reply.body["retry_after"]) for reply in rejected]
    assert 200 == small.status


@requirement("common-188")
def test_base64_attachment_above_the_memory_limit_is_rejected(
    sandbox: Sandbox, mailbox: VendorInspector, tmp_path: Path
) -> None:
    file = {"filename": "long.bin", "size_bytes": 3 * MEBIBYTE}
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), **LOW_MEMORY) as limited_gateway:
        limited_gateway.act(
            "mail", action="receive", **{"from": "a@b.test"}, subject="Endless file", body_html="x", attachments=[file]
        )
        (message,) = limited_gateway.get("/mail/messages", q='subject:"Endless file"', include_body=True).data
        path = f"/mail/attachments/{message['attachments'][0]['attachment_id']}"
        rejected = limited_gateway.get(path, message_id=message["message_id"], **{"as": "base64"})
        link = limited_gateway.get(path, message_id=message["message_id"])

    assert (503, "overloaded") == (rejected.status, rejected.code)
    assert 200 == link.status
