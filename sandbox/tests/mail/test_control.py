"""Faults and user actions of the mail emulator."""

from typing import Any

import pytest

from sandbox.tests.mail.mail_client import USER, Mail, decoded, header
from workspace_sandbox.mail.error_responses import FORCED


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("unauthenticated", 401, "authError"),
        ("scope", 403, "insufficientPermissions"),
        ("quota", 403, "rateLimitExceeded"),
        ("retry_after_403", 403, "userRateLimitExceeded"),
        ("retry_after_429", 429, "rateLimitExceeded"),
        ("exhausted", 429, "rateLimitExceeded"),
        ("concurrency", 429, "rateLimitExceeded"),
        ("daily_limit", 403, "dailyLimitExceeded"),
        ("domain_policy", 403, "domainPolicy"),
        ("api_disabled", 403, "accessNotConfigured"),
        ("mail_disabled", 400, "failedPrecondition"),
        ("backend_error", 500, "backendError"),
        ("unavailable", 503, "backendError"),
    ],
)
def test_an_error_can_be_forced(mail: Mail, name: str, status: int, reason: str) -> None:
    mail.set_knobs(force=name)

    assert (status, reason) == mail.error("GET", "/messages")[:2]


def test_an_html_error_can_be_forced(mail: Mail) -> None:
    mail.set_knobs(force="unavailable_html")
    response = mail.http.get(f"{USER}/messages")

    assert "unavailable_html" in FORCED
    assert 503 == response.status_code
    assert response.text.startswith("<!DOCTYPE html>")


# --- user actions


def test_a_user_action_delivers_mail_with_attachments(mail: Mail) -> None:
    attached = {"filename": "Liste ö.csv", "mime_type": "text/csv", "content_base64": "YSxiDQo="}
    received = mail.receive("Lünch?", body_html="<p>At noon &amp; sharp</p>", attachments=[attached])
    message = mail.get(f"/messages/{received['message_id']}")
    body = message["payload"]["parts"][1]["body"]
    data = mail.get(f"/messages/{received['message_id']}/attachments/{body['attachmentId']}")["data"]

    assert {"INBOX", "UNREAD"} == set(message["labelIds"])
    assert "Lünch?" == header(message, "Subject")
    assert "At noon &amp; sharp" == message["snippet"]
    assert "Liste ö.csv" == message["payload"]["parts"][1]["filename"]
    assert b"a,b\r\n" == decoded(data)


def test_user_actions_archive_read_trash_and_delete(mail: Mail) -> None:
    message_id = mail.receive("Tidied", labels=["Follow Up"])["message_id"]
    steps = [mail.perform(action=name, message_id=message_id)["labelIds"] for name in ("mark_read", "archive", "trash")]
    mail.perform(action="delete", message_id=message_id)

    assert [["INBOX", "Label_7"], ["Label_7"], ["Label_7", "TRASH"]] == [sorted(step) for step in steps]
    assert 404 == mail.error("GET", f"/messages/{message_id}")[0]


@pytest.mark.parametrize(
    "action",
    [
        {"action": "receive"},
        {"action": "receive", "from": "nobody", "subject": "x", "body_html": "x"},
        {"action": "receive", "from": "a@b.test", "subject": "x", "body_html": "x", "thread_id": "1"},
        {"action": "receive", "from": "a@b.test", "subject": "x", "body_html": "x", "labels": ["Nope"]},
        {"action": "trash", "message_id": "1"},
    ],
)
def test_an_invalid_user_action_is_rejected(mail: Mail, action: dict[str, Any]) -> None:
    assert 422 == mail.control.post("/mail/act", json=action).status_code
