"""Batches of the mail emulator."""

import json

import httpx
import pytest

from sandbox.tests.mail.mail_client import USER, Mail, batch_replies, raw_message

# --- batches


def batch(mail: Mail, *calls: str, path: str = "/batch", headers: dict[str, str] | None = None) -> httpx.Response:
    written_parts = [
        f"--b1\r\nContent-Type: application/http\r\nContent-ID: <x+{n}>\r\n\r\n{call}\r\n\r\n"
        for n, call in enumerate(calls)
    ]
    content = "".join(written_parts) + "--b1--\r\n"
    return mail.http.post(
        path, content=content.encode(), headers={"Content-Type": "multipart/mixed; boundary=b1", **(headers or {})}
    )


@pytest.mark.parametrize("path", ["/batch", "/batch/gmail/v1"])
def test_a_batch_returns_every_response_under_its_own_id(mail: Mail, path: str) -> None:
    message, label = json.dumps(raw_message(subject="From a batch")), mail.post("/labels", {"name": f"In {path}?"})
    response = batch(
        mail,
        f"GET {USER}/messages/{mail.examples['message_id']}?format=minimal HTTP/1.1",
        f"POST {USER}/messages/send HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{message}",
        f"GET {mail.address}{USER}/messages/nonsense HTTP/1.1",
        "GET /nowhere",
        f"DELETE {USER}/labels/{label['id']}",
        path=path,
    )
    replies = batch_replies(response)

    assert [f"<response-x+{n}>" for n in range(5)] == list(replies)
    assert [200, 200, 400, 404, 204] == [status for status, _ in replies.values()]
    assert mail.examples["message_id"] == replies["<response-x+0>"][1]["id"]
    assert ["SENT"] == replies["<response-x+1>"][1]["labelIds"]
    assert "Error 404" in replies["<response-x+3>"][1]


def test_a_call_in_a_batch_can_have_its_own_credentials(mail: Mail) -> None:
    replies = batch_replies(
        batch(
            mail,
            f"GET {USER}/profile",
            f"GET {USER}/profile HTTP/1.1\r\nAuthorization: Bearer other\r\n",
        )
    )

    assert [200, 401] == [status for status, _ in replies.values()]


def test_ids_with_blanks_are_echoed_in_a_batch(mail: Mail) -> None:
    content = f"--b\nContent-Type: application/http\nContent-ID: <u-1 + 2>\n\nGET {USER}/profile HTTP/1.1\n\n\n--b--"
    response = mail.http.post("/batch", content=content, headers={"Content-Type": 'multipart/mixed; boundary="b"'})

    assert ["<response-u-1 + 2>"] == list(batch_replies(response))


def test_calls_in_a_batch_are_logged(mail: Mail) -> None:
    batch(mail, f"GET {USER}/profile", f"GET {USER}/messages/nonsense")
    log = mail.control.get("/mail/requests").json()

    assert [200, 400, 200] == [exchange["status"] for exchange in log]
    assert "/batch" == log[-1]["path"]


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"{}", "application/json"),
        (b"x", "multipart/mixed; boundary=b1"),
        (b"--b1\r\n\r\nGET /\r\n--b1--", "multipart/mixed; boundary=b1"),
    ],
)
def test_an_invalid_batch_is_rejected(mail: Mail, content: bytes, content_type: str) -> None:
    response = mail.http.post("/batch", content=content, headers={"Content-Type": content_type})

    assert 400 == response.status_code


def test_uploads_and_batches_inside_a_batch_are_rejected(mail: Mail) -> None:
    replies = batch_replies(batch(mail, f"POST /upload{USER}/messages/send?uploadType=media", "POST /batch"))

    assert [400, 400] == [status for status, _ in replies.values()]


def test_a_fault_can_apply_to_one_call_of_a_batch(mail: Mail) -> None:
    mail.fault(fault="status", status=503, path=f"{USER}/profile", body={"error": {"code": 503}})

    replies = batch_replies(batch(mail, f"GET {USER}/labels", f"GET {USER}/profile", f"GET {USER}/profile"))

    assert [200, 503, 200] == [status for status, _ in replies.values()]


def test_a_batch_of_a_hundred_calls_is_partly_throttled(mail: Mail) -> None:
    mail.control.post("/reset")
    mail.set_knobs(latency_seconds=0)
    small = batch_replies(batch(mail, *[f"GET {USER}/profile"] * 25))
    large = batch_replies(batch(mail, *[f"GET {USER}/profile"] * 100))

    assert {200} == {status for status, _ in small.values()}
    assert [200] * 50 + [429] * 50 == [status for status, _ in large.values()]
    assert "Too many concurrent requests for user." == list(large.values())[-1][1]["error"]["message"]
