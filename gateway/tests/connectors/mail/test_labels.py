"""Label changes, from the caller's side, against the emulator on real HTTP."""

from typing import Any

import pytest

from gateway.tests.connectors.mail.vendor_view import VendorInspector, receive_message
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement


def change(gateway: Gateway, message_id: str, **more: Any) -> Reply:
    return gateway.post(f"/mail/messages/{message_id}/labels", **more)


def list_label_names(mailbox: VendorInspector) -> list[str]:
    return [label.name for label in mailbox.own.labels.values()]


@requirement("mail-21", "mail-22")
def test_labels_are_applied_and_stripped_by_name(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Label me")

    reply = change(gateway, message_id, add=["Clients/Acme Freight", "重要案件"], remove=["UNREAD"])

    assert reply.data == {
        "message_id": message_id,
        "labels": ["INBOX", "Clients/Acme Freight", "重要案件"],
        "created": [],
    }


@requirement("mail-24")
def test_missing_label_is_rejected_and_nothing_changes(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Unlabelled")

    reply = change(gateway, message_id, add=["Follow Up", "Nowhere", "Elsewhere"], remove=["UNREAD"])

    assert (404, "label_not_found") == (reply.status, reply.code)
    assert [("add.1", 1, "Nowhere"), ("add.2", 2, "Elsewhere")] == [
        (detail["parameter"], detail["index"], detail["value"]) for detail in reply.details
    ]
    assert ["UNREAD", "INBOX"] == mailbox.own.messages[message_id].label_ids
    assert "Nowhere" not in list_label_names(mailbox)


@requirement("common-30")
def test_all_violations_of_a_change_are_reported(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Faulty in many ways")

    first_missing = change(gateway, message_id, add=["Nowhere", "SENT", "Follow Up"], remove=["DRAFT", "follow up"])
    first_unmovable = change(gateway, message_id, add=["SENT", "Nowhere"], remove=["nowhere"])

    violations = [(detail["code"], detail["parameter"], detail["value"]) for detail in first_missing.details]
    assert (404, "label_not_found") == (first_missing.status, first_missing.code)
    assert (422, "invalid_parameters") == (first_unmovable.status, first_unmovable.code)
    assert [
        ("label_not_found", "add.0", "Nowhere"),
        ("invalid_parameters", "add.1", "SENT"),
        ("invalid_parameters", "remove.0", "DRAFT"),
        ("invalid_parameters", "remove.1", "follow up"),
    ] == violations
    assert ["add.0", "add.1", "remove.0"] == [detail["parameter"] for detail in first_unmovable.details]
    assert ["UNREAD", "INBOX"] == mailbox.own.messages[message_id].label_ids


@requirement("mail-23")
def test_missing_labels_are_created_on_request(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "New labels")

    reply = change(gateway, message_id, add=["Ships/Aurora", "Follow Up", "ships/aurora"], create_missing=True)

    assert ["Ships/Aurora"] == reply.data["created"]
    assert ["UNREAD", "INBOX", "Ships/Aurora", "Follow Up"] == reply.data["labels"]
    assert "Ships/Aurora" in list_label_names(mailbox)


def test_label_names_match_regardless_of_case(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Case of labels")

    reply = change(gateway, message_id, add=["FOLLOW UP", "starred"], remove=["inbox", "unread"])

    assert ["Follow Up", "STARRED"] == reply.data["labels"]


def test_exact_label_name_is_preferred(gateway: Gateway, mailbox: VendorInspector) -> None:
    mailbox.add_label("Label_911", "Pier")
    mailbox.add_label("Label_912", "PIER")
    message_id = receive_message(gateway, "Two piers")

    assert ["UNREAD", "INBOX", "PIER"] == change(gateway, message_id, add=["PIER"]).data["labels"]


@requirement("mail-25")
def test_stripping_a_missing_label_has_no_effect(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Nothing to strip")

    reply = change(gateway, message_id, remove=["Nowhere"])

    assert reply.data == {"message_id": message_id, "labels": ["UNREAD", "INBOX"], "created": []}


def test_change_without_effect_succeeds(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "Already so")

    reply = change(gateway, message_id, add=["INBOX"], remove=["STARRED"])

    assert ["UNREAD", "INBOX"] == reply.data["labels"]


def test_message_is_moved_to_the_trash_by_label(gateway: Gateway) -> None:
    message_id = receive_message(gateway, "To the bin")

    assert ["UNREAD", "TRASH"] == change(gateway, message_id, add=["TRASH"]).data["labels"]


@pytest.mark.parametrize(
    ("labels", "parameter"),
    [
        ({}, "add"),
        ({"add": [], "remove": []}, "add"),
        ({"add": [""]}, "add.0"),
        ({"add": ["  "]}, "add.0"),
        ({"add": ["a\nb"]}, "add.0"),
        ({"add": ["x" * 226]}, "add.0"),
        ({"remove": "INBOX"}, "remove"),
        ({"add": ["INBOX"], "create_missing": "yes"}, "create_missing"),
        ({"add": ["Follow Up"], "remove": ["follow up"]}, "remove.0"),
        ({"add": ["Yet unknown"], "remove": ["yet UNKNOWN"], "create_missing": True}, "remove.0"),
        ({"add": ["SENT"]}, "add.0"),
        ({"remove": ["UNREAD", "draft"]}, "remove.1"),
    ],
)
def test_invalid_change_is_rejected(gateway: Gateway, labels: dict[str, Any], parameter: str) -> None:
    reply = change(gateway, receive_message(gateway, "Impossible"), **labels)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [parameter] == [detail["parameter"] for detail in reply.details]


@pytest.mark.parametrize("labels", [{"add": ["Follow Up"]}, {"remove": ["Nowhere"]}])
@pytest.mark.parametrize("message_id", ["19a3f0c2b7d4e851", "abc"])
def test_change_of_an_unknown_message_is_not_found(gateway: Gateway, message_id: str, labels: dict[str, Any]) -> None:
    reply = change(gateway, message_id, **labels)

    assert (404, "message_not_found") == (reply.status, reply.code)
    assert [{"parameter": "message_id", "value": message_id}] == reply.facts


def test_no_label_is_created_for_an_unknown_message(gateway: Gateway, mailbox: VendorInspector) -> None:
    reply = change(gateway, "19a3f0c2b7d4e851", add=["Orphan"], create_missing=True)

    assert (404, "message_not_found") == (reply.status, reply.code)
    assert "Orphan" not in list_label_names(mailbox)


def test_label_created_concurrently_is_used(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "A race")
    change(gateway, message_id, add=["INBOX"])
    vendor_error = {
        "error": {"code": 409, "message": "Label name exists or conflicts", "errors": [{"reason": "duplicate"}]}
    }
    gateway.fault("mail", method="POST", path="/gmail/v1/users/me/labels", fault="drop_after")

    reply = change(gateway, message_id, add=["Raced"], create_missing=True)
    gateway.fault(
        "mail", method="POST", path="/gmail/v1/users/me/labels", fault="status", status=409, body=vendor_error
    )
    again = change(gateway, message_id, add=["raced"], create_missing=True)

    assert ["Raced"] == reply.data["created"]
    assert [] == again.data["created"]
    assert 1 == list_label_names(mailbox).count("Raced")


def test_label_created_elsewhere_is_recognised(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Made elsewhere")
    change(gateway, message_id, add=["INBOX"])
    mailbox.add_label("Label_921", "Elsewhere made")

    assert "Elsewhere made" in change(gateway, message_id, add=["Elsewhere made"]).data["labels"]
    assert "Elsewhere made" not in change(gateway, message_id, remove=["Elsewhere made"]).data["labels"]


def test_label_deleted_elsewhere_is_missing(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Deleted elsewhere")
    mailbox.add_label("Label_922", "Soon gone")
    change(gateway, message_id, add=["Soon gone"])
    mailbox.own.delete_label("Label_922")

    reply = change(gateway, message_id, add=["Soon gone"])

    assert (404, "label_not_found") == (reply.status, reply.code)


def test_labels_of_a_draft_cannot_be_changed(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = next(message.id for message in mailbox.own.drafts.values())

    reply = change(gateway, message_id, add=["STARRED"])

    assert (403, "upstream_forbidden") == (reply.status, reply.code)
    assert [{"vendor_code": "failedPrecondition", "vendor_message": "Precondition check failed."}] == reply.facts
    assert "draft" in reply.body["error"]["remedy"]
    assert "administrator" not in reply.body["error"]["remedy"]


def test_concurrent_calls_create_a_label_once(gateway: Gateway, mailbox: VendorInspector) -> None:
    message_id = receive_message(gateway, "Twenty at once")

    replies = gateway.together(*[lambda: change(gateway, message_id, add=["Twenty"], create_missing=True)] * 20)

    assert 1 == sum(len(reply.data["created"]) for reply in replies)
    assert 1 == list_label_names(mailbox).count("Twenty")
