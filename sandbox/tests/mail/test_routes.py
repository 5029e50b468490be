"""Routes and seed of the mail stand-in."""

from sandbox.tests.mail.mail_client import OWN, Mail, found, parts

# --- what is there


def test_the_seed_is_large_and_has_every_kind_of_place(mail: Mail) -> None:
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
    assert found(mail, mail.examples["q"])
