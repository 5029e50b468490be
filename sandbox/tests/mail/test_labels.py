"""Labels of the mail emulator."""

from typing import Any

import pytest

from sandbox.tests.mail.mail_client import USER, Mail, matching_ids

# --- labels


def test_labels_are_listed_in_the_vendors_format(mail: Mail) -> None:
    labels = {label["id"]: label for label in mail.get("/labels")["labels"]}

    assert {"id": "INBOX", "name": "INBOX", "type": "system"} == labels["INBOX"]
    assert "CHAT" in labels
    assert "messageListVisibility" not in labels["Label_9"]
    assert {"textColor": "#ffffff", "backgroundColor": "#cc3a21"} == labels["Label_8"]["color"]
    assert not {"messagesTotal", "threadsTotal"} & set(labels["Label_2"])
    assert "Clients/Acme Freight" == labels["Label_2"]["name"]


def test_a_label_includes_its_counts(mail: Mail) -> None:
    label = mail.get("/labels/Label_2")

    assert len(matching_ids(mail, "label:clients-acme-freight in:anywhere")) == label["messagesTotal"]
    assert label["messagesUnread"] <= label["messagesTotal"]
    assert label["threadsTotal"] <= label["messagesTotal"]


def test_a_label_is_created_updated_and_deleted(mail: Mail) -> None:
    received = mail.receive("To be labelled")
    label = mail.post("/labels", {"name": " Depot/North ", "labelListVisibility": "labelHide"})
    mail.post(f"/messages/{received['message_id']}/modify", {"addLabelIds": [label["id"]]})
    renamed = mail._json(mail.http.patch(f"{USER}/labels/{label['id']}", json={"name": "Depot/South"}))
    by_name = matching_ids(mail, "label:depot-south")
    deleted = mail.http.delete(f"{USER}/labels/{label['id']}")

    assert ("Depot/North", "labelHide", "show") == (
        label["name"],
        label["labelListVisibility"],
        label["messageListVisibility"],
    )
    assert ("Depot/South", "labelHide") == (renamed["name"], renamed["labelListVisibility"])
    assert [received["message_id"]] == by_name
    assert 204 == deleted.status_code
    assert label["id"] not in mail.get(f"/messages/{received['message_id']}")["labelIds"]


@pytest.mark.parametrize("name", ["clients", "CLIENTS/acme freight", "follow up"])
def test_a_name_that_differs_only_in_case_is_a_conflict(mail: Mail, name: str) -> None:
    status, _, message = mail.error("POST", "/labels", json={"name": name})

    assert (409, "Label name exists or conflicts") == (status, message)


@pytest.mark.parametrize("body", [{}, {"name": " "}, {"name": "inbox"}, {"name": "x" * 226}, {"name": "/a"}])
def test_an_invalid_label_name_is_rejected(mail: Mail, body: dict[str, str]) -> None:
    assert (400, "invalidArgument", "Invalid label name") == mail.error("POST", "/labels", json=body)


@pytest.mark.parametrize(
    "body", [{"name": "n1", "color": {"textColor": "#123456"}}, {"name": "n2", "labelListVisibility": "sometimes"}]
)
def test_other_invalid_labels_are_rejected(mail: Mail, body: dict[str, Any]) -> None:
    assert 400 == mail.error("POST", "/labels", json=body)[0]


def test_system_labels_cannot_be_changed_or_deleted(mail: Mail) -> None:
    assert (400, "Invalid update request") == mail.error("PATCH", "/labels/INBOX", json={"name": "In"})[::2]
    assert (400, "Invalid delete request") == mail.error("DELETE", "/labels/INBOX")[::2]


def test_labels_of_a_message_are_changed(mail: Mail) -> None:
    received = mail.receive("Modified")
    path = f"/messages/{received['message_id']}/modify"
    changed = mail.post(path, {"addLabelIds": ["STARRED", "Label_7"], "removeLabelIds": ["UNREAD", "IMPORTANT"]})
    again = mail.post(path, {"addLabelIds": ["STARRED", "Label_7"], "removeLabelIds": ["UNREAD"]})
    bare = mail.post(path, {"removeLabelIds": ["STARRED", "Label_7", "INBOX"]})

    assert {"INBOX", "STARRED", "Label_7"} == set(changed["labelIds"])
    assert {"id", "threadId", "labelIds"} == set(changed)
    assert changed == again
    assert {"id", "threadId"} == set(bare)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"addLabelIds": ["Label_404"]}, "Invalid label: Label_404"),
        ({"removeLabelIds": ["Label_404"]}, "Invalid label: Label_404"),
        ({"addLabelIds": ["SENT"]}, "Invalid label: SENT"),
        ({"removeLabelIds": ["DRAFT"]}, "Invalid label: DRAFT"),
        ({"addLabelIds": ["STARRED"], "removeLabelIds": ["STARRED"]}, "Cannot both add and remove the same label"),
        ({}, "No label add or removes specified"),
        ({"addLabelIds": [f"Label_{n}" for n in range(101)]}, "Too many labels specified"),
    ],
)
def test_invalid_label_changes_are_rejected(mail: Mail, body: dict[str, list[str]], message: str) -> None:
    path = f"/messages/{mail.examples['message_id']}/modify"

    assert (400, "invalidArgument", message) == mail.error("POST", path, json=body)


def test_trashed_messages_and_spam_leave_the_inbox(mail: Mail) -> None:
    trashed, spammed = mail.receive("For the trash"), mail.receive("For spam")
    after_trash = mail.post(f"/messages/{trashed['message_id']}/trash")
    after_spam = mail.post(f"/messages/{spammed['message_id']}/modify", {"addLabelIds": ["SPAM"]})
    untrashed = mail.post(f"/messages/{trashed['message_id']}/untrash")

    assert {"UNREAD", "TRASH"} == set(after_trash["labelIds"])
    assert {"UNREAD", "SPAM"} == set(after_spam["labelIds"])
    assert ["UNREAD"] == untrashed["labelIds"]


def test_many_messages_are_changed_at_once(mail: Mail) -> None:
    message_ids = [mail.receive(f"Many {n}")["message_id"] for n in range(3)]
    response = mail.http.post(
        f"{USER}/messages/batchModify", json={"ids": [*message_ids, "19a3f0c2b7d4e851"], "addLabelIds": ["STARRED"]}
    )

    assert (204, b"") == (response.status_code, response.content)
    assert set(message_ids) == set(matching_ids(mail, "is:starred subject:many"))
    assert 400 == mail.error("POST", "/messages/batchModify", json={"ids": [], "addLabelIds": ["STARRED"]})[0]
    too_many = {"ids": ["1"] * 1001, "addLabelIds": ["STARRED"]}
    assert 400 == mail.error("POST", "/messages/batchModify", json=too_many)[0]
