"""Uploads to the mail emulator."""

import json
from typing import Any

import httpx
import pytest

from sandbox.tests.mail.mail_client import USER, Mail, decoded, header, reply_to, rfc822_message

# --- uploads


def upload(mail: Mail, path: str = "/messages/send", prefix: str = "/upload", **request: Any) -> httpx.Response:
    return mail.http.request(request.pop("method", "POST"), f"{prefix}{USER}{path}", **request)


RFC822 = {"Content-Type": "message/rfc822"}


def related(metadata: Any, message: bytes, newline: str = "\r\n") -> tuple[bytes, dict[str, str]]:
    head = [
        "--b",
        "Content-Type: application/json",
        "",
        json.dumps(metadata),
        "--b",
        "Content-Type: message/rfc822",
        "",
        "",
    ]
    return newline.join(head).encode() + message + f"{newline}--b--".encode(), {
        "Content-Type": "multipart/related; boundary=b"
    }


@pytest.mark.parametrize("prefix", ["/upload", "/resumable/upload"])
def test_a_message_is_uploaded_without_metadata(mail: Mail, prefix: str) -> None:
    sent = upload(
        mail, prefix=prefix, params={"uploadType": "media"}, content=rfc822_message(subject="Up"), headers=RFC822
    )

    assert "Up" == header(mail.get(f"/messages/{sent.json()['id']}"), "Subject")


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_a_message_is_uploaded_with_its_thread(mail: Mail, newline: str) -> None:
    first = mail.receive("Uploaded thread")
    reply = reply_to(mail, first["message_id"], "Re: Uploaded thread")
    content, headers = related({"threadId": reply["threadId"]}, decoded(reply["raw"]), newline)

    sent = upload(mail, params={"uploadType": "multipart"}, content=content, headers=headers)

    assert first["thread_id"] == sent.json()["threadId"]


def test_an_upload_may_be_chunked(mail: Mail) -> None:
    content, headers = related({}, rfc822_message(subject="In chunks"))

    sent = upload(mail, params={"uploadType": "multipart"}, content=iter([content[:50], content[50:]]), headers=headers)

    assert "In chunks" == header(mail.get(f"/messages/{sent.json()['id']}"), "Subject")


def begin(mail: Mail, size: int, path: str = "/messages/send", body: Any = None) -> str:
    headers = {"X-Upload-Content-Type": "message/rfc822", "X-Upload-Content-Length": str(size)}
    response = upload(mail, path, params={"uploadType": "resumable"}, json=body or {}, headers=headers)
    assert 200 == response.status_code
    return response.headers["Location"]


def test_an_upload_is_resumed_in_several_chunks(mail: Mail) -> None:
    message, piece = rfc822_message(subject="In pieces") + b"x" * 600_000, 262_144
    location = begin(mail, len(message))
    total = len(message)
    first = mail.http.put(location, content=message[:piece], headers={"Content-Range": f"bytes 0-{piece - 1}/{total}"})
    probe = mail.http.put(location, headers={"Content-Range": f"bytes */{total}"})
    last = mail.http.put(
        location, content=message[piece:], headers={"Content-Range": f"bytes {piece}-{total - 1}/{total}"}
    )

    assert [308, 308, 200] == [response.status_code for response in (first, probe, last)]
    assert f"bytes=0-{piece - 1}" == first.headers["Range"] == probe.headers["Range"]
    assert "In pieces" == header(mail.get(f"/messages/{last.json()['id']}"), "Subject")
    assert 404 == mail.http.put(location, content=b"x").status_code


def test_an_upload_is_resumed_in_one_chunk(mail: Mail) -> None:
    message = rfc822_message(subject="In one piece")
    created = mail.http.put(begin(mail, len(message), "/drafts"), content=message)

    assert ["DRAFT"] == created.json()["message"]["labelIds"]


@pytest.mark.parametrize(
    ("content", "placed"),
    [(b"x" * 1000, "bytes 0-999/9000"), (b"x" * 1000, "bytes 0-5/9000"), (b"x", "bytes 7-7/9000"), (b"x", "nonsense")],
)
def test_an_invalid_chunk_is_rejected(mail: Mail, content: bytes, placed: str) -> None:
    response = mail.http.put(begin(mail, 9000), content=content, headers={"Content-Range": placed})

    assert 400 == response.status_code


def test_drafts_are_uploaded_changed_and_sent(mail: Mail) -> None:
    created = upload(
        mail, "/drafts", params={"uploadType": "media"}, content=rfc822_message(subject="One"), headers=RFC822
    ).json()
    changed = upload(
        mail,
        f"/drafts/{created['id']}",
        method="PUT",
        params={"uploadType": "media"},
        content=rfc822_message(subject="Two"),
        headers=RFC822,
    ).json()
    content, headers = related({"id": created["id"]}, rfc822_message(subject="Three"))
    sent = upload(mail, "/drafts/send", params={"uploadType": "multipart"}, content=content, headers=headers).json()

    assert created["id"] == changed["id"]
    assert "Three" == header(mail.get(f"/messages/{sent['id']}"), "Subject")


def test_invalid_uploads_are_rejected(mail: Mail) -> None:
    plain = upload(mail, params={"uploadType": "media"}, content=b"x", headers={"Content-Type": "text/plain"})
    unknown = upload(mail, params={"uploadType": "pigeon"}, content=b"x", headers=RFC822)
    broken = upload(
        mail,
        params={"uploadType": "multipart"},
        content=b"x",
        headers={"Content-Type": "multipart/related; boundary=b"},
    )
    no_upload = mail.http.post(f"/upload{USER}/labels", json={})

    assert [400, 400, 400, 404] == [response.status_code for response in (plain, unknown, broken, no_upload)]
    assert "Valid media types: [message/*]" in plain.json()["error"]["message"]


def test_a_message_that_is_too_large_is_rejected(mail: Mail) -> None:
    mail.set_knobs(json_bytes=1000)
    over_json = mail.error("POST", "/messages/send", json={"raw": "a" * 2000})
    over_upload = upload(
        mail,
        params={"uploadType": "resumable"},
        json={},
        headers={"X-Upload-Content-Type": "message/rfc822", "X-Upload-Content-Length": "36700161"},
    )

    assert (400, "Request payload size exceeds the limit: 1000 bytes.") == over_json[::2]
    assert (413, "Request Entity Too Large") == (over_upload.status_code, over_upload.json()["error"]["message"])
