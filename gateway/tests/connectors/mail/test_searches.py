"""Searches of the mailbox, from the caller's side, against the emulator on real HTTP."""

from pathlib import Path

from gateway.tests.connectors.mail.vendor_view import VendorInspector, receive_message, search_one
from harness.all_connectors import only
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

MESSAGES = "/gmail/v1/users/me/messages"


@requirement("mail-2", "mail-3")
def test_search_returns_message_summaries(gateway: Gateway) -> None:
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
def test_body_and_attachments_are_returned_on_request(gateway: Gateway) -> None:
    message = search_one(gateway, 'subject:"Manifest for sailing 41"', include_body=True)

    assert {
        "text": "Manifest and arrivals attached. Please confirm the reefers by Friday.",
        "html": "<p>Manifest and <b>arrivals</b> attached.</p><p>Please confirm the reefers by Friday.</p>",
    } == message["body"]
    assert [
        {"filename": "manifest-41.pdf", "mime_type": "application/pdf", "size_bytes": 193},
        {"filename": "arrivals.csv", "mime_type": "text/csv", "size_bytes": 88},
    ] == [{name: value for name, value in each.items() if name != "attachment_id"} for each in message["attachments"]]
    assert all(each["attachment_id"].startswith("att_") for each in message["attachments"])


@requirement("mail-1")
def test_query_is_evaluated_in_the_provider_syntax(gateway: Gateway) -> None:
    messages = gateway.items("/mail/messages", q="from:ben@acmefreight.test has:attachment -filename:eml", limit=50)

    assert "Manifest for sailing 41" in {each["subject"] for each in messages}
    assert {"Ben Roe <ben@acmefreight.test>"} == {each["from"] for each in messages}
    assert all(each["has_attachments"] for each in messages)


def test_search_without_matches_returns_an_empty_page(gateway: Gateway) -> None:
    reply = gateway.get("/mail/messages", q="subject:nobody-ever-wrote-this")

    assert [] == reply.data
    assert reply.body["next_cursor"] is None


@requirement("common-5", "mail-8")
def test_pages_contain_every_message_once_newest_first(gateway: Gateway) -> None:
    messages = gateway.items("/mail/messages", q="category:promotions", limit=20)

    assert 45 == len(messages)
    assert 45 == len({each["message_id"] for each in messages})
    assert sorted(messages, key=lambda each: each["received_at"], reverse=True) == messages


def test_cursor_unknown_to_the_vendor_is_rejected(gateway: Gateway) -> None:
    cursor = gateway.get("/mail/messages", q="category:promotions", limit=3).body["next_cursor"]
    vendor_error = {"error": {"code": 400, "message": "Invalid pageToken", "errors": [{"reason": "invalidArgument"}]}}
    gateway.fault("mail", path=MESSAGES, fault="status", status=400, body=vendor_error)

    reply = gateway.get("/mail/messages", q="category:promotions", limit=3, cursor=cursor)

    assert (422, "invalid_cursor") == (reply.status, reply.code)


@requirement("mail-6")
def test_attachment_names_are_decoded(gateway: Gateway) -> None:
    message = search_one(gateway, 'subject:"Übersicht Herbst"', include_body=True)

    names = ["Übersicht Herbst 2026 \u2013 Endfassung.pdf", "Entwürfe.pdf", "plan.html"]
    assert names == [each["filename"] for each in message["attachments"]]
    assert {"text": "Names in two old ways and one new.", "html": None} == message["body"]


def test_attached_message_counts_as_one_attachment(gateway: Gateway) -> None:
    message = search_one(gateway, 'subject:"Fwd: Berth 14"', include_body=True)

    assert [("attachment.eml", "message/rfc822")] == [
        (each["filename"], each["mime_type"]) for each in message["attachments"]
    ]
    assert "See below, with their original." == message["body"]["text"]


def test_message_without_subject_and_text_has_empty_values(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = next(stored_id for stored_id, stored in mailbox.own.messages.items() if not stored.header("Subject"))

    message = next(
        each
        for each in gateway.items("/mail/messages", q="", limit=100, include_body=True)
        if each["message_id"] == message_id
    )

    assert ("", {"text": "", "html": None}) == (message["subject"], message["body"])


def test_separately_stored_text_is_included_in_the_body(gateway: Gateway) -> None:
    gateway.knob("mail", inline_text_bytes=10)

    message = search_one(gateway, 'subject:"Manifest for sailing 41"', include_body=True)

    assert "Manifest and arrivals attached. Please confirm the reefers by Friday." == message["body"]["text"]


def test_drafts_are_found_with_their_label(gateway: Gateway) -> None:
    messages = gateway.items("/mail/messages", q="in:draft")

    assert len(messages) >= 9
    assert all("DRAFT" in each["labels"] for each in messages)


def test_new_label_is_returned_by_name(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Freshly labelled")
    search_one(gateway, 'subject:"Freshly labelled"')
    mailbox.add_label("Label_901", "Made just now")
    mailbox.own.relabel(mailbox.own.messages[message_id], ["Label_901"], [])

    assert "Made just now" in search_one(gateway, 'subject:"Freshly labelled"')["labels"]


def test_unknown_label_is_returned_by_identifier(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Strangely labelled")
    mailbox.own.messages[message_id].label_ids.append("Label_902")

    assert "Label_902" in search_one(gateway, 'subject:"Strangely labelled"')["labels"]


def test_message_deleted_during_the_search_is_omitted(gateway: Gateway) -> None:
    listed = gateway.get("/mail/messages", q="category:social", limit=5).data
    gateway.fault("mail", path=f"{MESSAGES}/{listed[2]['message_id']}", fault="status", status=404, body={"error": {}})

    reply = gateway.get("/mail/messages", q="category:social", limit=5)

    assert reply.data == [each for each in listed if each is not listed[2]]
    assert reply.body["next_cursor"] is not None


def test_page_takes_one_request_per_message_and_one_for_the_list(gateway: Gateway) -> None:
    gateway.get("/mail/messages", q="category:social", limit=10)
    gateway.clear("mail")

    gateway.get("/mail/messages", q="category:social", limit=10)

    paths = [path for _, path, _ in gateway.journal("mail")]
    assert MESSAGES == paths[0]
    assert 11 == len(paths)


def test_concurrent_searches_stay_within_the_vendor_concurrency_limit(gateway: Gateway) -> None:
    gateway.knob("mail", limits=True, units_per_minute=1_000_000)

    replies = gateway.together(*[lambda: gateway.get("/mail/messages", q="category:social", limit=20)] * 12)

    assert [20] * 12 == [len(reply.data) for reply in replies]
    assert {200} == {status for _, _, status in gateway.journal("mail")}


@requirement("common-76")
def test_started_page_waits_longer_than_the_queue_time(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_gateway(
        sandbox, tmp_path, connectors=only("mail"), GATEWAY_MAIL_BUDGET="250/1", GATEWAY_QUEUE_SECONDS="0.3"
    ) as gateway:
        reply = gateway.get("/mail/messages", q="in:inbox", limit=24)

    assert 200 == reply.status, reply.body
    assert 24 == len(reply.data)
