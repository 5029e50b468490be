"""Searching for messages whose bodies are large: pages end early, and nothing is lost or cut."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.tests.connectors.mail.looking import Looking
from harness.all_connectors import only
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

MEBIBYTE = 1024 * 1024
PATIENT: dict[str, Any] = {"GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "30"}
"""As long as a busy machine needs to make large answers."""

NARROW: dict[str, Any] = PATIENT | {"GATEWAY_MAX_HELD_BYTES": "1000000"}


@pytest.fixture(scope="module")
def room(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_gateway(sandbox, tmp_path_factory.mktemp("large"), connectors=only("mail"), **PATIENT) as gateway:
        yield gateway


def letter(subject: str, size_bytes: int) -> bytes:
    """A message whose text is that long, with a small file."""
    return (
        b"From: a@b.test\r\nSubject: %b\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=cut\r\n\r\n"
        b"--cut\r\nContent-Type: text/plain\r\n\r\n%b\r\n"
        b"--cut\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\n1,2\r\n--cut--\r\n"
    ) % (subject.encode(), b"x" * size_bytes)


@requirement("mail-41")
def test_a_page_with_bodies_ends_early_and_its_cursor_leads_to_the_others(gateway: Gateway, mailbox: Looking) -> None:
    made = [mailbox.receive(letter("Endless report", 3 * MEBIBYTE // 2)).id for _ in range(4)]

    first = gateway.get("/mail/messages", q='subject:"Endless report"', include_body=True, limit=4)
    found = gateway.items("/mail/messages", q='subject:"Endless report"', include_body=True, limit=4)

    assert 2 == len(first.data)
    assert sorted(made) == sorted(each["message_id"] for each in found)
    assert {3 * MEBIBYTE // 2} == {len(each["body"]["text"].strip()) for each in found}


@requirement("mail-41")
def test_a_page_ends_at_the_same_message_whichever_arrives_first(gateway: Gateway, mailbox: Looking) -> None:
    made = [mailbox.receive(letter("Endless race", 3 * MEBIBYTE // 2)).id for _ in range(4)]
    newest = f"/gmail/v1/users/me/messages/{made[-1]}"
    gateway.fault("mail", method="GET", path=newest, fault="delay", seconds=0.3)

    page = gateway.get("/mail/messages", q='subject:"Endless race"', include_body=True, limit=4)

    assert made[:1:-1] == [each["message_id"] for each in page.data]


@requirement("mail-41")
def test_a_page_does_not_wait_for_messages_that_it_has_no_room_for(gateway: Gateway, mailbox: Looking) -> None:
    made = [mailbox.receive(letter("Endless queue", 3 * MEBIBYTE // 2)).id for _ in range(4)]
    oldest = f"/gmail/v1/users/me/messages/{made[0]}"
    gateway.fault("mail", method="GET", path=oldest, fault="delay", seconds=10)

    page = gateway.get("/mail/messages", q='subject:"Endless queue"', include_body=True, limit=4)
    run = gateway.request("GET", f"/v1/runs/{page.body['run_id']}").data

    assert made[:1:-1] == [each["message_id"] for each in page.data]
    assert run["duration_ms"] < 10_000


@requirement("mail-41")
def test_the_limit_may_change_after_a_short_page(gateway: Gateway, mailbox: Looking) -> None:
    made = [mailbox.receive(letter("Endless minutes", 3 * MEBIBYTE // 2)).id for _ in range(4)]
    first = gateway.get("/mail/messages", q='subject:"Endless minutes"', include_body=True, limit=4)

    rest = gateway.items(
        "/mail/messages", q='subject:"Endless minutes"', include_body=True, limit=1, cursor=first.body["next_cursor"]
    )

    assert sorted(made) == sorted(each["message_id"] for each in [*first.data, *rest])


@requirement("mail-41")
def test_a_page_without_bodies_is_whole_however_large_they_are(gateway: Gateway, mailbox: Looking) -> None:
    made = [mailbox.receive(letter("Endless list", 3 * MEBIBYTE)).id for _ in range(3)]

    reply = gateway.get("/mail/messages", q='subject:"Endless list"', limit=3)

    assert sorted(made) == sorted(each["message_id"] for each in reply.data)
    assert reply.body["next_cursor"] is None


@requirement("mail-42")
def test_a_message_that_is_too_large_says_so_in_place_of_its_body(gateway: Gateway, mailbox: Looking) -> None:
    mailbox.receive(letter("Endless novel", 5 * MEBIBYTE))

    (found,) = gateway.get("/mail/messages", q='subject:"Endless novel"', include_body=True).data

    assert {"text": None, "html": None, "too_large": True} == found["body"]
    assert ["a.csv"] == [each["filename"] for each in found["attachments"]]


@requirement("common-188")
def test_a_call_that_would_hold_too_much_is_refused_and_small_ones_go_on(
    sandbox: Sandbox, mailbox: Looking, tmp_path: Path
) -> None:
    mailbox.receive(letter("Endless wait", 2 * MEBIBYTE))
    query = {"q": 'subject:"Endless wait"', "limit": 1}
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), **NARROW) as narrow:
        refused = [narrow.get("/mail/messages", **query, include_body=True) for _ in range(2)]
        small = narrow.get("/mail/messages", **query)

    assert [(503, "overloaded", 2)] * 2 == [(one.status, one.code, one.body["retry_after"]) for one in refused]
    assert 200 == small.status


@requirement("common-188")
def test_an_attachment_that_would_hold_too_much_as_base64_is_refused(
    sandbox: Sandbox, mailbox: Looking, tmp_path: Path
) -> None:
    file = {"filename": "long.bin", "size_bytes": 3 * MEBIBYTE}
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), **NARROW) as narrow:
        narrow.act(
            "mail", action="receive", **{"from": "a@b.test"}, subject="Endless file", body_html="x", attachments=[file]
        )
        (message,) = narrow.get("/mail/messages", q='subject:"Endless file"', include_body=True).data
        path = f"/mail/attachments/{message['attachments'][0]['attachment_id']}"
        refused = narrow.get(path, message_id=message["message_id"], **{"as": "base64"})
        link = narrow.get(path, message_id=message["message_id"])

    assert (503, "overloaded") == (refused.status, refused.code)
    assert 200 == link.status
