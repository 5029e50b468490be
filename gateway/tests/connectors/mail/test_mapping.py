"""Between the vendor's JSON and our shapes, without a mailbox."""

import pytest

from connector_gateway.connectors.mail import mapping, wire
from connector_gateway.connectors.mail.mime import Mailbox
from connector_gateway.connectors.mail.wire import SendAs
from connector_gateway.kit.errors import AttachmentNotFound, ThreadNotFound, UpstreamUnexpected
from connector_gateway.kit.wire import UnexpectedShape, convert

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
def test_a_label_is_found_exactly_or_but_for_case(name: str, label_id: str | None) -> None:
    assert mapping.labels.label_id(NAMES, name) == label_id


@pytest.mark.parametrize("part_id", ["", "0", "1.0.2"])
def test_a_name_of_an_attachment_leads_back_to_its_part(part_id: str) -> None:
    name = mapping.attachments.attachment_id("19a3f0c2b7d4e851", part_id)

    assert name.startswith("att_")
    assert mapping.attachments.part_id(name, "19a3f0c2b7d4e851") == part_id


def test_a_name_of_the_vendors_leads_to_no_part_of_ours() -> None:
    assert mapping.attachments.part_id("ANGjdJ8", "19a3f0c2b7d4e851") is None


@pytest.mark.parametrize(
    "name", ["att_", "att_A", "att_____", mapping.attachments.attachment_id("19a3f0c2b7d4e852", "1")]
)
def test_a_name_of_another_message_is_refused(name: str) -> None:
    with pytest.raises(AttachmentNotFound):
        mapping.attachments.part_id(name, "19a3f0c2b7d4e851")


def message(at: int, *labels: str, **headers: str) -> wire.Message:
    written = [wire.Header(name=name.replace("_", "-"), value=value) for name, value in headers.items()]
    payload = wire.Part(headers=written)
    return wire.Message(id=str(at), thread_id="t", internal_date=str(at), label_ids=labels, payload=payload)


@pytest.mark.parametrize(
    ("messages", "parent"),
    [
        (
            [message(1, Subject="Plan", Message_ID="<a@x>")],
            mapping.outgoing.ReplyTarget("Re: Plan", "<a@x>", ["<a@x>"]),
        ),
        (
            [message(1, Subject="re: Plan", Message_Id="<a@x>")],
            mapping.outgoing.ReplyTarget("re: Plan", "<a@x>", ["<a@x>"]),
        ),
        ([message(1, Subject="", Message_ID="<a@x>")], mapping.outgoing.ReplyTarget("Re:", "<a@x>", ["<a@x>"])),
        ([message(1, SUBJECT="Plan")], mapping.outgoing.ReplyTarget("Re: Plan")),
        (
            [message(1, Subject="Plan", Message_ID="<b@x>", References="<a@x>\r\n <r@x>")],
            mapping.outgoing.ReplyTarget("Re: Plan", "<b@x>", ["<a@x>", "<r@x>", "<b@x>"]),
        ),
        (
            [message(1, Subject="Plan", Message_ID="<b@x>", In_Reply_To="<a@x> (by Ben)")],
            mapping.outgoing.ReplyTarget("Re: Plan", "<b@x>", ["<a@x>", "<b@x>"]),
        ),
        (
            [message(2, Subject="Two", Message_ID="<b@x>"), message(1, Subject="One", Message_ID="<a@x>")],
            mapping.outgoing.ReplyTarget("Re: Two", "<b@x>", ["<b@x>"]),
        ),
        (
            [
                message(1, Subject="One", Message_ID="<a@x>"),
                message(2, "DRAFT", Subject="Two", Message_ID="<b@x>"),
                message(3, "TRASH", Subject="Three", Message_ID="<c@x>"),
            ],
            mapping.outgoing.ReplyTarget("Re: One", "<a@x>", ["<a@x>"]),
        ),
        ([message(1, Subject="Plan", Message_ID="<é@x> <a b@x>")], mapping.outgoing.ReplyTarget("Re: Plan")),
    ],
)
def test_a_reply_follows_the_last_message_that_counts(
    messages: list[wire.Message], parent: mapping.outgoing.ReplyTarget
) -> None:
    found = mapping.outgoing.parent(wire.Thread(messages=messages), "t")

    assert (found.subject, found.message_id, list(found.references)) == (
        parent.subject,
        parent.message_id,
        list(parent.references),
    )


def test_a_long_chain_keeps_its_first_and_its_last_identifiers() -> None:
    chain = [f"<{number}@x>" for number in range(60)]

    found = mapping.outgoing.parent(
        wire.Thread(messages=[message(1, Message_ID="<60@x>", References=" ".join(chain))]), "t"
    )

    assert list(found.references) == ["<0@x>", *chain[41:], "<60@x>"]


@pytest.mark.parametrize("messages", [[], [message(1, "DRAFT")], [message(1, "TRASH", "INBOX")]])
def test_a_thread_without_a_message_that_counts_is_none(messages: list[wire.Message]) -> None:
    with pytest.raises(ThreadNotFound):
        mapping.outgoing.parent(wire.Thread(messages=messages), "t")


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
def test_a_recipient_is_an_address_perhaps_with_a_name(written: str, recipient: Mailbox) -> None:
    assert mapping.outgoing.recipients([written]) == [recipient]


ALIAS = SendAs(send_as_email="alias@x.test", display_name="Sales")
PRIMARY = SendAs(send_as_email="a@x.test", display_name="Ana", is_primary=True)


@pytest.mark.parametrize(
    ("addresses", "own"),
    [
        ([ALIAS], Mailbox("Sales", "alias@x.test")),
        ([ALIAS, PRIMARY], Mailbox("Ana", "a@x.test")),
    ],
)
def test_mail_is_sent_from_the_connected_address(addresses: list[SendAs], own: Mailbox) -> None:
    assert mapping.outgoing.own_mailbox(addresses) == own


@pytest.mark.parametrize(
    "addresses", [[], *([SendAs(send_as_email=odd)] for odd in ("", "a", "é@x.test", "a@x\r\nX: y"))]
)
def test_an_address_that_fits_no_header_is_not_sent_from(addresses: list[SendAs]) -> None:
    with pytest.raises(UpstreamUnexpected):
        mapping.outgoing.own_mailbox(addresses)


@pytest.mark.parametrize("told", ["", "soon", "1e9", "1795125600000000", "-99999999999999"])
def test_an_instant_that_is_none_is_not_decoded(told: str) -> None:
    with pytest.raises(UnexpectedShape) as refused:
        convert({"id": "1", "threadId": "1", "internalDate": told}, wire.Message)

    assert "internalDate" == refused.value.json_path


@pytest.mark.parametrize("told", ["0", "-9999999999999", "99999999999999"])
def test_an_instant_that_is_decoded_is_one(told: str) -> None:
    message = convert({"id": "1", "threadId": "1", "internalDate": told}, wire.Message)

    assert mapping.messages.message(message, {}).received_at.timestamp() * 1000 == int(told)
