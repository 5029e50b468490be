"""Settings of the mail emulator, filters and watches."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.tests.mail.mail_client import JONAS, OWN, Mail, raw_message

AUTH = "https://www.googleapis.com/auth/gmail."
TOPIC = "projects/my-project/topics/mail"


@pytest.fixture
def own(mail: Mail) -> Iterator[Mail]:
    """A mailbox whose token may change settings, and which is as it was afterwards."""
    mail.set_knobs(token_scopes=[f"{AUTH}{name}" for name in ("modify", "settings.basic", "settings.sharing")])
    yield mail
    mail.control.post("/reset")


def pulled(mail: Mail, **of: Any) -> list[dict[str, Any]]:
    return [json.loads(b64decode(message["data"])) for message in mail.perform(action="pull", **of)["messages"]]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("vacation", {"enableAutoReply": True, "responseSubject": "Away", "startTime": "1000", "endTime": "2000"}),
        ("language", {"displayLanguage": "de"}),
        ("imap", {"enabled": True, "expungeBehavior": "trash"}),
        ("pop", {"accessWindow": "allMail", "disposition": "archive"}),
    ],
)
def test_settings_are_read_and_replaced(own: Mail, name: str, settings: dict[str, Any]) -> None:
    before = own.get(f"/settings/{name}")
    changed = own.put(f"/settings/{name}", settings)

    assert changed == own.get(f"/settings/{name}") == {**changed, **settings}
    assert before != changed


def test_mail_is_forwarded_only_to_registered_addresses(own: Mail) -> None:
    forwarding = {"enabled": True, "emailAddress": JONAS, "disposition": "leaveInInbox"}
    error = own.error("PUT", "/settings/autoForwarding", json=forwarding)
    created = own.post("/settings/forwardingAddresses", {"forwardingEmail": JONAS})
    pending = own.post("/settings/forwardingAddresses", {"forwardingEmail": "far@elsewhere.test"})

    assert (400, "invalidArgument", "Unrecognized forwarding address") == error
    assert ("accepted", "pending") == (created["verificationStatus"], pending["verificationStatus"])
    assert forwarding == own.put("/settings/autoForwarding", forwarding)
    assert [created, pending] == own.get("/settings/forwardingAddresses")["forwardingAddresses"]
    own.http.delete(f"/gmail/v1/users/me/settings/forwardingAddresses/{JONAS}").raise_for_status()
    assert {"enabled": False} == own.get("/settings/autoForwarding")


def test_a_signature_belongs_to_the_own_address(own: Mail) -> None:
    changed = own.http.patch(f"/gmail/v1/users/me/settings/sendAs/{OWN}", json={"signature": "<b>Nora</b>"}).json()

    assert "<b>Nora</b>" == changed["signature"] == own.get("/settings/sendAs")["sendAs"][0]["signature"]
    assert (404, "notFound") == own.error("GET", "/settings/sendAs/other@brightfjord.test")[:2]


def test_a_filter_labels_incoming_mail(own: Mail) -> None:
    label = own.post("/labels", {"name": "Filtered"})["id"]
    rule = {
        "criteria": {"from": "ben@acmefreight.test", "subject": "invoice", "negatedQuery": "draft"},
        "action": {"addLabelIds": [label, "STARRED"], "removeLabelIds": ["INBOX", "UNREAD"]},
    }
    created = own.post("/settings/filters", rule)
    start = own.get("/profile")["historyId"]
    met, draft, other = (own.receive(subject)["id"] for subject in ("Invoice 7", "Draft invoice", "Hello"))
    labels = [set(own.get(f"/messages/{one}", format="minimal")["labelIds"]) for one in (met, draft, other)]

    assert [{label, "STARRED"}, {"INBOX", "UNREAD"}, {"INBOX", "UNREAD"}] == labels
    assert {**rule, "id": created["id"]} == created
    assert [["messagesAdded"]] * 3 == [
        [kind for kind in record if kind not in {"id", "messages"}]
        for record in own.get("/history", startHistoryId=start)["history"]
    ]
    assert [created] == own.get("/settings/filters")["filter"]
    own.http.delete(f"/gmail/v1/users/me/settings/filters/{created['id']}").raise_for_status()
    assert {} == own.get("/settings/filters")


@pytest.mark.parametrize(
    ("rule", "expected_text"),
    [
        ({"action": {"addLabelIds": ["STARRED"]}}, "criteria"),
        ({"criteria": {"from": "a@b.test"}}, "actions"),
        ({"criteria": {"from": "a@b.test"}, "action": {"addLabelIds": ["Label_none"]}}, "Invalid label"),
        ({"criteria": {"from": "a@b.test"}, "action": {"forward": "x@elsewhere.test"}}, "forwarding address"),
    ],
)
def test_an_invalid_filter_is_rejected(own: Mail, rule: dict[str, Any], expected_text: str) -> None:
    status, _, message = own.error("POST", "/settings/filters", json=rule)

    assert 400 == status
    assert expected_text in message


def test_changing_settings_requires_the_settings_scope(mail: Mail) -> None:
    assert "en" == mail.get("/settings/language")["displayLanguage"]
    assert 403 == mail.error("PUT", "/settings/language", json={"displayLanguage": "de"})[0]


def test_a_watch_publishes_changes_until_it_is_stopped(own: Mail) -> None:
    watched = own.post("/watch", {"topicName": TOPIC, "labelIds": ["INBOX"], "labelFilterBehavior": "include"})
    first = pulled(own)
    own.receive("Watched")
    own.post("/messages/send", raw_message())
    notifications = pulled(own, topic=TOPIC)
    history = own.get("/history", startHistoryId=watched["historyId"])
    own.http.post("/gmail/v1/users/me/stop").raise_for_status()
    own.receive("Not watched")

    assert [{"emailAddress": OWN, "historyId": int(watched["historyId"])}] == first
    assert [int(history["history"][0]["id"])] == [one["historyId"] for one in notifications]
    assert [] == pulled(own)


def test_a_watch_ends_after_a_week(own: Mail) -> None:
    watched = own.post("/watch", {"topicName": TOPIC})
    own.control.post("/clock", json={"advance_seconds": 7 * 86_400 + 1})
    pulled(own)
    own.receive("Too late")

    assert int(watched["expiration"]) < own.emulator.context.clock.now() * 1000
    assert [] == pulled(own)


@pytest.mark.parametrize("body", [{}, {"topicName": "mail"}, {"topicName": TOPIC, "labelIds": ["Nope"]}])
def test_a_watch_requires_an_existing_topic_and_labels(own: Mail, body: dict[str, Any]) -> None:
    assert (400, "invalidArgument") == own.error("POST", "/watch", json=body)[:2]


def test_an_expired_history_id_is_not_found(own: Mail) -> None:
    start = own.get("/profile")["historyId"]
    own.set_knobs(history_records=1)
    own.receive("One")
    still = own.get("/history", startHistoryId=start)
    own.receive("Two")

    assert 1 == len(still["history"])
    assert (404, "notFound") == own.error("GET", "/history", params={"startHistoryId": start})[:2]
