"""Webhooks of the crm stand-in, judged by the vendor's own check of signatures."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hubspot.utils.signature import Signature

from harness.wait import wait_until
from harness.webhook_receiver import Inbox, run_receiver
from sandbox.tests.crm.portal import OBJECTS, Api


@pytest.fixture
def inbox(crm: Api) -> Iterator[Inbox]:
    with run_receiver() as inbox:
        crm.act(action="subscribe", url=inbox.address)
        yield inbox
        crm.act(action="subscribe", url="")


def events(inbox: Inbox, count: int) -> list[dict[str, Any]]:
    return sorted((json.loads(inbox.take()[1])[0] for _ in range(count)), key=lambda event: event["eventId"])


def test_what_happens_to_a_record_is_told(crm: Api, inbox: Inbox) -> None:
    made = crm.make("contacts", email="told@example.test")
    crm("PATCH", f"{OBJECTS}/contacts/{made}", {"properties": {"city": "Oslo"}})
    crm("DELETE", f"{OBJECTS}/contacts/{made}")

    told = events(inbox, 4)

    assert [
        ("contact.creation", None, 0),
        ("contact.propertyChange", "told@example.test", 0),
        ("contact.propertyChange", "Oslo", 0),
        ("contact.deletion", None, 0),
    ] == [(one["subscriptionType"], one.get("propertyValue"), one["attemptNumber"]) for one in told]
    assert {int(made)} == {one["objectId"] for one in told}
    assert {"INTEGRATION"} == {one["changeSource"] for one in told}


def test_what_a_person_does_is_told_as_such(crm: Api, inbox: Inbox) -> None:
    crm.act(action="create_company", properties={"name": "By hand"})

    assert ["CRM_UI", "CRM_UI"] == [one["changeSource"] for one in events(inbox, 2)]


def test_a_new_association_is_told_from_both_ends(crm: Api, inbox: Inbox) -> None:
    made = int(crm.make("tickets", subject="Told", hs_pipeline_stage="1"))
    contact = int(crm.example("contact_id"))
    crm("PUT", f"{OBJECTS}/tickets/{made}/associations/default/contacts/{contact}")
    crm("PUT", f"{OBJECTS}/tickets/{made}/associations/default/contacts/{contact}")
    crm("DELETE", f"{OBJECTS}/tickets/{made}/associations/contacts/{contact}")

    told = [one for one in events(inbox, 8) if "associationType" in one]

    there = ("ticket.associationChange", "TICKET_TO_CONTACT", made, contact)
    back = ("contact.associationChange", "CONTACT_TO_TICKET", contact, made)
    names = ("subscriptionType", "associationType", "fromObjectId", "toObjectId", "associationRemoved")
    assert [(*there, False), (*back, False), (*there, True), (*back, True)] == [
        tuple(one[name] for name in names) for one in told
    ]


def test_the_vendors_library_accepts_the_signatures(crm: Api, inbox: Inbox) -> None:
    crm.make("deals", dealname="Signed")
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


def test_a_webhook_that_fails_is_tried_again_and_counts_its_attempts(crm: Api, inbox: Inbox) -> None:
    pauses = crm.emulator.context.knobs["webhook_retry_seconds"]
    crm.knobs(webhook_retry_seconds=[0, 0])
    inbox.answers = [(500, {}, b"")] * 2

    crm.act(action="create_contact", properties={})
    attempts = [event["attemptNumber"] for event in events(inbox, 3)]
    wait_until(lambda: len(crm.act(action="deliveries")["deliveries"]) >= 3)
    crm.knobs(webhook_retry_seconds=pauses)

    assert (10, [0, 1, 2]) == (len(pauses), attempts)


def test_an_address_that_is_told_first_after_a_reset_is_heard(crm: Api, inbox: Inbox) -> None:
    crm.control("reset")
    crm.act(action="subscribe", url=inbox.address)
    crm.act(action="create_company", properties={"name": "After the reset"})

    assert ["company.creation", "company.propertyChange"] == [one["subscriptionType"] for one in events(inbox, 2)]


def test_an_address_that_is_none_is_refused(crm: Api) -> None:
    answer = crm.control("crm/act", action="subscribe", url="nowhere")

    assert "ValueError: url must be an address, or empty" == answer["error"]
