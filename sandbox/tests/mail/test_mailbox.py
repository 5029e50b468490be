"""Deleting, inserting, history and addresses of the mail emulator."""

from sandbox.tests.mail.mail_client import OWN, USER, Mail, decoded, encoded, rfc822_message
from workspace_sandbox.mail.access import FULL


def test_permanent_deletion_requires_the_full_scope(mail: Mail) -> None:
    message_id = mail.receive("Gone for good")["message_id"]
    error = mail.error("DELETE", f"/messages/{message_id}")
    mail.set_knobs(token_scopes=[FULL])
    deleted = mail.http.delete(f"{USER}/messages/{message_id}")

    assert (403, "insufficientPermissions") == error[:2]
    assert 204 == deleted.status_code
    assert 404 == mail.error("GET", f"/messages/{message_id}")[0]


def test_threads_and_many_messages_are_deleted_permanently(mail: Mail) -> None:
    thread, single = mail.receive("Whole thread"), mail.receive("One of many")
    mail.set_knobs(token_scopes=[FULL])
    statuses = [
        mail.http.delete(f"{USER}/threads/{thread['thread_id']}").status_code,
        mail.http.post(f"{USER}/messages/batchDelete", json={"ids": [single["message_id"]]}).status_code,
    ]

    assert [204, 204] == statuses
    assert 404 == mail.error("GET", f"/threads/{thread['thread_id']}")[0]
    assert 404 == mail.error("GET", f"/messages/{single['message_id']}")[0]


def test_a_message_is_inserted_without_being_sent(mail: Mail) -> None:
    raw = rfc822_message(Date="Mon, 02 Nov 2026 10:00:00 +0000", From="x@y.test")
    inserted = mail._json(
        mail.http.post(
            f"{USER}/messages",
            params={"internalDateSource": "dateHeader"},
            json={"raw": encoded(raw), "labelIds": ["INBOX"]},
        )
    )

    message = mail.get(f"/messages/{inserted['id']}", format="raw")

    assert ["INBOX"] == inserted["labelIds"]
    assert "1793613600000" == message["internalDate"]
    assert raw == decoded(message["raw"])


def test_the_history_lists_the_changes(mail: Mail) -> None:
    start = mail.get("/profile")["historyId"]
    received = mail.receive("Historical")
    mail.post(f"/messages/{received['message_id']}/modify", {"addLabelIds": ["STARRED"], "removeLabelIds": ["UNREAD"]})
    history = mail.get("/history", startHistoryId=start)
    added = mail.get("/history", startHistoryId=start, historyTypes="labelAdded", labelId="STARRED")["history"]
    first = mail.get("/history", startHistoryId=start, maxResults=1)
    rest = mail.get("/history", startHistoryId=start, maxResults=5, pageToken=first["nextPageToken"])

    kinds = [min(set(record) - {"id", "messages"}) for record in history["history"]]
    assert ["messagesAdded", "labelsAdded", "labelsRemoved"] == kinds
    assert [["STARRED"]] == [record["labelsAdded"][0]["labelIds"] for record in added]
    assert history["history"] == first["history"] + rest["history"]
    assert "history" not in mail.get("/history", startHistoryId=history["historyId"])
    assert 404 == mail.error("GET", "/history", params={"startHistoryId": "1"})[0]
    assert 400 == mail.error("GET", "/history")[0]


def test_the_only_send_as_address_is_the_users_own(mail: Mail) -> None:
    (own,) = mail.get("/settings/sendAs")["sendAs"]

    assert (OWN, True) == (own["sendAsEmail"], own["isPrimary"])
