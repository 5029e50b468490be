"""Sending mail and making drafts, from the caller's side, against the emulator on real HTTP."""

from datetime import UTC, datetime
from typing import Any

import pytest

from connector_gateway.core.calls.error_details import truncate
from gateway.tests.connectors.mail.looking import OWN, Looking, plain, received, recipients
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

HTML = "<p>Dear Ben,</p><p>see <a href='https://brightfjord.test/offer'>our offer</a>.</p>"


def send(gateway: Gateway, subject: str, **more: Any) -> Reply:
    return gateway.post(
        "/mail/messages", **({"to": ["ben@acmefreight.test"], "body_html": HTML} | more), subject=subject
    )


def draft(gateway: Gateway, subject: str, **more: Any) -> Reply:
    return gateway.post("/mail/drafts", **({"to": ["ben@acmefreight.test"], "body_html": HTML} | more), subject=subject)


# Sending


@requirement("mail-9", "mail-10")
def test_a_message_is_sent_from_the_connected_address(gateway: Gateway, mailbox: Looking) -> None:
    before = datetime.now(UTC)

    reply = send(gateway, "Offer 7")

    (sent,) = mailbox.sent("Offer 7")
    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "mail",
        "status": "ok",
        "data": {
            "message_id": sent.id,
            "thread_id": sent.thread_id,
            "to": ["ben@acmefreight.test"],
            "sent_at": reply.data["sent_at"],
        },
    }
    assert before.timestamp() - 1 <= datetime.fromisoformat(reply.data["sent_at"]).timestamp()
    assert str(mailbox.letter(sent.id)["From"]) == f"Nora Lind <{OWN}>"
    assert [] == mailbox.drafts("Offer 7")


@requirement("mail-13")
def test_the_html_is_sent_as_it_is_beside_a_plain_text_of_it(gateway: Gateway, mailbox: Looking) -> None:
    message_id = send(gateway, "Two forms", body_html="<p>Schöne Grüße 😀</p>\n" + HTML).data["message_id"]

    letter = mailbox.letter(message_id)
    html = letter.get_body(("html",))
    assert ["text/plain", "text/html"] == [part.get_content_type() for part in letter.iter_parts()]
    assert html is not None
    assert html.get_content().replace("\r", "").rstrip("\n") == "<p>Schöne Grüße 😀</p>\n" + HTML
    assert ("Schöne Grüße 😀\n\nDear Ben,\n\nsee our offer (https://brightfjord.test/offer).") == plain(letter)


def test_every_recipient_gets_it_once_whatever_the_name(gateway: Gateway, mailbox: Looking) -> None:
    to = [
        "Ben Roe <ben@acmefreight.test>",
        "BEN@acmefreight.test",
        "Müller, Greta <greta@kaiwerk.test>",
        '"Lind, Jonas" <jonas@brightfjord.test>',
        " priya@brightfjord.test ",
    ]

    reply = send(gateway, "To several", to=to)

    assert [
        "ben@acmefreight.test",
        "greta@kaiwerk.test",
        "jonas@brightfjord.test",
        "priya@brightfjord.test",
    ] == reply.data["to"]
    assert [
        ("Ben Roe", "ben@acmefreight.test"),
        ("Müller, Greta", "greta@kaiwerk.test"),
        ("Lind, Jonas", "jonas@brightfjord.test"),
        ("", "priya@brightfjord.test"),
    ] == recipients(mailbox.letter(reply.data["message_id"]))


def test_it_arrives(gateway: Gateway, mailbox: Looking) -> None:
    send(gateway, "For Priya", to=["Priya Raman <priya@brightfjord.test>"])

    inbox = mailbox.emulator.services.transport.mailboxes["priya@brightfjord.test"].messages.values()
    assert ["For Priya"] == [message.header("Subject") for message in inbox if message.header("Subject") == "For Priya"]


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "Grüße aus dem Büro",
        "重要案件のお知らせ、" * 20,
        "a " * 900 + "b",
        "x" * 1900,
        "=?utf-8?q?not_encoded?= by us",
        "tabs\tand  blanks",
    ],
)
def test_any_subject_of_one_line_arrives_as_it_was_meant(gateway: Gateway, mailbox: Looking, subject: str) -> None:
    message_id = send(gateway, subject).data["message_id"]

    assert str(mailbox.letter(message_id)["Subject"]) == " ".join(subject.split())


@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r", "\x85", "\u2028"])
def test_a_subject_of_two_lines_is_refused(gateway: Gateway, line_end: str) -> None:
    subject = f"Hello{line_end}Bcc: everyone@acmefreight.test"
    reply = send(gateway, subject)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [{"parameter": "subject", "message": "Should be a single line", "value": subject}] == reply.facts
    assert [] == gateway.journal("mail")


@requirement("mail-11", "mail-12")
@pytest.mark.parametrize(
    "recipient",
    [
        "ben@acmefreight.test\r\nBcc: everyone@acmefreight.test",
        "Ben\nBcc: everyone@acmefreight.test <ben@acmefreight.test>",
        "Ben\u2028Bcc: everyone@acmefreight.test <ben@acmefreight.test>",
        "ben@acmefreight.test, greta@kaiwerk.test",
        "ben",
        "ben@",
        "@acmefreight.test",
        "ben roe@acmefreight.test",
        "ben@acmefreight",
        "ben@acme..test",
        "ben@-acme.test",
        "bén@acmefreight.test",
        "ben@[192.168.0.1]",
        "Ben <ben@acmefreight.test> Roe",
        "Ben <>",
        "",
        "b" * 65 + "@acmefreight.test",
        "ben@" + "a." * 126 + "test",
    ],
)
def test_what_is_no_address_is_refused(gateway: Gateway, recipient: str) -> None:
    reply = send(gateway, "Never sent", to=[recipient])

    assert (422, "invalid_recipient") == (reply.status, reply.code)
    assert [(0, truncate(recipient))] == [(detail["index"], detail["value"]) for detail in reply.details]
    assert [] == gateway.journal("mail")


@requirement("mail-11")
def test_one_bad_recipient_in_fifty_stops_all_and_is_named(gateway: Gateway, mailbox: Looking) -> None:
    to = [f"guest{number}@acmefreight.test" for number in range(50)]
    to[31] = "guest31@acmefreight,test"

    reply = send(gateway, "Fifty", to=to)

    assert "invalid_recipient" == reply.code
    assert [(31, "guest31@acmefreight,test", "to.31")] == [
        (detail["index"], detail["value"], detail["parameter"]) for detail in reply.details
    ]
    assert [] == mailbox.sent("Fifty")


@requirement("mail-12")
def test_every_bad_recipient_is_named(gateway: Gateway) -> None:
    reply = send(gateway, "Three", to=["a", "b@kaiwerk.test", "c"])

    assert [(0, "invalid_recipient"), (2, "invalid_recipient")] == [
        (detail["index"], detail["code"]) for detail in reply.details
    ]


def test_an_international_domain_is_written_in_ascii(gateway: Gateway) -> None:
    assert ["greta@xn--bro-hoa.test"] == send(gateway, "International", to=["greta@büro.test"]).data["to"]


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({"to": []}, "to"),
        ({"to": "ben@acmefreight.test"}, "to"),
        ({"to": [7]}, "to.0"),
        ({"to": ["a@b.test"] * 501}, "to"),
        ({"body_html": None}, "body_html"),
        ({"cc": ["a@b.test"]}, "cc"),
        ({"thread_id": "../labels"}, "thread_id"),
    ],
)
def test_a_message_that_cannot_be_read_is_refused(gateway: Gateway, body: dict[str, Any], parameter: str) -> None:
    reply = send(gateway, "Unreadable", **body)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [parameter] == [detail["parameter"] for detail in reply.details]


def test_a_long_message_is_sent_whole(gateway: Gateway, mailbox: Looking) -> None:
    html = "<p>A line of a long report.</p>\n" * 25_000

    message_id = send(gateway, "A long report", body_html=html).data["message_id"]

    body = mailbox.letter(message_id).get_body(("html",))
    assert body is not None
    assert 25_000 == len(body.get_content().splitlines())


@requirement("mail-20")
@pytest.mark.parametrize("reply", [True, False])
def test_a_large_message_goes_through_the_upload_address(gateway: Gateway, mailbox: Looking, *, reply: bool) -> None:
    subject = f"A manifest of all {reply}"
    thread = {"thread_id": received(gateway, subject)} if reply else {}
    gateway.knob("mail", json_bytes=1_000_000)
    html = "<p>Eine Kiste für den Käpten.</p>\n" * 25_000

    answer = send(gateway, subject, body_html=html, **thread)

    letter = mailbox.letter(answer.data["message_id"])
    paths = [path for method, path, _ in gateway.journal("mail") if method == "POST"]
    body = letter.get_body(("html",))
    assert ["/upload/gmail/v1/users/me/drafts", "/gmail/v1/users/me/drafts/send"] == paths[-2:]
    assert thread.get("thread_id", answer.data["thread_id"]) == answer.data["thread_id"]
    assert body is not None
    assert html == body.get_content().replace("\r\n", "\n")


@requirement("mail-18")
def test_a_large_message_whose_answer_is_lost_is_sent_once(gateway: Gateway, mailbox: Looking) -> None:
    gateway.fault("mail", method="POST", path="/upload/gmail/v1/users/me/drafts", fault="drop_after")

    answer = send(gateway, "A manifest that is lost", body_html="<p>A line of the manifest.</p>\n" * 30_000)

    assert 200 == answer.status
    assert 1 == len(mailbox.sent("A manifest that is lost"))
    assert [] == mailbox.drafts("A manifest that is lost")


# Replying


@requirement("mail-14", "mail-15", "mail-16")
def test_a_reply_keeps_subject_and_thread_and_follows_the_last_message(gateway: Gateway, mailbox: Looking) -> None:
    thread_id = gateway.examples("mail")["thread_id"]
    chain = [message.message_id for message in mailbox.own.threads[thread_id]]
    subject = mailbox.own.threads[thread_id][0].header("Subject")

    reply = send(gateway, "Ignored", thread_id=thread_id)

    letter = mailbox.letter(reply.data["message_id"])
    assert reply.data["thread_id"] == thread_id
    assert str(letter["Subject"]) == f"Re: {subject}"
    assert str(letter["In-Reply-To"]) == chain[-1]
    assert str(letter["References"]).split() == chain


@requirement("mail-16")
def test_a_reply_to_an_outlook_user_keeps_long_identifiers_whole(gateway: Gateway, mailbox: Looking) -> None:
    (parent,) = mailbox.under("Berth fees, long thread ahead", "INBOX")

    reply = send(gateway, "Ignored", thread_id=parent.thread_id)

    raw = mailbox.own.messages[reply.data["message_id"]].raw
    assert len(parent.message_id) > 78
    assert f"References: {parent.message_id}\r\n".encode() in raw
    assert reply.data["thread_id"] == parent.thread_id


@requirement("mail-17")
@pytest.mark.parametrize("thread_id", ["19a3e99010aa2b77", "abc"])
def test_a_thread_that_is_not_there_cannot_be_replied_to(gateway: Gateway, thread_id: str) -> None:
    reply = send(gateway, "Ignored", thread_id=thread_id)

    assert (404, "thread_not_found") == (reply.status, reply.code)
    assert [{"parameter": "thread_id", "value": thread_id}] == reply.facts


@requirement("mail-17")
def test_a_thread_of_drafts_cannot_be_replied_to(gateway: Gateway, mailbox: Looking) -> None:
    message_id = draft(gateway, "Lonely draft").data["message_id"]

    thread_id = mailbox.own.messages[message_id].thread_id

    reply = send(gateway, "Ignored", thread_id=thread_id)

    assert (404, "thread_not_found") == (reply.status, reply.code)
    assert [{"parameter": "thread_id", "value": thread_id}] == reply.facts
    assert 1 == len(mailbox.drafts("Lonely draft"))


# Drafts


@requirement("mail-37", "mail-38", "mail-39")
def test_a_draft_is_kept_and_not_sent(gateway: Gateway, mailbox: Looking) -> None:
    reply = draft(gateway, "Plan B", to=["Ben Roe <ben@acmefreight.test>", "greta@kaiwerk.test"])

    (kept,) = mailbox.drafts("Plan B")
    (draft_id,) = (key for key, held in mailbox.own.drafts.items() if held is kept)
    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "mail",
        "status": "ok",
        "data": {"draft_id": draft_id, "message_id": kept.id, "created_at": reply.data["created_at"]},
    }
    assert [] == mailbox.sent("Plan B")
    assert ["ben@acmefreight.test", "greta@kaiwerk.test"] == [
        address for _, address in recipients(mailbox.letter(kept.id))
    ]


@requirement("mail-11")
def test_a_draft_to_a_bad_recipient_is_refused(gateway: Gateway, mailbox: Looking) -> None:
    reply = draft(gateway, "Plan C", to=["ben@acmefreight.test", "nobody"])

    assert (422, "invalid_recipient") == (reply.status, reply.code)
    assert [] == mailbox.drafts("Plan C")


def test_a_draft_takes_no_thread(gateway: Gateway) -> None:
    assert "invalid_parameters" == draft(gateway, "Plan D", thread_id="19a3e99010aa2b77").code


def test_drafts_made_at_the_same_time_are_never_more_at_once_than_the_application_bears(gateway: Gateway) -> None:
    gateway.knob("mail", limits=True, units_per_minute=1_000_000)

    replies = gateway.together(*[lambda: draft(gateway, "At once")] * 24)

    assert [200] * 24 == [reply.status for reply in replies]
    assert {200} == {status for _, _, status in gateway.journal("mail")}
