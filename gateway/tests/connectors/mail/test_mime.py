"""Parsing and serialization of mail, without a mailbox."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from connector_gateway.connectors.mail import mime
from connector_gateway.connectors.mail.mime import Mailbox, OutgoingMessage
from connector_gateway.connectors.mail.vendor_models import Content, Header, Part
from connector_gateway.kit.errors import UpstreamUnexpected
from harness.requirement import requirement


def part(kind: str, *parts: Part, part_id: str = "", filename: str = "", **headers: str) -> Part:
    header_fields = [Header(name=name.replace("_", "-"), value=value) for name, value in headers.items()]
    body = Content() if parts else Content(size=4, data=Raw(b'"%b"' % urlsafe_b64encode(kind.encode())))
    return Part(part_id=part_id, mime_type=kind, filename=filename, headers=header_fields, body=body, parts=parts)


TEXT, HTML = part("text/plain", part_id="0"), part("text/html", part_id="1")
LOGO = part("image/png", filename="logo.png", Content_ID="<logo>", Content_Disposition="inline")
ATTACHED_LOGO = part("image/png", filename="a", Content_ID="<a>", content_disposition="ATTACHMENT")
PDF = part("application/pdf", filename="plan.pdf")
INVITATION = part("text/calendar", filename="invite.ics")
SIGNATURE = part("application/pgp-signature", filename="signature.asc")
ATTACHED_HTML = part("text/html", Content_Disposition="ATTACHMENT; filename=x")
INNER = part("message/rfc822", part("multipart/mixed", TEXT, PDF))


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (TEXT, 0),
        (part("multipart/alternative", TEXT, HTML), 0),
        (part("multipart/mixed", TEXT, PDF), 1),
        (part("multipart/mixed", TEXT, LOGO), 1),
        (part("multipart/related", HTML, LOGO), 0),
        (part("multipart/related", HTML, replace(LOGO, headers=[])), 1),
        (part("multipart/related", HTML, ATTACHED_LOGO), 1),
        (part("multipart/related", HTML, PDF), 1),
        (part("multipart/alternative", TEXT, INVITATION), 0),
        (part("multipart/mixed", TEXT, INVITATION), 1),
        (part("multipart/signed", TEXT, SIGNATURE), 0),
        (part("multipart/mixed", TEXT, SIGNATURE), 1),
        (part("multipart/mixed", TEXT, ATTACHED_HTML), 1),
        (part("multipart/mixed", TEXT, INNER), 1),
        (PDF, 1),
        (Part(), 0),
    ],
)  # fmt: skip
def test_separate_files_are_attachments(payload: Part, count: int) -> None:
    assert len(mime.attachments(payload)) == count


FOOTER = part("text/plain", part_id="9")


@requirement("mail-5")
@pytest.mark.parametrize(
    ("payload", "mime_type", "expected"),
    [
        (TEXT, "text/plain", [TEXT]),
        (TEXT, "text/html", []),
        (part("multipart/alternative", TEXT, HTML), "text/html", [HTML]),
        (part("multipart/alternative", part("text/html"), part("multipart/related", HTML, LOGO)), "text/html", [HTML]),
        (part("multipart/related", HTML, part("text/html", part_id="9")), "text/html", [HTML]),
        (part("multipart/mixed", TEXT, FOOTER), "text/plain", [TEXT, FOOTER]),
        (part("multipart/mixed", TEXT, PDF, FOOTER), "text/plain", [TEXT, FOOTER]),
        (part("multipart/mixed", part("multipart/alternative", TEXT, HTML), PDF, FOOTER), "text/plain", [TEXT, FOOTER]),
        (part("multipart/mixed", part("multipart/alternative", TEXT, HTML), PDF, FOOTER), "text/html", [HTML]),
        (
            part("multipart/alternative", part("text/html"), part("multipart/mixed", HTML, PDF, HTML)),
            "text/html",
            [HTML, HTML],
        ),
        (part("multipart/mixed", ATTACHED_HTML, HTML), "text/html", [HTML]),
        (part("multipart/mixed", part("text/plain", filename="notes.txt")), "text/plain", []),
        (part("multipart/mixed", INNER), "text/plain", []),
        (Part(), "text/plain", []),
    ],
)
def test_body_consists_of_the_best_text_parts(payload: Part, mime_type: str, expected: list[Part]) -> None:
    assert expected == mime.body_parts(payload, mime_type)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [([], None), ([""], ""), (["one"], "one"), (["one", "two"], "one\ntwo"), (["one\n", "two\n"], "one\ntwo\n")],
)
def test_parts_of_a_body_start_on_new_lines(texts: list[str], expected: str | None) -> None:
    assert expected == mime.join_texts(texts)


@pytest.mark.parametrize("data", [b'"A"', b"1234", b"[1234]", b"true"])
def test_invalid_base64_content_is_unexpected(data: bytes) -> None:
    with pytest.raises(UpstreamUnexpected):
        mime.inline_content(Part(body=Content(size=1, data=Raw(data))))


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"", b""),
        (b"null", b""),
        (b'"_-8="', b"\xff\xef"),
        (b'"_\\u002d8\\u003d"', b"\xff\xef"),
        (b'"' + b"QUJD" * 40_000 + b'"', b"ABC" * 40_000),
    ],
)
def test_inline_content_is_decoded_in_either_alphabet(data: bytes, content: bytes) -> None:
    assert content == mime.inline_content(Part(body=Content(size=1, data=Raw(data))))


@pytest.mark.parametrize(
    ("content", "content_type", "text"),
    [
        ("Grüße".encode(), "text/plain; charset=utf-8", "Grüße"),
        ("Grüße".encode(), "text/plain", "Grüße"),
        ("Grüße".encode(), 'text/plain; charset="US-ASCII"', "Grüße"),
        ("Grüße".encode("latin-1"), "text/plain; charset=iso-8859-1", "Grüße"),
        ("Grüße".encode("latin-1"), "text/plain", "Grüße"),
        ("Grüße".encode("latin-1"), "text/plain; charset=x-unknown", "Grüße"),
        ("入港".encode("iso-2022-jp"), "text/plain; charset=ISO-2022-JP", "入港"),
        ("Grüße".encode("latin-1"), "text/plain; charset=utf-8", "Gr\ufffd\ufffde"),
        (b"plain", "text/plain; charset=hex", "plain"),
        (b"plain", "text/plain; charset=", "plain"),
        (b"a\r\nb", "text/plain;\r\n charset=utf-8", "a\nb"),
    ],
)
def test_text_is_decoded_by_its_character_set(content: bytes, content_type: str, text: str) -> None:
    assert mime.text(part("text/plain", Content_Type=content_type), content) == text


@pytest.mark.parametrize(
    ("value", "decoded"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        ("=?ISO-2022-JP?B?GyRCRn45QRsoQg==?= by", "入港 by"),
        ("=?utf-8?b?broken", "=?utf-8?b?broken"),
        ("=?x-unknown?q?a?=", "a"),
    ],
)
def test_encoded_and_decoded_headers_are_read(value: str, decoded: str) -> None:
    assert mime.header(part("text/plain", SUBJECT=value), "Subject") == decoded


def build_message(**more: Any) -> OutgoingMessage:
    fields: dict[str, Any] = {
        "sender": Mailbox("Nora Lind", "nora@brightfjord.test"),
        "to": [Mailbox("", "ben@acmefreight.test")],
        "subject": "Plan",
        "body_html": "<p>Hi</p>",
        "marker": ("X-Marker", "01ABC"),
        "written_at": datetime(2026, 11, 20, 8, tzinfo=UTC),
    }
    return OutgoingMessage(**(fields | more))


def test_message_is_serialized() -> None:
    assert (
        "From: Nora Lind <nora@brightfjord.test>\r\n"
        "To: ben@acmefreight.test\r\n"
        "Subject: Plan\r\n"
        "Date: Fri, 20 Nov 2026 08:00:00 +0000\r\n"
        "Message-ID: <01abc@brightfjord.test>\r\n"
        "X-Marker: 01ABC\r\n"
        "MIME-Version: 1.0\r\n"
        'Content-Type: multipart/alternative; boundary="=_01ABC"\r\n'
        "\r\n"
        "--=_01ABC\r\n"
        'Content-Type: text/plain; charset="utf-8"\r\n'
        "Content-Transfer-Encoding: base64\r\n"
        "\r\n"
        "SGk=\r\n"
        "\r\n"
        "--=_01ABC\r\n"
        'Content-Type: text/html; charset="utf-8"\r\n'
        "Content-Transfer-Encoding: base64\r\n"
        "\r\n"
        "PHA+SGk8L3A+\r\n"
        "\r\n"
        "--=_01ABC--\r\n"
    ) == mime.to_bytes(build_message()).decode()


@pytest.mark.parametrize(
    "name",
    ["", "Ben Roe", "Roe, Ben", 'The "Captain"', "Müller, Greta", "佐藤 由紀", "=?utf-8?q?trick?="],
)
def test_display_name_survives_a_round_trip(name: str) -> None:
    raw = mime.to_bytes(build_message(to=[Mailbox(name, "x@y.test"), Mailbox(name, "z@y.test")]))

    addresses = message_from_bytes(raw, policy=default)["To"].addresses
    assert [(name, "x@y.test"), (name, "z@y.test")] == [(each.display_name, each.addr_spec) for each in addresses]


@pytest.mark.parametrize(
    "subject", ["", "Plan", "Grüße", "重要" * 300, "long " * 300, "y" * 2000, "=?utf-8?q?a?=", "a =?b"]
)
def test_subject_survives_a_round_trip(subject: str) -> None:
    raw = mime.to_bytes(build_message(subject=subject))

    assert str(message_from_bytes(raw, policy=default)["Subject"]) == subject.strip()


def build_references(length: int) -> Sequence[str]:
    return [f"<{'A' * 80}{number}@outlook-shop.test>" for number in range(length)]


@pytest.mark.parametrize("length", [1, 2, 21])
def test_long_message_ids_are_not_folded(length: int) -> None:
    raw = mime.to_bytes(build_message(in_reply_to=build_references(length)[-1], references=build_references(length)))

    lines = raw.split(b"\r\n")
    parsed = message_from_bytes(raw, policy=default)
    assert str(parsed["References"]).split() == list(build_references(length))
    assert str(parsed["In-Reply-To"]) == build_references(length)[-1]
    assert max(map(len, lines)) < 998


def test_header_lines_are_within_the_length_limit() -> None:
    raw = mime.to_bytes(
        build_message(subject="重要案件" * 400, to=[Mailbox("Ü" * 300, f"a{n}@x.test") for n in range(500)])
    )

    assert max(len(line) for line in raw.split(b"\r\n")) < 998
    assert max(len(word) for word in raw.split() if word.startswith(b"=?")) <= 75
