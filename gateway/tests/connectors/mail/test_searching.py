"""Searching the mailbox, from the caller's side, against the emulator on real HTTP."""

from pathlib import Path

from gateway.tests.connectors.mail.looking import Looking, one, received
from harness.all_connectors import only
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

MESSAGES = "/gmail/v1/users/me/messages"


@requirement("mail-2", "mail-3")
def test_a_found_message_is_summarised(gateway: Gateway) -> None:
    reply = gateway.get("/mail/messages", q='subject:"Manifest for sailing 41"')

    message_id = gateway.examples("mail")["attachment_message_id"]
    assert 200 == reply.status
    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "mail",
        "status": "ok",
        "data": [
            {
                "message_id": message_id,
                "thread_id": message_id,
                "from": "Ben Roe <ben@acmefreight.test>",
                "subject": "Manifest for sailing 41",
                "received_at": "2026-11-20T08:00:00.000Z",
                "has_attachments": True,
                "labels": ["INBOX", "CATEGORY_PERSONAL", "UNREAD", "IMPORTANT", "Clients/Acme Freight"],
            }
        ],
        "next_cursor": None,
    }


@requirement("mail-3", "mail-4", "mail-6", "mail-29")
def test_the_body_comes_with_its_attachments_when_asked_for(gateway: Gateway) -> None:
    found = one(gateway, 'subject:"Manifest for sailing 41"', include_body=True)

    assert {
        "text": "Manifest and arrivals attached. Please confirm the reefers by Friday.",
        "html": "<p>Manifest and <b>arrivals</b> attached.</p><p>Please confirm the reefers by Friday.</p>",
    } == found["body"]
    assert [
        {"filename": "manifest-41.pdf", "mime_type": "application/pdf", "size_bytes": 193},
        {"filename": "arrivals.csv", "mime_type": "text/csv", "size_bytes": 88},
    ] == [{name: value for name, value in each.items() if name != "attachment_id"} for each in found["attachments"]]
    assert all(each["attachment_id"].startswith("att_") for each in found["attachments"])


@requirement("mail-1")
def test_the_providers_own_syntax_decides_what_is_found(gateway: Gateway) -> None:
    found = gateway.items("/mail/messages", q="from:ben@acmefreight.test has:attachment -filename:eml", limit=50)

    assert "Manifest for sailing 41" in {each["subject"] for each in found}
    assert {"Ben Roe <ben@acmefreight.test>"} == {each["from"] for each in found}
    assert all(each["has_attachments"] for each in found)


def test_nothing_found_is_an_empty_page(gateway: Gateway) -> None:
    reply = gateway.get("/mail/messages", q="subject:nobody-ever-wrote-this")

    assert [] == reply.data
    assert reply.body["next_cursor"] is None


@requirement("common-5", "mail-8")
def test_pages_hold_every_message_once_newest_first(gateway: Gateway) -> None:
    found = gateway.items("/mail/messages", q="category:promotions", limit=20)

    assert 45 == len(found)
    assert 45 == len({each["message_id"] for each in found})
    assert sorted(found, key=lambda each: each["received_at"], reverse=True) == found


def test_a_cursor_that_the_application_has_forgotten_is_refused(gateway: Gateway) -> None:
    cursor = gateway.get("/mail/messages", q="category:promotions", limit=3).body["next_cursor"]
    refusal = {"error": {"code": 400, "message": "Invalid pageToken", "errors": [{"reason": "invalidArgument"}]}}
    gateway.fault("mail", path=MESSAGES, fault="status", status=400, body=refusal)

    reply = gateway.get("/mail/messages", q="category:promotions", limit=3, cursor=cursor)

    assert (422, "invalid_cursor") == (reply.status, reply.code)


@requirement("mail-6")
def test_attachments_are_named_as_their_senders_named_them(gateway: Gateway) -> None:
    found = one(gateway, 'subject:"Übersicht Herbst"', include_body=True)

    names = ["Übersicht Herbst 2026 \u2013 Endfassung.pdf", "Entwürfe.pdf", "plan.html"]
    assert names == [each["filename"] for each in found["attachments"]]
    assert {"text": "Names in two old ways and one new.", "html": None} == found["body"]


def test_an_attached_message_is_one_attachment_whatever_it_holds(gateway: Gateway) -> None:
    found = one(gateway, 'subject:"Fwd: Berth 14"', include_body=True)

    assert [("attachment.eml", "message/rfc822")] == [
        (each["filename"], each["mime_type"]) for each in found["attachments"]
    ]
    assert "See below, with their original." == found["body"]["text"]


def test_a_message_without_subject_and_text_has_empty_ones(gateway: Gateway, mailbox: Looking) -> None:
    message_id = next(key for key, held in mailbox.own.messages.items() if not held.header("Subject"))

    found = next(
        each
        for each in gateway.items("/mail/messages", q="", limit=100, include_body=True)
        if each["message_id"] == message_id
    )

    assert ("", {"text": "", "html": None}) == (found["subject"], found["body"])


def test_a_long_text_that_comes_by_itself_is_read_as_well(gateway: Gateway) -> None:
    gateway.knob("mail", inline_text_bytes=10)

    found = one(gateway, 'subject:"Manifest for sailing 41"', include_body=True)

    assert "Manifest and arrivals attached. Please confirm the reefers by Friday." == found["body"]["text"]


def test_drafts_are_found_and_recognised_by_their_label(gateway: Gateway) -> None:
    found = gateway.items("/mail/messages", q="in:draft")

    assert len(found) >= 9
    assert all("DRAFT" in each["labels"] for each in found)


def test_a_label_made_a_moment_ago_is_shown_by_its_name(gateway: Gateway, mailbox: Looking) -> None:
    message_id = received(gateway, "Freshly labelled")
    one(gateway, 'subject:"Freshly labelled"')
    mailbox.add_label("Label_901", "Made just now")
    mailbox.own.relabel(mailbox.own.messages[message_id], ["Label_901"], [])

    assert "Made just now" in one(gateway, 'subject:"Freshly labelled"')["labels"]


def test_a_label_that_nobody_knows_keeps_its_identifier(gateway: Gateway, mailbox: Looking) -> None:
    message_id = received(gateway, "Strangely labelled")
    mailbox.own.messages[message_id].label_ids.append("Label_902")

    assert "Label_902" in one(gateway, 'subject:"Strangely labelled"')["labels"]


def test_a_message_that_vanishes_while_it_is_read_is_left_out(gateway: Gateway) -> None:
    listed = gateway.get("/mail/messages", q="category:social", limit=5).data
    gateway.fault("mail", path=f"{MESSAGES}/{listed[2]['message_id']}", fault="status", status=404, body={"error": {}})

    reply = gateway.get("/mail/messages", q="category:social", limit=5)

    assert reply.data == [each for each in listed if each is not listed[2]]
    assert reply.body["next_cursor"] is not None


def test_a_page_costs_a_list_its_messages_and_the_labels_once(gateway: Gateway) -> None:
    gateway.get("/mail/messages", q="category:social", limit=10)
    gateway.clear("mail")

    gateway.get("/mail/messages", q="category:social", limit=10)

    paths = [path for _, path, _ in gateway.journal("mail")]
    assert MESSAGES == paths[0]
    assert 11 == len(paths)


def test_searches_at_the_same_time_never_read_more_at_once_than_the_application_bears(gateway: Gateway) -> None:
    gateway.knob("mail", limits=True, units_per_minute=1_000_000)

    replies = gateway.together(*[lambda: gateway.get("/mail/messages", q="category:social", limit=20)] * 12)

    assert [20] * 12 == [len(reply.data) for reply in replies]
    assert {200} == {status for _, _, status in gateway.journal("mail")}


@requirement("common-76")
def test_a_page_that_was_begun_waits_for_its_budget_longer_than_the_queue_time(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    with run_gateway(
        sandbox, tmp_path, connectors=only("mail"), GATEWAY_MAIL_BUDGET="250/1", GATEWAY_QUEUE_SECONDS="0.3"
    ) as gateway:
        reply = gateway.get("/mail/messages", q="in:inbox", limit=24)

    assert 200 == reply.status, reply.body
    assert 24 == len(reply.data)
