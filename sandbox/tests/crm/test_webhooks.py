"""Webhooks of the HubSpot emulator, with signatures verified by the vendor's SDK."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hubspot.utils.signature import Signature

from harness.wait import wait_until
from harness.webhook_receiver import Inbox, run_receiver
from sandbox.tests.crm.hubspot_client import OBJECTS, Api


@pytest.fixture
def inbox(crm: Api) -> Iterator[Inbox]:
    with run_receiver() as inbox:
        crm.perform(action="subscribe", url=inbox.address)
        yield inbox
        crm.perform(action="subscribe", url="")


def events(inbox: Inbox, count: int) -> list[dict[str, Any]]:
    return sorted((json.loads(inbox.take()[1])[0] for _ in range(count)), key=lambda event: event["eventId"])


def test_record_changes_are_delivered(crm: Api, inbox: Inbox) -> None:
    contact = crm.create("contacts", email="told@example.test")
    crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"city": "Oslo"}})
    crm("DELETE", f"{OBJECTS}/contacts/{contact}")

    notifications = events(inbox, 4)

    assert [
        ("contact.creation", None, 0),
        ("contact.propertyChange", "told@example.test", 0),
        ("contact.propertyChange", "Oslo", 0),
        ("contact.deletion", None, 0),
    ] == [(one["subscriptionType"], one.get("propertyValue"), one["attemptNumber"]) for one in notifications]
    assert {int(contact)} == {one["objectId"] for one in notifications}
    assert {"INTEGRATION"} == {one["changeSource"] for one in notifications}


def test_user_actions_are_delivered_with_their_source(crm: Api, inbox: Inbox) -> None:
    crm.perform(action="create_company", properties={"name": "By hand"})

    assert ["CRM_UI", "CRM_UI"] == [one["changeSource"] for one in events(inbox, 2)]


def test_association_changes_are_delivered_for_both_records(crm: Api, inbox: Inbox) -> None:
    ticket = int(crm.create("tickets", subject="Told", hs_pipeline_stage="1"))
    contact = int(crm.example("contact_id"))
    crm("PUT", f"{OBJECTS}/tickets/{ticket}/associations/default/contacts/{contact}")
    crm("PUT", f"{OBJECTS}/tickets/{ticket}/associations/default/contacts/{contact}")
    crm("DELETE", f"{OBJECTS}/tickets/{ticket}/associations/contacts/{contact}")

    notifications = [one for one in events(inbox, 8) if "associationType" in one]

    forward = ("ticket.associationChange", "TICKET_TO_CONTACT", ticket, contact)
    inverse = ("contact.associationChange", "CONTACT_TO_TICKET", contact, ticket)
    names = ("subscriptionType", "associationType", "fromObjectId", "toObjectId", "associationRemoved")
    assert [(*forward, False), (*inverse, False), (*forward, True), (*inverse, True)] == [
        tuple(one[name] for name in names) for one in notifications
    ]


def test_sdk_accepts_the_webhook_signatures(crm: Api, inbox: Inbox) -> None:
    crm.create("deals", dealname="Signed")
    headers, raw = inbox.take()
    secret = crm.emulator.context.knobs["client_secret"]

    third = Signature.is_valid(
        signature=headers["X-HubSpot-Signature-v3"],
        client_secret=secret,
        request_body=raw.decode(),
        http_uri=inbox.address,
        signature_version="v3",
        timestamp=headers["X-HubSpot-Request-Timestamp"],
    )

    assert third
    assert Signature.is_valid(headers["X-HubSpot-Signature"], secret, raw.decode(), signature_version="v1")


def test_failed_webhook_is_retried_with_an_attempt_number(crm: Api, inbox: Inbox) -> None:
    pauses = crm.emulator.context.knobs["webhook_retry_seconds"]
    crm.knobs(webhook_retry_seconds=[0, 0])
    inbox.answers = [(500, {}, b"")] * 2

    crm.perform(action="create_contact", properties={})
    attempts = [event["attemptNumber"] for event in events(inbox, 3)]
    wait_until(lambda: len(crm.perform(action="deliveries")["deliveries"]) >= 3)
    crm.knobs(webhook_retry_seconds=pauses)

    assert (10, [0, 1, 2]) == (len(pauses), attempts)


def test_url_subscribed_after_a_reset_receives_events(crm: Api, inbox: Inbox) -> None:
    crm.control("reset")
    crm.perform(action="subscribe", url=inbox.address)
    crm.perform(action="create_company", properties={"name": "After the reset"})

    assert ["company.creation", "company.propertyChange"] == [one["subscriptionType"] for one in events(inbox, 2)]


def test_invalid_webhook_url_is_rejected(crm: Api) -> None:
    response = crm.control("crm/act", action="subscribe", url="nowhere")

    assert "ValueError: url must be an http or https URL, or empty" == response["error"]
