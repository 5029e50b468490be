"""Conversions between the vendor's JSON and public shapes, without a mailbox."""

import pytest

from connector_gateway.connectors.mail import mapping, vendor_models
from connector_gateway.connectors.mail.mime import Mailbox
from connector_gateway.connectors.mail.vendor_models import SendAs
from connector_gateway.kit.errors import AttachmentNotFound, ThreadNotFound, UpstreamUnexpected
from connector_gateway.kit.vendor_model import UnexpectedShape, convert

NAMES = {"INBOX": "INBOX", "Label_1": "Clients", "Label_2": "clients", "Label_3": "Büro"}


@pytest.mark.parametrize(
    ("name", "label_id"),
    [
        ("Clients", "Label_1"),
        ("clients", "Label_2"),
        ("CLIENTS", "Label_1"),
        (" Clients ", "Label_1"),
        ("BÜRO", "Label_3"),
        ("inbox", "INBOX"),
        ("Label_1", None),
    ],
)
def test_label_matches_exactly_or_ignoring_case(name: str, label_id: str | None) -> None:
    assert mapping.labels.label_id(NAMES, name) == label_id


@pytest.mark.parametrize("part_id", ["", "0", "1.0.2"])
def test_attachment_id_is_converted_back_to_its_part(part_id: str) -> None:
    attachment_id = mapping.attachments.attachment_id("19a3f0c2b7d4e851", part_id)

    assert attachment_id.startswith("att_")
    assert mapping.attachments.part_id(attachment_id, "19a3f0c2b7d4e851") == part_id


def test_vendor_attachment_id_has_no_part_id() -> None:
    assert mapping.attachments.part_id("ANGjdJ8", "19a3f0c2b7d4e851") is None


@pytest.mark.parametrize(
    "attachment_id", ["att_", "att_A", "att_____", mapping.attachments.attachment_id("19a3f0c2b7d4e852", "1")]
)
def test_attachment_id_of_another_message_is_rejected(attachment_id: str) -> None:
    with pytest.raises(AttachmentNotFound):
        mapping.attachments.part_id(attachment_id, "19a3f0c2b7d4e851")


def build_message(arrived_at: int, *labels: str, **headers: str) -> vendor_models.Message:
    header_fields = [vendor_models.Header(name=name.replace("_", "-"), value=value) for name, value in headers.items()]
    payload = vendor_models.Part(headers=header_fields)
    return vendor_models.Message(
        id=str(arrived_at), thread_id="t", internal_date=str(arrived_at), label_ids=labels, payload=payload
    )


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [build_message(1, Subject="Plan", Message_ID="<a@x>")],
            mapping.outgoing_messages.ReplyTarget("Re: Plan", "<a@x>", ["<a@x>"]),
        ),
        (
            [build_message(1, Subject="re: Plan", Message_Id="<a@x>")],
            mapping.outgoing_messages.ReplyTarget("re: Plan", "<a@x>", ["<a@x>"]),
        ),
        (
            [build_message(1, Subject="", Message_ID="<a@x>")],
            mapping.outgoing_messages.ReplyTarget("Re:", "<a@x>", ["<a@x>"]),
        ),
        ([build_message(1, SUBJECT="Plan")], mapping.outgoing_messages.ReplyTarget("Re: Plan")),
        (
            [build_message(1, Subject="Plan", Message_ID="<b@x>", References="<a@x>\r\n <r@x>")],
            mapping.outgoing_messages.ReplyTarget("Re: Plan", "<b@x>", ["<a@x>", "<r@x>", "<b@x>"]),
        ),
        (
            [build_message(1, Subject="Plan", Message_ID="<b@x>", In_Reply_To="<a@x> (by Ben)")],
            mapping.outgoing_messages.ReplyTarget("Re: Plan", "<b@x>", ["<a@x>", "<b@x>"]),
        ),
        (
            [build_message(2, Subject="Two", Message_ID="<b@x>"), build_message(1, Subject="One", Message_ID="<a@x>")],
            mapping.outgoing_messages.ReplyTarget("Re: Two", "<b@x>", ["<b@x>"]),
        ),
        (
            [
                build_message(1, Subject="One", Message_ID="<a@x>"),
                build_message(2, "DRAFT", Subject="Two", Message_ID="<b@x>"),
                build_message(3, "TRASH", Subject="Three", Message_ID="<c@x>"),
            ],
            mapping.outgoing_messages.ReplyTarget("Re: One", "<a@x>", ["<a@x>"]),
        ),
        (
            [build_message(1, Subject="Plan", Message_ID="<é@x> <a b@x>")],
            mapping.outgoing_messages.ReplyTarget("Re: Plan"),
        ),
    ],
)
def test_reply_references_the_last_answerable_message(
    messages: list[vendor_models.Message], expected: mapping.outgoing_messages.ReplyTarget
) -> None:
    target = mapping.outgoing_messages.parent(vendor_models.Thread(messages=messages), "t")

    assert (target.subject, target.message_id, list(target.references)) == (
        expected.subject,
        expected.message_id,
        list(expected.references),
    )


def test_long_reference_chain_is_shortened_in_the_middle() -> None:
    chain = [f"<{number}@x>" for number in range(60)]

    target = mapping.outgoing_messages.parent(
        vendor_models.Thread(messages=[build_message(1, Message_ID="<60@x>", References=" ".join(chain))]), "t"
    )

    assert list(target.references) == ["<0@x>", *chain[41:], "<60@x>"]


@pytest.mark.parametrize("messages", [[], [build_message(1, "DRAFT")], [build_message(1, "TRASH", "INBOX")]])
def test_thread_without_answerable_messages_is_not_found(messages: list[vendor_models.Message]) -> None:
    with pytest.raises(ThreadNotFound):
        mapping.outgoing_messages.parent(vendor_models.Thread(messages=messages), "t")


@pytest.mark.parametrize(
    ("written", "recipient"),
    [
        ("ben@acme.test", Mailbox("", "ben@acme.test")),
        ("Ben <ben@acme.test>", Mailbox("Ben", "ben@acme.test")),
        ('"Roe, Ben" <ben@acme.test>', Mailbox("Roe, Ben", "ben@acme.test")),
        ("Grüße <ben@büro.example>", Mailbox("Grüße", "ben@xn--bro-hoa.example")),
        ("<ben@acme.test>", Mailbox("", "ben@acme.test")),
        ("ben+tag@mail.acme.test", Mailbox("", "ben+tag@mail.acme.test")),
        ("o'neill@acme.test", Mailbox("", "o'neill@acme.test")),
    ],
)
def test_recipient_is_an_address_with_an_optional_name(written: str, recipient: Mailbox) -> None:
    assert mapping.outgoing_messages.recipients([written]) == [recipient]


ALIAS = SendAs(send_as_email="alias@x.test", display_name="Sales")
PRIMARY = SendAs(send_as_email="a@x.test", display_name="Ana", is_primary=True)


@pytest.mark.parametrize(
    ("addresses", "own"),
    [
        ([ALIAS], Mailbox("Sales", "alias@x.test")),
        ([ALIAS, PRIMARY], Mailbox("Ana", "a@x.test")),
    ],
)
def test_sender_is_the_connected_address(addresses: list[SendAs], own: Mailbox) -> None:
    assert mapping.outgoing_messages.own_mailbox(addresses) == own


@pytest.mark.parametrize(
    "addresses", [[], *([SendAs(send_as_email=address)] for address in ("", "a", "é@x.test", "a@x\r\nX: y"))]
)
def test_sender_address_invalid_in_a_header_is_unexpected(addresses: list[SendAs]) -> None:
    with pytest.raises(UpstreamUnexpected):
        mapping.outgoing_messages.own_mailbox(addresses)


@pytest.mark.parametrize("internal_date", ["", "soon", "1e9", "1795125600000000", "-99999999999999"])
def test_invalid_internal_date_is_rejected(internal_date: str) -> None:
    with pytest.raises(UnexpectedShape) as error:
        convert({"id": "1", "threadId": "1", "internalDate": internal_date}, vendor_models.Message)

    assert "internalDate" == error.value.json_path


@pytest.mark.parametrize("internal_date", ["0", "-9999999999999", "99999999999999"])
def test_internal_date_is_converted_to_a_datetime(internal_date: str) -> None:
    message = convert({"id": "1", "threadId": "1", "internalDate": internal_date}, vendor_models.Message)

    assert mapping.messages.message(message, {}).received_at.timestamp() * 1000 == int(internal_date)
