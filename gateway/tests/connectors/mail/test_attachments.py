"""Fetched attachments and download links, against the emulator on real HTTP."""

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
from connector_gateway.http.server.http11 import UNREAD_SECONDS
from gateway.tests.connectors.mail.vendor_view import (
    VendorInspector,
    build_attachment,
    download,
    get_error_code,
    receive_message,
    search_one,
)
from harness.all_connectors import only
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.raw_http import open_raw_connection, passing, unread
from harness.requirement import requirement
from harness.wait import wait_until
from workspace_sandbox.mail.data.edge_case_messages import CSV, PDF
from workspace_sandbox.mail.data.mime_writer import FILLER
from workspace_sandbox.sandbox import Sandbox

MANIFEST = 'subject:"Manifest for sailing 41"'
MESSAGES = "/gmail/v1/users/me/messages"


def fetch(gateway: Gateway, attachment_id: str, message_id: str, form: str = "link", **more: str) -> Reply:
    return gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id, **{"as": form}, **more)


def find_attachment_ids(gateway: Gateway, q: str = MANIFEST, position: int = 0) -> tuple[str, str]:
    """Return the identifiers of an attachment and of its message."""
    message = search_one(gateway, q, include_body=True)
    return message["attachments"][position]["attachment_id"], message["message_id"]


def create_link(gateway: Gateway, name: str, content: bytes = b"content", mime_type: str = "application/pdf") -> str:
    """Receive a file of that name, and return a download link for it."""
    message_id = receive_message(
        gateway, f"With {len(name)} {content[:9]!r}", build_attachment(name, content, mime_type)
    )
    listed = gateway.get("/mail/messages", q="in:inbox", limit=1, include_body=True).data[0]
    assert listed["message_id"] == message_id
    url = fetch(gateway, listed["attachments"][0]["attachment_id"], message_id).data["download_url"]
    assert isinstance(url, str)
    return url


# Fetched attachments


@requirement("mail-27", "mail-28", "mail-33", "mail-34")
def test_attachment_is_fetched_as_a_short_lived_link(gateway: Gateway) -> None:
    attachment_id, message_id = find_attachment_ids(gateway)
    before = datetime.now(UTC).timestamp()

    reply = fetch(gateway, attachment_id, message_id)

    assert reply.data == {
        "attachment_id": attachment_id,
        "filename": "manifest-41.pdf",
        "mime_type": "application/pdf",
        "size_bytes": 193,
        "download_url": reply.data["download_url"],
        "expires_at": reply.data["expires_at"],
    }
    assert reply.data["download_url"].startswith(gateway.app.settings.download_base + "/")
    assert 890 < datetime.fromisoformat(reply.data["expires_at"]).timestamp() - before < 910


@requirement("mail-31")
def test_attachment_is_fetched_as_a_link_by_default(gateway: Gateway) -> None:
    attachment_id, message_id = find_attachment_ids(gateway)

    assert "download_url" in gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id).data


@requirement("mail-31", "mail-32")
def test_attachment_is_fetched_as_base64(gateway: Gateway) -> None:
    attachment_id, message_id = find_attachment_ids(gateway, position=1)

    data = fetch(gateway, attachment_id, message_id, "base64").data

    assert {"attachment_id", "filename", "mime_type", "size_bytes", "content_base64"} == data.keys()
    assert CSV == b64decode(data["content_base64"], validate=True)
    assert data["size_bytes"] == len(CSV)


@requirement("mail-29")
def test_attachment_id_is_stable(gateway: Gateway) -> None:
    first = search_one(gateway, MANIFEST, include_body=True)["attachments"]
    again = search_one(gateway, MANIFEST, include_body=True)["attachments"]

    assert first == again


@requirement("mail-30")
def test_vendor_attachment_id_is_accepted(gateway: Gateway, mailbox: VendorInspector) -> None:
    attachment_id, message_id = find_attachment_ids(gateway, position=1)
    message = mailbox.own.messages[message_id]
    (_, csv) = message.root.attachments
    vendor_attachment_id = mailbox.emulator.services.attachments.create_id(message, csv)

    reply = fetch(gateway, vendor_attachment_id, message_id)

    assert (reply.data["attachment_id"], reply.data["filename"]) == (attachment_id, "arrivals.csv")


def test_vendor_attachment_id_is_resolved_among_files_of_one_size(gateway: Gateway, mailbox: VendorInspector) -> None:
    files = [
        build_attachment("a.txt", b"first"),
        build_attachment("b.txt", b"other"),
        build_attachment("c.txt", b"third"),
    ]
    message = mailbox.own.messages[receive_message(gateway, "Three of one size", *files)]
    vendor_attachment_id = mailbox.emulator.services.attachments.create_id(message, message.root.attachments[1])

    data = fetch(gateway, vendor_attachment_id, message.id, "base64").data

    assert ("b.txt", b"other") == (data["filename"], b64decode(data["content_base64"]))


def test_attached_message_is_fetched(gateway: Gateway) -> None:
    data = fetch(gateway, *find_attachment_ids(gateway, 'subject:"Fwd: Berth 14"'), "base64").data

    assert ("attachment.eml", "message/rfc822") == (data["filename"], data["mime_type"])
    assert b"Subject: Berth 14" in b64decode(data["content_base64"])


def test_empty_file_is_fetched(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Nothing inside", build_attachment("empty.txt", b"", "text/plain"))
    (listed,) = search_one(gateway, 'subject:"Nothing inside"', include_body=True)["attachments"]

    data = fetch(gateway, listed["attachment_id"], message_id, "base64").data

    assert (0, "") == (data["size_bytes"], data["content_base64"])


@pytest.mark.parametrize("attachment_id", ["att_", "att_nonsense", "att_MTox", "ANGjdJ8-unknown", "x"])
def test_unknown_attachment_id_is_not_found(gateway: Gateway, attachment_id: str) -> None:
    reply = fetch(gateway, attachment_id, gateway.examples("mail")["attachment_message_id"])

    assert (404, "attachment_not_found") == (reply.status, reply.code)


@requirement("mail-27")
def test_attachment_of_another_message_is_not_found(gateway: Gateway) -> None:
    attachment_id, _ = find_attachment_ids(gateway)

    reply = fetch(gateway, attachment_id, gateway.examples("mail")["message_id"])

    assert (404, "attachment_not_found") == (reply.status, reply.code)


@pytest.mark.parametrize("message_id", ["19a3f0c2b7d4e851", "abc"])
def test_attachment_of_an_unknown_message_is_not_found(gateway: Gateway, message_id: str) -> None:
    reply = fetch(gateway, find_attachment_ids(gateway)[0], message_id)

    assert (404, "message_not_found") == (reply.status, reply.code)


# Download links


@requirement("mail-35")
def test_link_returns_the_file_without_a_key(gateway: Gateway) -> None:
    response = download(gateway, fetch(gateway, *find_attachment_ids(gateway)).data["download_url"])

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
def test_link_can_be_used_repeatedly(gateway: Gateway) -> None:
    url = fetch(gateway, *find_attachment_ids(gateway)).data["download_url"]

    assert [PDF, PDF] == [download(gateway, url).content, download(gateway, url).content]


def test_head_request_returns_the_headers_of_the_file(gateway: Gateway) -> None:
    url = fetch(gateway, *find_attachment_ids(gateway)).data["download_url"]
    gateway.clear("mail")

    response = download(gateway, url, "HEAD")

    assert (200, b"", "193") == (response.status_code, response.content, response.headers["content-length"])
    assert 1 == len(gateway.journal("mail"))


def wait_for_run(gateway: Gateway, response: httpx.Response) -> dict[str, Any]:
    """Wait for the run of a download to end, which may be shortly after its last byte, and return it."""
    wait_until(lambda: get_run(gateway, response)["status"] != "running")
    return get_run(gateway, response)


def get_run(gateway: Gateway, response: httpx.Response) -> dict[str, Any]:
    """Return the current state of the run of a download."""
    run: dict[str, Any] = gateway.request("GET", f"/v1/runs/{response.headers['x-run-id']}").body["data"]
    return run


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_download_is_recorded_in_the_history(gateway: Gateway, method: str) -> None:
    run = wait_for_run(
        gateway, download(gateway, fetch(gateway, *find_attachment_ids(gateway)).data["download_url"], method)
    )

    assert ("mail", "download", "") == (run["connector"], run["operation"], run["key_id"])
    assert gateway.connections["mail"] == run["connection_id"]
    assert ("ok", 200) == (run["status"], run["http_status"])
    assert {200} == {request["status"] for request in run["upstream"]}


def test_failed_download_is_recorded_in_the_history(gateway: Gateway) -> None:
    attachment_id, message_id = find_attachment_ids(gateway)
    url = fetch(gateway, attachment_id, message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="status", status=404)

    run = wait_for_run(gateway, download(gateway, url))

    assert ("error", 404, "attachment_not_found") == (run["status"], run["http_status"], run["code"])


def test_abandoned_download_is_recorded_as_interrupted(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Left early", {"filename": "long.bin", "size_bytes": 4 * 1024 * 1024})
    (listed,) = search_one(gateway, 'subject:"Left early"', include_body=True)["attachments"]
    url = fetch(gateway, listed["attachment_id"], message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="slow_body", seconds=50)
    with httpx.stream("GET", gateway.base_url + urlsplit(url).path) as response:
        next(response.iter_raw())

    assert "interrupted" == wait_for_run(gateway, response)["status"]


def get_status(gateway: Gateway, run_id: str) -> str:
    """Return the status of a run."""
    status: str = gateway.request("GET", f"/v1/runs/{run_id}").data["status"]
    return status


@requirement("mail-40")
def test_stalled_downloads_of_a_link_are_limited_and_aborted(gateway: Gateway, sandbox: Sandbox) -> None:
    message_id = receive_message(gateway, "Stalled", {"filename": "long.bin", "size_bytes": 6 * 1024 * 1024})
    (listed,) = search_one(gateway, 'subject:"Stalled"', include_body=True)["attachments"]
    url = urlsplit(fetch(gateway, listed["attachment_id"], message_id).data["download_url"]).path
    with ExitStack() as stack:
        stalled = [
            stack.enter_context(open_raw_connection(gateway.base_url, buffer_bytes=4096)) for _ in range(MAX_PER_LINK)
        ]
        for speaker in stalled:
            speaker.send_request("GET", url)
        run_ids = [speaker.headers()["x-run-id"] for speaker in stalled]
        rejected = download(gateway, url)
        other_link = download(gateway, create_link(gateway, "other.pdf"))
        wait_until(lambda: unread(gateway) == MAX_PER_LINK)
        passing(gateway, 0)
        passing(gateway, UNREAD_SECONDS + 1)
        wait_until(lambda: {get_status(gateway, run_id) for run_id in run_ids} == {"interrupted"})
        after_abort = download(gateway, url)

    assert (503, "overloaded", "5") == (rejected.status_code, get_error_code(rejected), rejected.headers["retry-after"])
    assert [200, 200] == [other_link.status_code, after_abort.status_code]


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_link_accepts_only_get_and_head(gateway: Gateway, method: str) -> None:
    response = download(gateway, fetch(gateway, *find_attachment_ids(gateway)).data["download_url"], method)

    assert (405, "GET, HEAD") == (response.status_code, response.headers["allow"])


def test_inline_text_attachment_is_fetched_as_a_file(gateway: Gateway, mailbox: VendorInspector) -> None:
    raw = (
        b"From: ben@acmefreight.test\r\nSubject: Bare attachment\r\nContent-Type: text/plain\r\n"
        b"Content-Disposition: attachment\r\n\r\nJust a note.\r\n"
    )
    message = mailbox.receive(raw)
    (listed,) = search_one(gateway, 'subject:"Bare attachment"', include_body=True)["attachments"]

    reply = fetch(gateway, listed["attachment_id"], message.id)

    assert "attachment.txt" == reply.data["filename"]
    assert b"Just a note.\r\n" == download(gateway, reply.data["download_url"]).content


@pytest.mark.parametrize(
    ("name", "expected"),
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
def test_file_name_is_sanitised_in_content_disposition(gateway: Gateway, name: str, expected: str) -> None:
    disposition = download(gateway, create_link(gateway, name)).headers["content-disposition"]

    plain, _, extended = disposition.removeprefix("attachment; ").partition("; ")
    assert unquote(extended.removeprefix("filename*=UTF-8''")) == expected
    assert plain.isascii()
    assert "/" not in plain
    assert 2 == plain.count('"')


@pytest.mark.parametrize("mime_type", ["text/html", "image/svg+xml"])
def test_html_is_downloaded_and_never_rendered(gateway: Gateway, mime_type: str) -> None:
    response = download(gateway, create_link(gateway, "page", b"<script>alert(1)</script>", mime_type))

    assert response.headers["content-disposition"].startswith("attachment;")
    assert "sandbox" == response.headers["content-security-policy"]


def test_invalid_media_type_is_sent_as_octet_stream(gateway: Gateway) -> None:
    response = download(gateway, create_link(gateway, "odd.bin", b"odd", "x y/z"))

    assert "application/octet-stream" == response.headers["content-type"]


# Invalid links


@requirement("mail-36")
@pytest.mark.parametrize("token", ["x", "AAAA", "x" * 5000, "%00", "%C3%BC"])
def test_forged_link_is_not_found(gateway: Gateway, token: str) -> None:
    reply = gateway.request("GET", f"/v1/downloads/{token}", headers={"Authorization": ""})

    assert (404, "link_not_found") == (reply.status, reply.code)
    assert reply.body["run_id"] == reply.headers["x-run-id"]


@requirement("mail-36")
def test_expired_link_is_not_found(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), GATEWAY_LINK_SECONDS="0.000001") as gateway:
        gateway.clear("mail")
        response = download(gateway, fetch(gateway, *find_attachment_ids(gateway)).data["download_url"])

    assert (404, "link_not_found") == (response.status_code, get_error_code(response))


def test_link_of_another_installation_is_not_found(gateway: Gateway, sandbox: Sandbox, tmp_path: Path) -> None:
    url = fetch(gateway, *find_attachment_ids(gateway)).data["download_url"]

    with run_gateway(sandbox, tmp_path, connectors=only("mail")) as other:
        response = download(other, url)

    assert (404, "link_not_found") == (response.status_code, get_error_code(response))


@requirement("mail-33")
def test_links_use_the_configured_base_url(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(
        sandbox, tmp_path, connectors=only("mail"), GATEWAY_DOWNLOAD_BASE="https://files.test/mail/"
    ) as gateway:
        gateway.clear("mail")
        url = fetch(gateway, *find_attachment_ids(gateway)).data["download_url"]

        assert ("https", "files.test") == urlsplit(url)[:2]
        assert PDF == download(gateway, url).content


def test_link_of_a_removed_connection_is_not_found(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("mail")) as gateway:
        gateway.clear("mail")
        url = fetch(gateway, *find_attachment_ids(gateway)).data["download_url"]
        gateway.operator("DELETE", f"/v1/connections/{gateway.connections['mail']}")
        response = download(gateway, url)

    assert (404, "link_not_found") == (response.status_code, get_error_code(response))


def test_link_of_a_revoked_connection_works_after_reauthorisation(gateway: Gateway) -> None:
    url = fetch(gateway, *find_attachment_ids(gateway)).data["download_url"]
    gateway.revoke("mail")
    rejected = download(gateway, url)
    gateway.authorise("mail")

    assert (401, "connection_revoked") == (rejected.status_code, get_error_code(rejected))
    assert 200 == download(gateway, url).status_code


def test_link_to_a_deleted_message_is_not_found(gateway: Gateway) -> None:
    url = create_link(gateway, "gone.pdf")
    newest = gateway.get("/mail/messages", q="in:inbox", limit=1).data[0]["message_id"]
    gateway.act("mail", action="delete", message_id=newest)

    response = download(gateway, url)

    assert (404, "message_not_found") == (response.status_code, get_error_code(response))


# Large files and failures


@requirement("mail-35")
def test_large_file_is_downloaded(slow_gateway: Gateway) -> None:
    size = 25 * 1024 * 1024
    message_id = receive_message(slow_gateway, "Large file", {"filename": "large.bin", "size_bytes": size})
    (listed,) = search_one(slow_gateway, 'subject:"Large file"', include_body=True)["attachments"]
    url = fetch(slow_gateway, listed["attachment_id"], message_id).data["download_url"]

    response = download(slow_gateway, url)

    assert int(response.headers["content-length"]) == size == len(response.content)
    assert response.content.endswith(FILLER[: size % len(FILLER)])


def call_and_measure_pieces(gateway: Gateway, attachment_id: str, message_id: str) -> tuple[httpx.Response, list[int]]:
    """Fetch an attachment as base64. Returns the response and the sizes of the pieces in which the gateway sent it."""
    application, sizes = gateway.app.http(), []

    async def measured(scope: Scope, receive: Receive, send: Send) -> None:
        async def measure(message: Message) -> None:
            sizes.extend([len(message["body"])] if "body" in message else [])
            await send(message)

        await application(scope, receive, measure)

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(measured)
        async with httpx.AsyncClient(transport=transport, base_url=gateway.base_url) as client:
            return await client.get(
                f"/v1/connectors/mail/attachments/{attachment_id}",
                params={"connection_id": gateway.connections["mail"], "message_id": message_id, "as": "base64"},
                headers={"Authorization": f"Bearer {gateway.key}"},
            )

    return gateway.run(call()), sizes


def test_large_base64_response_is_sent_in_pieces(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Large in pieces", {"filename": "large.bin", "size_bytes": 4 * 1024 * 1024})
    (listed,) = search_one(gateway, 'subject:"Large in pieces"', include_body=True)["attachments"]

    response, sizes = call_and_measure_pieces(gateway, listed["attachment_id"], message_id)

    assert response.json()["data"]["size_bytes"] == 4 * 1024 * 1024
    assert int(response.headers["content-length"]) == sum(sizes) == len(response.content)
    assert max(sizes) < 128 * 1024


@pytest.mark.parametrize(
    ("fault", "expected"),
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
def test_vendor_failure_during_a_base64_fetch_is_reported(
    gateway: Gateway, fault: dict[str, Any], expected: tuple[int, str | None]
) -> None:
    attachment_id, message_id = find_attachment_ids(gateway)
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", **fault)

    reply = fetch(gateway, attachment_id, message_id, "base64")

    assert (reply.status, reply.body.get("error", {}).get("code")) == expected


@pytest.mark.parametrize(
    ("fault", "expected"),
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
def test_download_is_retried_after_transient_failures(
    gateway: Gateway, fault: dict[str, Any], expected: tuple[int, str | None]
) -> None:
    attachment_id, message_id = find_attachment_ids(gateway)
    url = fetch(gateway, attachment_id, message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", **fault)

    response = download(gateway, url)

    assert (response.status_code, get_error_code(response)) == expected


def test_throttled_download_returns_retry_after(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(sandbox, tmp_path, connectors=only("mail")) as gateway:
        gateway.clear("mail")
        attachment_id, message_id = find_attachment_ids(gateway)
        url = fetch(gateway, attachment_id, message_id).data["download_url"]
        gateway.fault("mail", path=MESSAGES, fault="status", status=429, headers={"Retry-After": "900"})

        response = download(gateway, url)

    assert (429, "upstream_rate_limited") == (response.status_code, get_error_code(response))
    assert "900" == response.headers["retry-after"]


def test_no_response_before_the_first_byte_is_a_timeout(gateway: Gateway) -> None:
    attachment_id, message_id = find_attachment_ids(gateway)
    url = fetch(gateway, attachment_id, message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="delay", seconds=5.5)

    response = download(gateway, url)

    assert (504, "upstream_timeout") == (response.status_code, get_error_code(response))


def test_stalled_vendor_response_aborts_the_download(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Breaks off", {"filename": "long.bin", "size_bytes": 4 * 1024 * 1024})
    (listed,) = search_one(gateway, 'subject:"Breaks off"', include_body=True)["attachments"]
    url = fetch(gateway, listed["attachment_id"], message_id).data["download_url"]
    gateway.fault("mail", path=f"{MESSAGES}/{message_id}/attachments", fault="slow_body", seconds=50)

    with pytest.raises(httpx.RemoteProtocolError):
        download(gateway, url)
