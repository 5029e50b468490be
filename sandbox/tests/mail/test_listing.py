"""Lists of messages and threads in the mail emulator."""

import pytest

from sandbox.tests.mail.mail_client import Mail, matching_ids

# --- lists


def test_messages_are_paged_newest_first(mail: Mail) -> None:
    mail.control.post("/reset")
    first = mail.get("/messages", maxResults=300)
    second = mail.get("/messages", maxResults=300, pageToken=first["nextPageToken"])
    ids = [message["id"] for page in (first, second) for message in page["messages"]]
    newest = [mail.get(f"/messages/{message_id}", format="minimal")["internalDate"] for message_id in ids[:9]]

    assert "nextPageToken" not in second
    assert len(ids) == len(set(ids)) == mail.get("/profile")["messagesTotal"] - 26
    assert sorted(newest, key=int, reverse=True) == newest
    assert {"id", "threadId"} == set(first["messages"][0])
    assert 201 == first["resultSizeEstimate"]


def test_a_page_does_not_shift_when_mail_arrives(mail: Mail) -> None:
    plain = mail.get("/messages", maxResults=10)["messages"]
    first = mail.get("/messages", maxResults=5)
    arrived = mail.receive("In between")
    second = mail.get("/messages", maxResults=5, pageToken=first["nextPageToken"])
    mail.perform(action="delete", message_id=arrived["message_id"])

    assert plain == first["messages"] + second["messages"]


def test_an_empty_list_has_no_messages(mail: Mail) -> None:
    assert {"resultSizeEstimate": 0} == mail.get("/messages", q="nothing-has-this-word")


def test_the_default_page_has_100_and_the_largest_500(mail: Mail) -> None:
    assert 100 == len(mail.get("/messages")["messages"])
    assert 500 == len(mail.get("/messages", maxResults=5000)["messages"])


def test_drafts_are_in_the_list_and_spam_and_trash_are_not(mail: Mail) -> None:
    listed = set(matching_ids(mail, "", maxResults=500))
    everything = set(matching_ids(mail, "in:anywhere", maxResults=500))

    assert set(matching_ids(mail, "in:drafts")) <= listed
    assert listed.isdisjoint(matching_ids(mail, "in:spam"))
    assert listed.isdisjoint(matching_ids(mail, "in:trash"))
    assert matching_ids(mail, "in:spam") == matching_ids(mail, "", labelIds="SPAM")
    assert not everything.isdisjoint(matching_ids(mail, "in:spam"))
    assert matching_ids(mail, "in:trash", maxResults=500) == matching_ids(mail, "label:trash", includeSpamTrash="true")


def test_all_label_ids_must_match(mail: Mail) -> None:
    unread = set(matching_ids(mail, "is:unread in:inbox", maxResults=500))

    assert unread == set(matching_ids(mail, "", labelIds=["UNREAD", "INBOX"], maxResults=500))
    assert (400, "invalidArgument", "Invalid label: Nope") == mail.error(
        "GET", "/messages", params={"labelIds": "Nope"}
    )


@pytest.mark.parametrize("damage", ["1", "x" * 32, "0" * 32])
def test_a_damaged_page_token_is_rejected(mail: Mail, damage: str) -> None:
    error = mail.error("GET", "/messages", params={"pageToken": damage})

    assert (400, "invalidArgument", "Invalid pageToken") == error


def test_a_page_token_of_another_query_is_rejected(mail: Mail) -> None:
    token = mail.get("/messages", q="is:unread", maxResults=2)["nextPageToken"]

    error = mail.error("GET", "/messages", params={"q": "is:read", "pageToken": token})

    assert (400, "invalidArgument", "Invalid pageToken") == error


def test_new_mail_can_be_indexed_with_a_delay(mail: Mail) -> None:
    received = mail.receive("Slowly indexed")
    mail.set_knobs(index_lag_seconds=3600)
    hidden = matching_ids(mail, "subject:slowly")
    mail.set_knobs(index_lag_seconds=0)

    assert [] == hidden
    assert [received["message_id"]] == matching_ids(mail, "subject:slowly")


def test_threads_are_listed_once_in_pages(mail: Mail) -> None:
    first = mail.get("/threads", maxResults=200)
    second = mail.get("/threads", maxResults=200, pageToken=first["nextPageToken"])
    ids = [thread["id"] for page in (first, second) for thread in page["threads"]]

    assert len(ids) == len(set(ids))
    assert {"id", "snippet", "historyId"} == set(first["threads"][0])


def test_a_thread_has_its_messages_from_oldest_to_newest(mail: Mail) -> None:
    thread = mail.get(f"/threads/{mail.examples['thread_id']}", format="metadata", metadataHeaders="Subject")
    dates = [int(message["internalDate"]) for message in thread["messages"]]

    assert {"id", "historyId", "messages"} == set(thread)
    assert len(dates) > 2
    assert sorted(dates) == dates
    assert mail.examples["thread_id"] == thread["messages"][0]["id"]
    assert 400 == mail.error("GET", f"/threads/{thread['id']}", params={"format": "raw"})[0]
