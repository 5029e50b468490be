"""Drafts of the mail emulator."""

from typing import Any

import pytest

from sandbox.tests.mail.mail_client import JONAS, USER, Mail, header, raw_message, reply_to

# --- drafts


def test_a_draft_is_created_updated_and_sent(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": raw_message(to=JONAS, subject="Two phases")})
    changed = mail.put(f"/drafts/{draft['id']}", {"message": raw_message(to=JONAS, subject="Two phases, again")})
    read = mail.get(f"/drafts/{draft['id']}", format="metadata")
    sent = mail.post("/drafts/send", {"id": draft["id"]})

    assert {"id", "message"} == set(draft)
    assert ["DRAFT"] == draft["message"]["labelIds"]
    assert draft["id"] == changed["id"]
    assert draft["message"]["id"] != changed["message"]["id"]
    assert "Two phases, again" == header(read["message"], "Subject")
    assert len(read["message"]["payload"]["headers"]) < 8
    assert ["SENT"] == sent["labelIds"]
    assert changed["message"]["id"] != sent["id"]
    assert draft["message"]["threadId"] == sent["threadId"]
    assert 404 == mail.error("GET", f"/drafts/{draft['id']}")[0]
    assert 404 == mail.error("GET", f"/messages/{changed['message']['id']}")[0]
    assert 404 == mail.error("POST", "/drafts/send", json={"id": draft["id"]})[0]


def test_drafts_are_listed_in_pages_and_by_query(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": raw_message(subject="Unmistakable")})
    first = mail.get("/drafts", maxResults=3)
    second = mail.get("/drafts", maxResults=3, pageToken=first["nextPageToken"])
    by_query = mail.get("/drafts", q="subject:unmistakable")["drafts"]

    assert [3, 3] == [len(page["drafts"]) for page in (first, second)]
    assert [draft["id"]] == [one["id"] for one in by_query]
    assert {"id", "threadId"} == set(by_query[0]["message"])
    assert {"resultSizeEstimate": 0} == mail.get("/drafts", q="nothing-has-this-word")


def test_deleting_a_draft_returns_no_content(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": raw_message()})

    response = mail.http.delete(f"{USER}/drafts/{draft['id']}")

    assert (204, b"") == (response.status_code, response.content)
    assert 404 == mail.error("GET", f"/drafts/{draft['id']}")[0]


def test_a_draft_reply_joins_its_thread_and_remains_in_it(mail: Mail) -> None:
    first = mail.receive("Needs a reply")
    draft = mail.post("/drafts", {"message": reply_to(mail, first["message_id"], "Re: Needs a reply")})

    sent = mail.post("/drafts/send", {"id": draft["id"]})

    assert first["thread_id"] == draft["message"]["threadId"] == sent["threadId"]


def test_labels_of_drafts_cannot_be_changed(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": raw_message()})
    path = f"/messages/{draft['message']['id']}/modify"

    assert (400, "failedPrecondition") == mail.error("POST", path, json={"addLabelIds": ["STARRED"]})[:2]


@pytest.mark.parametrize("body", [{}, {"message": {}}, {"message": {"raw": ""}}])
def test_a_draft_without_a_message_is_rejected(mail: Mail, body: dict[str, Any]) -> None:
    assert "'raw' RFC822 payload" in mail.error("POST", "/drafts", json=body)[2]
