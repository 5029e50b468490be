"""Fetching attachments and following download links, against the emulator on real HTTP."""

from base64 import b64decode
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from connector_gateway.core.calls.concurrency import MAX_PER_LINK
from connector_gateway.http.server.protocol import UNREAD_SECONDS
from gateway.tests.connectors.mail.looking import Looking, code_of, file, follow, one, received
from harness.all_connectors import only
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.raw_http import open_raw_connection, passing, unread
from harness.requirement import requirement
from harness.wait import wait_until
from workspace_sandbox.mail.data.compose import FILLER
from workspace_sandbox.mail.data.edge_cases import CSV, PDF
from workspace_sandbox.sandbox import Sandbox

MANIFEST = 'subject:"Manifest for sailing 41"'
MESSAGES = "/gmail/v1/users/me/messages"


def fetch(gateway: Gateway, attachment_id: str, message_id: str, form: str = "link", **more: str) -> Reply:
    return gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id, **{"as": form}, **more)


def attachment(gateway: Gateway, q: str = MANIFEST, place: int = 0) -> tuple[str, str]:
    """Identifiers of an attachment and of its message."""
    found = one(gateway, q, include_body=True)
    return found["attachments"][place]["attachment_id"], found["message_id"]


def link_to(gateway: Gateway, name: str, content: bytes = b"content", mime_type: str = "application/pdf") -> str:
    """A download link for a file of that name, which somebody has just sent."""
    message_id = received(gateway, f"With {len(name)} {content[:9]!r}", file(name, content, mime_type))
    listed = gateway.get("/mail/messages", q="in:inbox", limit=1, include_body=True).data[0]
    assert listed["message_id"] == message_id
    url = fetch(gateway, listed["attachments"][0]["attachment_id"], message_id).data["download_url"]
    assert isinstance(url, str)
    return url


# Fetching


@requirement("mail-27", "mail-28", "mail-33", "mail-34")
def test_an_attachment_is_fetched_as_a_short_lived_link(gateway: Gateway) -> None:
    attachment_id, message_id = attachment(gateway)
    before = datetime.now(UTC).timestamp()

    reply = fetch(gateway, attachment_id, message_id)

    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "mail",
        "status": "ok",
        "data": {
            "attachment_id": attachment_id,
            "filename": "manifest-41.pdf",
            "mime_type": "application/pdf",
            "size_bytes": 193,
            "download_url": reply.data["download_url"],
            "expires_at": reply.data["expires_at"],
        },
    }
    assert reply.data["download_url"].startswith(gateway.app.settings.download_base + "/")
    assert 890 < datetime.fromisoformat(reply.data["expires_at"]).timestamp() - before < 910


@requirement("mail-31")
def test_a_link_is_what_is_given_unless_said_otherwise(gateway: Gateway) -> None:
    attachment_id, message_id = attachment(gateway)

    assert "download_url" in gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id).data


@requirement("mail-31", "mail-32")
def test_an_attachment_is_fetched_as_base64(gateway: Gateway) -> None:
    attachment_id, message_id = attachment(gateway, place=1)

    data = fetch(gateway, attachment_id, message_id, "base64").data

    assert {"attachment_id", "filename", "mime_type", "size_bytes", "content_base64"} == data.keys()
    assert CSV == b64decode(data["content_base64"], validate=True)
    assert data["size_bytes"] == len(CSV)


@requirement("mail-29")
def test_the_name_of_an_attachment_stays(gateway: Gateway) -> None:
    first = one(gateway, MANIFEST, include_body=True)["attachments"]
    again = one(gateway, MANIFEST, include_body=True)["attachments"]

    assert first == again


@requirement("mail-30")
def test_the_applications_own_names_are_taken_too(gateway: Gateway, mailbox: Looking) -> None:
    attachment_id, message_id = attachment(gateway, place=1)
    message = mailbox.own.messages[message_id]
    (_, csv) = message.root.attachments
    own = mailbox.emulator.services.attachments.create_id(message, csv)

    reply = fetch(gateway, own, message_id)

    assert (reply.data["attachment_id"], reply.data["filename"]) == (attachment_id, "arrivals.csv")


def test_the_applications_own_name_is_told_apart_among_files_of_one_size(gateway: Gateway, mailbox: Looking) -> None:
    files = [file("a.txt", b"first"), file("b.txt", b"other"), file("c.txt", b"third")]
    message = mailbox.own.messages[received(gateway, "Three of one size", *files)]
    own = mailbox.emulator.services.attachments.create_id(message, message.root.attachments[1])

    data = fetch(gateway, own, message.id, "base64").data

    assert ("b.txt", b"other") == (data["filename"], b64decode(data["content_base64"]))


def test_an_attached_message_can_be_fetched(gateway: Gateway) -> None:
    data = fetch(gateway, *attachment(gateway, 'subject:"Fwd: Berth 14"'), "base64").data

    assert ("attachment.eml", "message/rfc822") == (data["filename"], data["mime_type"])
    assert b"Subject: Berth 14" in b64decode(data["content_base64"])


def test_an_empty_file_can_be_fetched(gateway: Gateway) -> None:
    message_id = received(gateway, "Nothing inside", file("empty.txt", b"", "text/plain"))
    (listed,) = one(gateway, 'subject:"Nothing inside"', include_body=True)["attachments"]

    data = fetch(gateway, listed["attachment_id"], message_id, "base64").data

    assert (0, "") == (data["size_bytes"], data["content_base64"])


@pytest.mark.parametrize("attachment_id", ["att_", "att_nonsense", "att_MTox", "ANGjdJ8-unknown", "x"])
def test_a_name_that_stands_for_nothing_is_refused(gateway: Gateway, attachment_id: str) -> None:
    reply = fetch(gateway, attachment_id, gateway.examples("mail")["attachment_message_id"])

    assert (404, "attachment_not_found") == (reply.status, reply.code)


@requirement("mail-27")
def test_an_attachment_of_another_message_is_refused(gateway: Gateway) -> None:
    attachment_id, _ = attachment(gateway)

    reply = fetch(gateway, attachment_id, gateway.examples("mail")["message_id"])

    assert (404, "attachment_not_found") == (reply.status, reply.code)


@pytest.mark.parametrize("message_id", ["19a3f0c2b7d4e851", "abc"])
def test_an_attachment_of_a_message_that_is_not_there_is_refused(gateway: Gateway, message_id: str) -> None:
    reply = fetch(gateway, attachment(gateway)[0], message_id)

    assert (404, "message_not_found") == (reply.status, reply.code)


# Following links


@requirement("mail-35")
def test_a_link_leads_to_the_file_without_a_key(gateway: Gateway) -> None:
    response = follow(gateway, fetch(gateway, *attachment(gateway)).data["download_url"])

    assert (200, PDF) == (response.status_code, response.content)
    assert "application/pdf" == response.headers["content-type"]
    assert "193" == response.headers["content-length"]
    assert ("attachment; filename=\"manifest-41.pdf\"; filename*=UTF-8''manifest-41.pdf") == response.headers[
        "content-disposition"
    ]
    assert "no-store" == response.headers["cache-control"]
    assert "nosniff" == response.headers["x-content-type-options"]
    assert "x-service-ratelimit-remaining" not in response.headers


@requirement("mail-34")
def test_a_link_can_be_followed_again(gateway: Gateway) -> None:
    url = fetch(gateway, *attachment(gateway)).data["download_url"]

    assert [PDF, PDF] == [follow(gateway, url).content, follow(gateway, url).content]


def test_the_head_of_a_link_tells_what_is_there(gateway: Gateway) -> None:
    url = fetch(gateway, *attachment(gateway)).data["download_url"]
    gateway.clear("mail")

    response = follow(gateway, url, "HEAD")

    assert (200, b"", "193") == (response.status_code, response.content, response.headers["content-length"])
    assert 1 == len(gateway.journal("mail"))


def history_of(gateway: Gateway, response: httpx.Response) -> dict[str, Any]:
    """The run of a download, once it has ended; that may be a moment after its last byte has come."""
    wait_until(lambda: run_of(gateway, response)["status"] != "running")
    return run_of(gateway, response)


def run_of(gateway: Gateway, response: httpx.Response) -> dict[str, Any]:
    """The run of a download, as it is now."""
    run: dict[str, Any] = gateway.request("GET", f"/v1/runs/{response.headers['x-run-id']}").body["data"]
    return run


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_download_has_its_place_in_the_history(gateway: Gateway, method: str) -> None:
    run = history_of(gateway, follow(gateway, fetch(gateway, *attachment(gateway)).data["download_url"], method))

    assert ("mail", "download", "") == (run["connector"], run["operation"], run["key_id"])
    assert gateway.connections["mail"] == run["connection_id"]
    assert ("ok", 200) == (run["status"], run["http_status"])
    assert {200} == {sent["status"] for sent in run["upstream"]}


def test_a_download_that_fails_is_told_in_the_history(gateway: Gateway) -> None:
    attachment_id, message_id = attachment(gateway)
    url = fetch(gateway, attachment_id, message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="status", status=404)

    run = history_of(gateway, follow(gateway, url))

    assert ("error", 404, "attachment_not_found") == (run["status"], run["http_status"], run["code"])


def test_a_download_that_somebody_leaves_is_interrupted(gateway: Gateway) -> None:
    message_id = received(gateway, "Left early", {"filename": "long.bin", "size_bytes": 4 * 1024 * 1024})
    (listed,) = one(gateway, 'subject:"Left early"', include_body=True)["attachments"]
    url = fetch(gateway, listed["attachment_id"], message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="slow_body", seconds=50)
    with httpx.stream("GET", gateway.base_url + urlsplit(url).path) as response:
        next(response.iter_raw())

    assert "interrupted" == history_of(gateway, response)["status"]


def status(gateway: Gateway, run_id: str) -> str:
    """The status of a run."""
    found: str = gateway.request("GET", f"/v1/runs/{run_id}").data["status"]
    return found


@requirement("mail-40")
def test_many_who_stall_at_one_link_take_no_more_than_its_places_and_are_cut(
    gateway: Gateway, sandbox: Sandbox
) -> None:
    message_id = received(gateway, "Stalled", {"filename": "long.bin", "size_bytes": 6 * 1024 * 1024})
    (listed,) = one(gateway, 'subject:"Stalled"', include_body=True)["attachments"]
    url = urlsplit(fetch(gateway, listed["attachment_id"], message_id).data["download_url"]).path
    with ExitStack() as stack:
        stalled = [
            stack.enter_context(open_raw_connection(gateway.base_url, buffer_bytes=4096)) for _ in range(MAX_PER_LINK)
        ]
        for speaker in stalled:
            speaker.ask("GET", url)
        run_ids = [speaker.headers()["x-run-id"] for speaker in stalled]
        refused = follow(gateway, url)
        other = follow(gateway, link_to(gateway, "other.pdf"))
        wait_until(lambda: unread(gateway) == MAX_PER_LINK)
        passing(gateway, 0)
        passing(gateway, UNREAD_SECONDS + 1)
        wait_until(lambda: {status(gateway, run_id) for run_id in run_ids} == {"interrupted"})
        again = follow(gateway, url)

    assert (503, "overloaded", "5") == (refused.status_code, code_of(refused), refused.headers["retry-after"])
    assert [200, 200] == [other.status_code, again.status_code]


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_a_link_can_only_be_read(gateway: Gateway, method: str) -> None:
    response = follow(gateway, fetch(gateway, *attachment(gateway)).data["download_url"], method)

    assert (405, "GET, HEAD") == (response.status_code, response.headers["allow"])


def test_a_short_text_that_comes_with_its_message_is_a_file_as_well(gateway: Gateway, mailbox: Looking) -> None:
    raw = (
        b"From: ben@acmefreight.test\r\nSubject: Bare attachment\r\nContent-Type: text/plain\r\n"
        b"Content-Disposition: attachment\r\n\r\nJust a note.\r\n"
    )
    message = mailbox.receive(raw)
    (listed,) = one(gateway, 'subject:"Bare attachment"', include_body=True)["attachments"]

    reply = fetch(gateway, listed["attachment_id"], message.id)

    assert "attachment.txt" == reply.data["filename"]
    assert b"Just a note.\r\n" == follow(gateway, reply.data["download_url"]).content


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("plan.pdf", "plan.pdf"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\evil.exe", "evil.exe"),
        ("/etc/shadow", "shadow"),
        ("C:\\boot.ini", "boot.ini"),
        ("..", "attachment.pdf"),
        (".htaccess", "htaccess"),
        ("Übersicht 2026.pdf", "Übersicht 2026.pdf"),
        ("重要案件.pdf", "重要案件.pdf"),
        ('a"b;c%d.pdf', 'a"b_c_d.pdf'),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("x" * 300 + ".pdf", "x" * 146 + ".pdf"),
    ],
)
def test_a_file_is_saved_under_its_own_name_and_nowhere_else(gateway: Gateway, name: str, saved: str) -> None:
    disposition = follow(gateway, link_to(gateway, name)).headers["content-disposition"]

    plain, _, extended = disposition.removeprefix("attachment; ").partition("; ")
    assert unquote(extended.removeprefix("filename*=UTF-8''")) == saved
    assert plain.isascii()
    assert "/" not in plain
    assert 2 == plain.count('"')


@pytest.mark.parametrize("mime_type", ["text/html", "image/svg+xml"])
def test_a_page_is_saved_and_never_shown(gateway: Gateway, mime_type: str) -> None:
    response = follow(gateway, link_to(gateway, "page", b"<script>alert(1)</script>", mime_type))

    assert response.headers["content-disposition"].startswith("attachment;")
    assert "sandbox" == response.headers["content-security-policy"]


def test_a_kind_that_is_no_media_type_is_passed_on_as_bytes(gateway: Gateway) -> None:
    response = follow(gateway, link_to(gateway, "odd.bin", b"odd", "x y/z"))

    assert "application/octet-stream" == response.headers["content-type"]


# Links that lead nowhere


@requirement("mail-36")
@pytest.mark.parametrize("token", ["x", "AAAA", "x" * 5000, "%00", "%C3%BC"])
def test_a_forged_link_leads_nowhere(gateway: Gateway, token: str) -> None:
    reply = gateway.request("GET", f"/v1/downloads/{token}", headers={"Authorization": ""})

    assert (404, "link_not_found") == (reply.status, reply.code)
    assert reply.body["run_id"] == reply.headers["x-run-id"]


@requirement("mail-36")
def test_a_link_expires(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), GATEWAY_LINK_SECONDS="0.000001") as gateway:
        gateway.clear("mail")
        response = follow(gateway, fetch(gateway, *attachment(gateway)).data["download_url"])

    assert (404, "link_not_found") == (response.status_code, code_of(response))


def test_a_link_of_another_installation_leads_nowhere(gateway: Gateway, sandbox: Sandbox, tmp_path: Path) -> None:
    url = fetch(gateway, *attachment(gateway)).data["download_url"]

    with run_gateway(sandbox, tmp_path, connectors=only("mail")) as other:
        response = follow(other, url)

    assert (404, "link_not_found") == (response.status_code, code_of(response))


@requirement("mail-33")
def test_links_are_published_where_the_operator_says(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(
        sandbox, tmp_path, connectors=only("mail"), GATEWAY_DOWNLOAD_BASE="https://files.test/mail/"
    ) as gateway:
        gateway.clear("mail")
        url = fetch(gateway, *attachment(gateway)).data["download_url"]

        assert ("https", "files.test") == urlsplit(url)[:2]
        assert PDF == follow(gateway, url).content


def test_a_link_of_a_removed_connection_leads_nowhere(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("mail")) as gateway:
        gateway.clear("mail")
        url = fetch(gateway, *attachment(gateway)).data["download_url"]
        gateway.operator("DELETE", f"/v1/connections/{gateway.connections['mail']}")
        response = follow(gateway, url)

    assert (404, "link_not_found") == (response.status_code, code_of(response))


def test_a_link_of_a_revoked_connection_says_so_until_it_is_authorised_again(gateway: Gateway) -> None:
    url = fetch(gateway, *attachment(gateway)).data["download_url"]
    gateway.revoke("mail")
    refused = follow(gateway, url)
    gateway.authorise("mail")

    assert (401, "connection_revoked") == (refused.status_code, code_of(refused))
    assert 200 == follow(gateway, url).status_code


def test_a_link_to_a_message_that_was_deleted_leads_nowhere(gateway: Gateway) -> None:
    url = link_to(gateway, "gone.pdf")
    newest = gateway.get("/mail/messages", q="in:inbox", limit=1).data[0]["message_id"]
    gateway.act("mail", action="delete", message_id=newest)

    response = follow(gateway, url)

    assert (404, "message_not_found") == (response.status_code, code_of(response))


# Large files, and failures on the way


@requirement("mail-35")
def test_a_large_file_passes_through(patient: Gateway) -> None:
    size = 25 * 1024 * 1024
    message_id = received(patient, "Large and whole", {"filename": "large.bin", "size_bytes": size})
    (listed,) = one(patient, 'subject:"Large and whole"', include_body=True)["attachments"]
    url = fetch(patient, listed["attachment_id"], message_id).data["download_url"]

    response = follow(patient, url)

    assert int(response.headers["content-length"]) == size == len(response.content)
    assert response.content.endswith(FILLER[: size % len(FILLER)])


def leaving(gateway: Gateway, attachment_id: str, message_id: str) -> tuple[httpx.Response, list[int]]:
    """The answer to a call for base64, and the sizes of the messages in which its body left the application."""
    application, sizes = gateway.app.http(), []

    async def weighed(scope: Scope, receive: Receive, send: Send) -> None:
        async def weigh(message: Message) -> None:
            sizes.extend([len(message["body"])] if "body" in message else [])
            await send(message)

        await application(scope, receive, weigh)

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(weighed)
        async with httpx.AsyncClient(transport=transport, base_url=gateway.base_url) as client:
            return await client.get(
                f"/v1/connectors/mail/attachments/{attachment_id}",
                params={"connection_id": gateway.connections["mail"], "message_id": message_id, "as": "base64"},
                headers={"Authorization": f"Bearer {gateway.key}"},
            )

    return gateway.run(call()), sizes


def test_a_large_file_as_base64_leaves_piece_by_piece(gateway: Gateway) -> None:
    message_id = received(gateway, "Large in pieces", {"filename": "large.bin", "size_bytes": 4 * 1024 * 1024})
    (listed,) = one(gateway, 'subject:"Large in pieces"', include_body=True)["attachments"]

    response, sizes = leaving(gateway, listed["attachment_id"], message_id)

    assert response.json()["data"]["size_bytes"] == 4 * 1024 * 1024
    assert int(response.headers["content-length"]) == sum(sizes) == len(response.content)
    assert max(sizes) < 128 * 1024


@pytest.mark.parametrize(
    ("fault", "answered"),
    [
        ({"fault": "status", "status": 503}, (200, None)),
        ({"fault": "status", "status": 503, "times": 3}, (502, "upstream_error")),
        ({"fault": "drop_before", "times": 3}, (502, "upstream_error")),
        ({"fault": "status", "status": 404}, (404, "attachment_not_found")),
        ({"fault": "garbage"}, (502, "upstream_error")),
        ({"fault": "status", "status": 200, "body": {"size": 3, "data": "A"}}, (502, "upstream_error")),
        ({"fault": "status", "status": 200, "body": {"size": 3}}, (502, "upstream_error")),
        ({"fault": "status", "status": 200, "body": '{"size": 3, "data": "QUJD'}, (502, "upstream_error")),
        ({"fault": "slow_body", "seconds": 50}, (504, "upstream_timeout")),
    ],
)
def test_what_goes_wrong_with_a_file_as_base64_is_told(
    gateway: Gateway, fault: dict[str, Any], answered: tuple[int, str | None]
) -> None:
    attachment_id, message_id = attachment(gateway)
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", **fault)

    reply = fetch(gateway, attachment_id, message_id, "base64")

    assert (reply.status, reply.body.get("error", {}).get("code")) == answered


@pytest.mark.parametrize(
    ("fault", "answered"),
    [
        ({"fault": "status", "status": 503}, (200, None)),
        ({"fault": "status", "status": 503, "times": 3}, (502, "upstream_error")),
        ({"fault": "drop_before"}, (200, None)),
        ({"fault": "drop_before", "times": 3}, (502, "upstream_error")),
        ({"fault": "status", "status": 429, "headers": {"Retry-After": "0"}}, (200, None)),
        ({"fault": "status", "status": 404}, (404, "attachment_not_found")),
        ({"fault": "status", "status": 400}, (404, "attachment_not_found")),
        ({"fault": "status", "status": 418}, (502, "upstream_unexpected")),
        ({"fault": "garbage"}, (502, "upstream_error")),
    ],
)
def test_a_download_is_tried_again_where_that_may_help(
    gateway: Gateway, fault: dict[str, Any], answered: tuple[int, str | None]
) -> None:
    attachment_id, message_id = attachment(gateway)
    url = fetch(gateway, attachment_id, message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", **fault)

    response = follow(gateway, url)

    assert (response.status_code, code_of(response)) == answered


def test_a_download_that_the_application_throttles_for_long_says_when_to_come_back(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("mail")) as gateway:
        gateway.clear("mail")
        attachment_id, message_id = attachment(gateway)
        url = fetch(gateway, attachment_id, message_id).data["download_url"]
        gateway.fault("mail", path=MESSAGES, fault="status", status=429, headers={"Retry-After": "900"})

        response = follow(gateway, url)

    assert (429, "upstream_rate_limited") == (response.status_code, code_of(response))
    assert "900" == response.headers["retry-after"]


def test_silence_before_the_first_byte_is_a_timeout(gateway: Gateway) -> None:
    attachment_id, message_id = attachment(gateway)
    url = fetch(gateway, attachment_id, message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="delay", seconds=5.5)

    response = follow(gateway, url)

    assert (504, "upstream_timeout") == (response.status_code, code_of(response))


def test_silence_in_the_middle_breaks_the_download_off(gateway: Gateway) -> None:
    message_id = received(gateway, "Breaks off", {"filename": "long.bin", "size_bytes": 4 * 1024 * 1024})
    (listed,) = one(gateway, 'subject:"Breaks off"', include_body=True)["attachments"]
    url = fetch(gateway, listed["attachment_id"], message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="slow_body", seconds=50)

    with pytest.raises(httpx.RemoteProtocolError):
        follow(gateway, url)
