"""Sent messages and drafts, from the caller's side, against the emulator on real HTTP."""

from datetime import UTC, datetime
from typing import Any

import pytest

from connector_gateway.core.error_serialization import truncate
from gateway.tests.connectors.mail.vendor_view import (
    OWN_ADDRESS,
    VendorInspector,
    get_plain_text,
    list_recipients,
    receive_message,
)
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

HTML = "<p>Dear Ben,</p><p>see <a href='https://brightfjord.test/offer'>our offer</a>.</p>"


def send(gateway: Gateway, subject: str, **more: Any) -> Reply:
    return gateway.post(
        "/mail/messages", **({"to": ["ben@acmefreight.test"], "body_html": HTML} | more), subject=subject
    )


def draft(gateway: Gateway, subject: str, **more: Any) -> Reply:
    return gateway.post("/mail/drafts", **({"to": ["ben@acmefreight.test"], "body_html": HTML} | more), subject=subject)


# Sent messages


@requirement("mail-9", "mail-10")
def test_message_is_sent_from_the_connected_address(gateway: Gateway, mailbox: VendorInspector) -> None:
    before = datetime.now(UTC)

    reply = send(gateway, "Offer 7")

    (sent,) = mailbox.sent("Offer 7")
    assert reply.data == {
        "message_id": sent.id,
        "thread_id": sent.thread_id,
        "to": ["ben@acmefreight.test"],
        "sent_at": reply.data["sent_at"],
    }
    assert before.timestamp() - 1 <= datetime.fromisoformat(reply.data["sent_at"]).timestamp()
    assert str(mailbox.parse_message(sent.id)["From"]) == f"Nora Lind <{OWN_ADDRESS}>"
    assert [] == mailbox.drafts("Offer 7")


@requirement("mail-13")
def test_html_is_sent_unchanged_with_a_plain_text_alternative(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = send(gateway, "Two forms", body_html="<p>Schöne Grüße 😀</p>\n" + HTML).data["message_id"]

    message = mailbox.parse_message(message_id)
    html = message.get_body(("html",))
    assert ["text/plain", "text/html"] == [part.get_content_type() for part in message.iter_parts()]
    assert html is not None
    assert html.get_content().replace("\r", "").rstrip("\n") == "<p>Schöne Grüße 😀</p>\n" + HTML
    assert ("Schöne Grüße 😀\n\nDear Ben,\n\nsee our offer (https://brightfjord.test/offer).") == get_plain_text(
        message
    )


def test_message_is_addressed_to_each_recipient_once(gateway: Gateway, mailbox: VendorInspector) -> None:
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
    ] == list_recipients(mailbox.parse_message(reply.data["message_id"]))


def test_sent_message_is_delivered(gateway: Gateway, mailbox: VendorInspector) -> None:
    send(gateway, "For Priya", to=["Priya Raman <priya@brightfjord.test>"])

    inbox = mailbox.emulator.services.transport.mailboxes["priya@brightfjord.test"].messages.values()
    assert ["For Priya"] == [message.header("Subject") for message in inbox if message.header("Subject") == "For Priya"]


@pytest.mark.parametrize("subject", ["", "重要案件のお知らせ、" * 20, "tabs\tand  blanks"])
def test_one_line_subject_is_preserved(gateway: Gateway, mailbox: VendorInspector, subject: str) -> None:
    message_id = send(gateway, subject).data["message_id"]

    assert str(mailbox.parse_message(message_id)["Subject"]) == " ".join(subject.split())


@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r", "\x85", "\u2028"])
def test_multi_line_subject_is_rejected(gateway: Gateway, line_end: str) -> None:
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
def test_invalid_recipient_is_rejected(gateway: Gateway, recipient: str) -> None:
    reply = send(gateway, "Never sent", to=[recipient])

    assert (422, "invalid_recipient") == (reply.status, reply.code)
    assert [(0, truncate(recipient))] == [(detail["index"], detail["value"]) for detail in reply.details]
    assert [] == gateway.journal("mail")


@requirement("mail-11")
def test_one_invalid_recipient_of_fifty_is_reported_and_nothing_sent(
    gateway: Gateway, mailbox: VendorInspector
) -> None:
    to = [f"guest{number}@acmefreight.test" for number in range(50)]
    to[31] = "guest31@acmefreight,test"

    reply = send(gateway, "Fifty", to=to)

    assert "invalid_recipient" == reply.code
    assert [(31, "guest31@acmefreight,test", "to.31")] == [
        (detail["index"], detail["value"], detail["parameter"]) for detail in reply.details
    ]
    assert [] == mailbox.sent("Fifty")


@requirement("mail-12")
def test_all_invalid_recipients_are_reported(gateway: Gateway) -> None:
    reply = send(gateway, "Three", to=["a", "b@kaiwerk.test", "c"])

    assert [(0, "invalid_recipient"), (2, "invalid_recipient")] == [
        (detail["index"], detail["code"]) for detail in reply.details
    ]


def test_international_domain_is_sent_in_ascii(gateway: Gateway) -> None:
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
def test_invalid_message_parameters_are_rejected(gateway: Gateway, body: dict[str, Any], parameter: str) -> None:
    reply = send(gateway, "Unreadable", **body)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [parameter] == [detail["parameter"] for detail in reply.details]


def test_long_message_is_sent_completely(gateway: Gateway, mailbox: VendorInspector) -> None:
    html = "<p>A line of a long report.</p>\n" * 25_000

    message_id = send(gateway, "A long report", body_html=html).data["message_id"]

    body = mailbox.parse_message(message_id).get_body(("html",))
    assert body is not None
    assert 25_000 == len(body.get_content().splitlines())


@requirement("mail-20")
@pytest.mark.parametrize("reply", [True, False])
def test_large_message_is_sent_to_the_upload_url(gateway: Gateway, mailbox: VendorInspector, *, reply: bool) -> None:
    subject = f"A manifest of all {reply}"
    thread = {"thread_id": receive_message(gateway, subject)} if reply else {}
    gateway.knob("mail", json_bytes=1_000_000)
    html = "<p>Eine Kiste für den Käpten.</p>\n" * 25_000

    response = send(gateway, subject, body_html=html, **thread)

    message = mailbox.parse_message(response.data["message_id"])
    paths = [path for method, path, _ in gateway.journal("mail") if method == "POST"]
    body = message.get_body(("html",))
    assert ["/upload/gmail/v1/users/me/drafts", "/gmail/v1/users/me/drafts/send"] == paths[-2:]
    assert thread.get("thread_id", response.data["thread_id"]) == response.data["thread_id"]
    assert body is not None
    assert html == body.get_content().replace("\r\n", "\n")


@requirement("mail-18")
def test_large_message_with_a_lost_response_is_sent_once(gateway: Gateway, mailbox: VendorInspector) -> None:
    gateway.fault("mail", method="POST", path="/upload/gmail/v1/users/me/drafts", fault="drop_after")

    response = send(gateway, "A manifest that is lost", body_html="<p>A line of the manifest.</p>\n" * 30_000)

    assert 200 == response.status
    assert 1 == len(mailbox.sent("A manifest that is lost"))
    assert [] == mailbox.drafts("A manifest that is lost")


# Replies


@requirement("mail-14", "mail-15", "mail-16")
def test_reply_has_subject_and_thread_and_references_the_last_message(
    gateway: Gateway, mailbox: VendorInspector
) -> None:
    thread_id = gateway.examples("mail")["thread_id"]
    chain = [message.message_id for message in mailbox.own.threads[thread_id]]
    subject = mailbox.own.threads[thread_id][0].header("Subject")

    reply = send(gateway, "Ignored", thread_id=thread_id)

    message = mailbox.parse_message(reply.data["message_id"])
    assert reply.data["thread_id"] == thread_id
    assert str(message["Subject"]) == f"Re: {subject}"
    assert str(message["In-Reply-To"]) == chain[-1]
    assert str(message["References"]).split() == chain


@requirement("mail-17")
@pytest.mark.parametrize("thread_id", ["19a3e99010aa2b77", "abc"])
def test_reply_to_an_unknown_thread_is_not_found(gateway: Gateway, thread_id: str) -> None:
    reply = send(gateway, "Ignored", thread_id=thread_id)

    assert (404, "thread_not_found") == (reply.status, reply.code)
    assert [{"parameter": "thread_id", "value": thread_id}] == reply.facts


@requirement("mail-17")
def test_reply_to_a_thread_of_drafts_is_not_found(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = draft(gateway, "Lonely draft").data["message_id"]

    thread_id = mailbox.own.messages[message_id].thread_id

    reply = send(gateway, "Ignored", thread_id=thread_id)

    assert (404, "thread_not_found") == (reply.status, reply.code)
    assert [{"parameter": "thread_id", "value": thread_id}] == reply.facts
    assert 1 == len(mailbox.drafts("Lonely draft"))


# Drafts


@requirement("mail-37", "mail-38", "mail-39")
def test_draft_is_stored_and_not_sent(gateway: Gateway, mailbox: VendorInspector) -> None:
    reply = draft(gateway, "Plan B", to=["Ben Roe <ben@acmefreight.test>", "greta@kaiwerk.test"])

    (stored_draft,) = mailbox.drafts("Plan B")
    (draft_id,) = (key for key, message in mailbox.own.drafts.items() if message is stored_draft)
    assert reply.data == {"draft_id": draft_id, "message_id": stored_draft.id, "created_at": reply.data["created_at"]}
    assert [] == mailbox.sent("Plan B")
    assert ["ben@acmefreight.test", "greta@kaiwerk.test"] == [
        address for _, address in list_recipients(mailbox.parse_message(stored_draft.id))
    ]


@requirement("mail-11")
def test_draft_to_an_invalid_recipient_is_rejected(gateway: Gateway, mailbox: VendorInspector) -> None:
    reply = draft(gateway, "Plan C", to=["ben@acmefreight.test", "nobody"])

    assert (422, "invalid_recipient") == (reply.status, reply.code)
    assert [] == mailbox.drafts("Plan C")


def test_draft_rejects_a_thread_id(gateway: Gateway) -> None:
    assert "invalid_parameters" == draft(gateway, "Plan D", thread_id="19a3e99010aa2b77").code


def test_concurrent_drafts_stay_within_the_vendor_concurrency_limit(gateway: Gateway) -> None:
    gateway.knob("mail", limits=True, units_per_minute=1_000_000)

    replies = gateway.together(*[lambda: draft(gateway, "At once")] * 24)

    assert [200] * 24 == [reply.status for reply in replies]
    assert {200} == {status for _, _, status in gateway.journal("mail")}
