"""Sending, and threads, in the mail emulator."""

import pytest

from sandbox.tests.mail.mail_client import (
    JONAS,
    OUTSIDE,
    OWN,
    Mail,
    encoded,
    header,
    matching_ids,
    raw_message,
    reply_to,
    rfc822_message,
)

# --- sending


def test_a_sent_message_is_returned_briefly_and_stored(mail: Mail) -> None:
    sent = mail.post("/messages/send", raw_message(subject="Kept"))
    message = mail.get(f"/messages/{sent['id']}")

    assert {"id": sent["id"], "threadId": sent["id"], "labelIds": ["SENT"]} == sent
    assert "Nora Lind <nora@brightfjord.test>" == header(message, "From")
    assert header(message, "Date")


def test_the_message_id_is_rewritten_unless_the_knob_disables_it(mail: Mail) -> None:
    rewritten = mail.post("/messages/send", raw_message(Message_ID="<own@gateway.test>"))
    mail.set_knobs(rewrite_message_id=False)
    unchanged = mail.post("/messages/send", raw_message(Message_ID="<own@gateway.test>"))

    new = header(mail.get(f"/messages/{rewritten['id']}"), "Message-ID")
    assert new.startswith("<CA")
    assert new.endswith("@mail.gmail.com>")
    assert "<own@gateway.test>" == header(mail.get(f"/messages/{unchanged['id']}"), "Message-ID")
    assert [unchanged["id"]] == matching_ids(mail, "rfc822msgid:own@gateway.test")


def test_a_custom_header_is_retained(mail: Mail) -> None:
    sent = mail.post("/messages/send", raw_message(X_Gateway_Run="run_1"))

    assert "run_1" == header(mail.get(f"/messages/{sent['id']}"), "X-Gateway-Run")


def test_an_unverified_alias_is_replaced(mail: Mail) -> None:
    sent = mail.post("/messages/send", raw_message(From="Boss <boss@elsewhere.test>"))
    own = mail.post("/messages/send", raw_message(From="The Lind <nora@brightfjord.test>"))

    assert "Nora Lind <nora@brightfjord.test>" == header(mail.get(f"/messages/{sent['id']}"), "From")
    assert "The Lind <nora@brightfjord.test>" == header(mail.get(f"/messages/{own['id']}"), "From")


def test_mail_to_oneself_also_arrives_in_the_inbox(mail: Mail) -> None:
    sent = mail.post("/messages/send", raw_message(to=OWN))

    assert {"SENT", "INBOX", "UNREAD"} == set(sent["labelIds"])


def test_mail_to_another_sandbox_mailbox_is_delivered(mail: Mail) -> None:
    sent = mail.post("/messages/send", raw_message(to=f"Jonas <{JONAS}>", subject="Over to you", Bcc=OUTSIDE))
    (arrived,) = [
        m for m in mail.emulator.services.transport.mailboxes[JONAS].messages.values() if m.subject == "over to you"
    ]

    assert ["UNREAD", "INBOX"] == arrived.label_ids
    assert sent["id"] not in {arrived.id, arrived.thread_id}
    assert JONAS == arrived.header("Delivered-To")
    assert "" == arrived.header("Bcc")
    assert len(arrived.headers) > 20


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"Subject: x\r\n\r\nx", "Recipient address required"),
        (b"To: \r\nSubject: x\r\n\r\nx", "Recipient address required"),
        (b"To: nobody\r\n\r\nx", "Invalid To header"),
        (b"To: a@b.test, <>, c d@e.test\r\n\r\nx", "Invalid To header"),
        ("To: bjørn@fjord.test\r\n\r\nx".encode(), "Invalid To header"),
        (b"To: a@b.test\r\nCc: nobody\r\n\r\nx", "Invalid Cc header"),
        (b"To: " + b",".join(b"a%d@b.test" % n for n in range(501)) + b"\r\n\r\nx", "Too many recipients"),
    ],
)
def test_invalid_recipients_are_rejected(mail: Mail, raw: bytes, message: str) -> None:
    before = mail.get("/profile")["messagesTotal"]

    error = mail.error("POST", "/messages/send", json={"raw": encoded(raw)})

    assert (400, "invalidArgument", message) == error
    assert before == mail.get("/profile")["messagesTotal"]


@pytest.mark.parametrize("body", [{}, {"raw": ""}, {"threadId": "19a3f0c2b7d4e851"}])
def test_a_send_without_a_message_is_rejected(mail: Mail, body: dict[str, str]) -> None:
    assert "'raw' RFC822 payload" in mail.error("POST", "/messages/send", json=body)[2]


def test_base64_may_lack_its_padding(mail: Mail) -> None:
    raw = encoded(rfc822_message(subject="Unpadded"))

    sent = mail.post("/messages/send", {"raw": raw.rstrip("=")})

    assert raw.endswith("=")
    assert "Unpadded" == header(mail.get(f"/messages/{sent['id']}"), "Subject")


def test_bare_newlines_are_normalized(mail: Mail) -> None:
    sent = mail.post("/messages/send", {"raw": encoded(b"To: a@b.test\nSubject: x\n\n<b>Hi</b>\n")})

    assert "PGI-SGk8L2I-DQo=" == mail.get(f"/messages/{sent['id']}")["payload"]["body"]["data"]


def test_unencoded_characters_in_headers_arrive_damaged(mail: Mail) -> None:
    sent = mail.post("/messages/send", {"raw": encoded("To: a@b.test\r\nSubject: Grün\r\n\r\nx".encode())})

    assert "GrÃ¼n" == header(mail.get(f"/messages/{sent['id']}"), "Subject")


def test_a_reply_joins_its_thread(mail: Mail) -> None:
    first = mail.post("/messages/send", raw_message(to=JONAS, subject="Quay plan"))
    reply = mail.post("/messages/send", reply_to(mail, first["id"], "Re:  RE: quay plan"))

    assert first["threadId"] == reply["threadId"]
    assert [first["id"], reply["id"]] == [m["id"] for m in mail.get(f"/threads/{first['threadId']}")["messages"]]


def test_a_reply_that_breaks_a_rule_starts_a_new_thread(mail: Mail) -> None:
    first = mail.post("/messages/send", raw_message(subject="Crane plan"))
    other_subject = mail.post("/messages/send", reply_to(mail, first["id"], "Something else"))
    no_reference = mail.post("/messages/send", {**raw_message(subject="Re: Crane plan"), "threadId": first["threadId"]})
    no_thread = reply_to(mail, first["id"], "Re: Crane plan")
    del no_thread["threadId"]
    alone = mail.post("/messages/send", no_thread)

    assert [one["id"] for one in (other_subject, no_reference, alone)] == [
        one["threadId"] for one in (other_subject, no_reference, alone)
    ]


def test_a_reply_also_joins_the_recipients_thread(mail: Mail) -> None:
    first = mail.post("/messages/send", raw_message(to=JONAS, subject="Night shift"))
    mail.post("/messages/send", {**reply_to(mail, first["id"], "Re: Night shift", To=JONAS)})
    jonas = mail.emulator.services.transport.mailboxes[JONAS]
    arrived = [message for message in jonas.messages.values() if message.subject == "night shift"]

    assert 2 == len(arrived)
    assert 1 == len({message.thread_id for message in arrived})


@pytest.mark.parametrize(
    ("thread_id", "expected"),
    [("nonsense", (400, "Invalid thread_id value")), ("19a3f0c2b7d4e851", (404, "Requested entity was not found."))],
)
def test_a_send_into_an_unknown_thread_is_rejected(mail: Mail, thread_id: str, expected: tuple[int, str]) -> None:
    status, _, message = mail.error("POST", "/messages/send", json={**raw_message(), "threadId": thread_id})

    assert expected == (status, message)


def test_a_thread_is_relabelled_and_trashed(mail: Mail) -> None:
    first = mail.receive("Thread of two")
    second = mail.receive("Re: Thread of two", thread_id=first["thread_id"])
    mail.post(f"/threads/{first['thread_id']}/modify", {"addLabelIds": ["Label_7"], "removeLabelIds": ["UNREAD"]})
    labels = [m["labelIds"] for m in mail.get(f"/threads/{first['thread_id']}", format="minimal")["messages"]]
    trashed = mail.post(f"/threads/{first['thread_id']}/trash")
    untrashed = mail.post(f"/threads/{first['thread_id']}/untrash")

    assert first["thread_id"] == second["thread_id"]
    assert [["INBOX", "Label_7"]] * 2 == labels
    assert [["Label_7", "TRASH"]] * 2 == [message["labelIds"] for message in trashed["messages"]]
    assert [["Label_7"]] * 2 == [message["labelIds"] for message in untrashed["messages"]]
