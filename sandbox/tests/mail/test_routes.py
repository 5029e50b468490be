"""Routes and default data of the mail emulator."""

from sandbox.tests.mail.mail_client import OWN, Mail, matching_ids, parts

# --- default data


def test_the_default_data_is_large_and_has_every_mailbox_location(mail: Mail) -> None:
    mail.control.post("/reset")

    profile = mail.get("/profile")
    counts = {name: mail.get(f"/labels/{name}")["messagesTotal"] for name in ("INBOX", "DRAFT", "SPAM", "TRASH")}

    assert OWN == profile["emailAddress"]
    assert profile["messagesTotal"] >= 500
    assert all(counts.values())


def test_the_examples_can_be_used(mail: Mail) -> None:
    names = {label["name"] for label in mail.get("/labels")["labels"]}
    message = mail.get(f"/messages/{mail.examples['attachment_message_id']}")

    attached = [part for part in parts(message["payload"]) if part["partId"] == mail.examples["attachment_part_id"]]

    assert mail.examples["thread_id"] == mail.get(f"/messages/{mail.examples['message_id']}")["threadId"]
    assert set(mail.examples["labels"]) <= names
    assert ["manifest-41.pdf"] == [part["filename"] for part in attached]
    assert matching_ids(mail, mail.examples["q"])
