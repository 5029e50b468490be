"""The search language of the emulator and its MIME parser, called directly."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.mail.data import mime_writer
from workspace_sandbox.mail.data.mail_delivery import MailTransport
from workspace_sandbox.mail.data.mime_parser import Part, parse
from workspace_sandbox.mail.data.search_query import read
from workspace_sandbox.mail.data.state import Mailbox

NOON = 1_795_176_000.0
"""2026-11-20T12:00:00Z."""

DAY = 86_400


def rfc822_bytes(number: int, headers: dict[str, str], body: str) -> bytes:
    written = {"From": "a@b.test", "To": "me@own.test", "Message-ID": f"<m{number}@own.test>", **headers}
    return mime_writer.build_message(list(written.items()), mime_writer.text(body, encoding="7bit"))


PDF = mime_writer.attachment("application/pdf", b"%PDF", "Plan 2026.pdf")
MESSAGES: dict[str, tuple[int, list[str], bytes]] = {
    "plan": (
        1,
        ["INBOX", "UNREAD", "Label_1", "CATEGORY_PERSONAL"],
        rfc822_bytes(1, {"From": "Ann Lee <ann@acme.test>", "Subject": "Harbour plan"}, "The quick brown fox jumps."),
    ),
    "child": (
        2,
        ["INBOX", "STARRED", "Label_2"],
        rfc822_bytes(2, {"Cc": "bob@acme.test"}, "See https://docs.google.com/document/d/1"),
    ),
    "sent": (
        3,
        ["SENT"],
        rfc822_bytes(3, {"From": "me@own.test", "To": "Zoë <zoe@x.test>", "Bcc": "hid@x.test"}, "Gruß"),
    ),
    "draft": (4, ["DRAFT"], rfc822_bytes(4, {"Subject": "planning ahead"}, "foo:bar at 10:30")),
    "spam": (5, ["SPAM"], rfc822_bytes(5, {"Subject": "Win"}, "fox")),
    "trash": (6, ["TRASH"], rfc822_bytes(6, {"Subject": "Old"}, "fox")),
    "news": (
        40,
        ["CATEGORY_PROMOTIONS", "IMPORTANT"],
        rfc822_bytes(7, {"List-Id": "<all.news.test>", "Delivered-To": "me@own.test"}, "harbour week"),
    ),
    "files": (
        400,
        ["CATEGORY_UPDATES"],
        mime_writer.build_message(
            [("From", "x@y.test"), ("To", "me@own.test"), ("Subject", mime_writer.encode_word("会議の資料"))],
            mime_writer.multipart(
                "mixed", "=_b", mime_writer.text("attached"), PDF, mime_writer.filler("image/png", 90_000, "a.png")
            ),
        ),
    ),
}


@pytest.fixture(scope="module")
def mailbox() -> Mailbox:
    stage = EmulatorContext(ManualClock(NOON))
    transport = MailTransport(stage.random, stage.clock.now, stage.knobs)
    created = transport.create_mailbox("me@own.test", "Me Own")
    for number, name in enumerate(("Clients", "Clients/Acme Freight"), 1):
        label = type(created.labels["INBOX"])(f"Label_{number}", name, "user", {})
        created.labels[label.id] = label
    for age, label_ids, raw in MESSAGES.values():
        created.add(raw, label_ids, int((NOON - age * DAY) * 1000))
    return created


def answers(mailbox: Mailbox, q: str) -> set[str]:
    names = {raw: name for name, (_, _, raw) in MESSAGES.items()}
    query = read(q, mailbox, NOON)
    return {names[message.raw] for message in mailbox.newest() if query.includes(message, everything=False)}


HIDDEN = {"spam", "trash"}
VISIBLE = set(MESSAGES) - HIDDEN


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", VISIBLE),
        ("   ", VISIBLE),
        ("harbour", {"plan", "news"}),
        ("HARBOUR", {"plan", "news"}),
        ("harb", set()),
        ("plan", {"plan", "files"}),
        ("quick fox", {"plan"}),
        ("quick AND fox", {"plan"}),
        ('"quick brown"', {"plan"}),
        ('"brown quick"', set()),
        ('"quick brown', {"plan"}),
        ("quick OR week", {"plan", "news"}),
        ("quick or week", set()),
        ("{quick week}", {"plan", "news"}),
        ("harbour quick OR week", {"plan", "news"}),
        ("harbour -quick", {"news"}),
        ("harbour -(quick OR week)", set()),
        ("(harbour) (quick", {"plan"}),
        ("harbour) quick", {"plan"}),
        ("+quick", {"plan"}),
        ("quick AROUND 2 fox", {"plan"}),
        ("quick AROUND 1 jumps", set()),
        ("gruß", {"sent"}),
        ("ann@acme.test", {"plan"}),
        ("資料", {"files"}),
        ("OR", VISIBLE),
        ("- quick", {"plan"}),
        ("a.png", {"files"}),
        ("from:ann", {"plan"}),
        ("from:ann@acme.test", {"plan"}),
        ("from:an@acme.test", set()),
        ("from:acme.test", {"plan"}),
        ('from:"ann lee"', {"plan"}),
        ("from:me", {"sent"}),
        ("-from:me in:inbox", {"plan", "child"}),
        ("from:(ann OR zoe)", {"plan"}),
        ("to:zoe", {"sent"}),
        ("to:me from:ann", {"plan"}),
        ("cc:bob", {"child"}),
        ("bcc:hid@x.test", {"sent"}),
        ("deliveredto:me@own.test", {"news"}),
        ("list:all.news.test", {"news"}),
        ("subject:plan", {"plan"}),
        ("subject:(harbour plan)", {"plan"}),
        ("subject:{harbour planning}", {"plan", "draft"}),
        ('subject:"plan harbour"', set()),
        ("has:attachment", {"files"}),
        ("-has:attachment in:inbox", {"plan", "child"}),
        ("has:document", {"child"}),
        ("has:youtube", set()),
        ("has:userlabels", {"plan", "child"}),
        ("has:nouserlabels in:inbox", set()),
        ("has:yellow-star", {"child"}),
        ("has:red-bang", set()),
        ("filename:pdf", {"files"}),
        ('filename:"plan 2026.pdf"', {"files"}),
        ("filename:plan", {"files"}),
        ("filename:csv", set()),
        ("label:clients", {"plan"}),
        ("label:clients-acme-freight", {"child"}),
        ('label:"Clients/Acme Freight"', {"child"}),
        ("label:inbox", {"plan", "child"}),
        ("label:nope", set()),
        ("in:inbox", {"plan", "child"}),
        ("in:sent", {"sent"}),
        ("in:drafts", {"draft"}),
        ("in:draft", {"draft"}),
        ("in:trash", {"trash"}),
        ("in:spam", {"spam"}),
        ("in:archive", {"news", "files"}),
        ("in:snoozed", set()),
        ("in:anywhere", set(MESSAGES)),
        ("in:anywhere fox", {"plan", "spam", "trash"}),
        ("in:clients", {"plan"}),
        ("-in:spam fox", {"plan"}),
        ("is:unread", {"plan"}),
        ("is:read in:inbox", {"child"}),
        ("is:starred", {"child"}),
        ("is:important", {"news"}),
        ("is:muted", set()),
        ("category:primary", {"plan"}),
        ("category:promotions", {"news"}),
        ("category:purchases", set()),
        ("after:2026/11/18", {"plan", "child"}),
        ("before:2026/11/18 in:anywhere", {"sent", "draft", "spam", "trash", "news", "files"}),
        (f"after:{int(NOON - DAY)}", {"plan"}),
        (f"before:{int(NOON - DAY)} in:inbox", {"child"}),
        ("newer:2026-11-18 older:11/19/2026", {"child"}),
        ("after:nonsense", VISIBLE),
        ("newer_than:2d", {"plan", "child"}),
        ("newer_than:36h", {"plan"}),
        ("older_than:1m", {"news", "files"}),
        ("older_than:1y", {"files"}),
        ("newer_than:soon", VISIBLE),
        ("larger:100K", {"files"}),
        ("size:100000", {"files"}),
        ("larger:10M", set()),
        ("smaller:1K in:sent", {"sent"}),
        ("rfc822msgid:<m1@own.test>", {"plan"}),
        ("rfc822msgid:m1@own.test", {"plan"}),
        ("rfc822msgid:m@own.test", set()),
        ("foo:bar", {"draft"}),
        ("10:30", {"draft"}),
        ("unknown:thing", set()),
        ("(" * 5000 + "quick", {"plan"}),
        ("-" * 5001 + "quick", {"plan"}),
    ],
)
def test_a_query_returns_the_matching_messages(mailbox: Mailbox, q: str, expected: set[str]) -> None:
    assert expected == answers(mailbox, q)


def test_dates_begin_at_midnight_pacific_time(mailbox: Mailbox) -> None:
    midnight = read("after:2026/11/19", mailbox, NOON)
    at = {message.internal_date for message in mailbox.newest() if midnight.matches(message)}

    assert {int((NOON - DAY) * 1000)} == at


def shape(part: Part) -> Any:
    return [part.part_id, part.mime_type, *map(shape, part.parts)]


@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_a_mime_tree_is_parsed_with_any_newlines(newline: bytes) -> None:
    lines = [
        b"Content-Type: multipart/mixed;",
        b'\tboundary="b 1"',
        b"",
        b"preamble",
        b"--b 1",
        b"",
        b"plain",
        b"--b 1  ",
        b"content-type: MULTIPART/Alternative; Boundary=b2",
        b"",
        b"--b2",
        b"Content-Type: text/html",
        b"",
        b"<p>--b 1 is no boundary here",
        b"--b2--",
        b"--b 1--",
        b"epilogue",
        b"--b 1",
        b"",
        b"",
    ]
    root = parse(newline.join(lines))

    assert ["", "multipart/mixed", ["0", "text/plain"], ["1", "multipart/alternative", ["1.0", "text/html"]]] == shape(
        root
    )
    assert [b"plain", b"<p>--b 1 is no boundary here"] == [part.content for part in root.walk() if not part.parts]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", ["", "text/plain"]),
        (b"\r\nbody", ["", "text/plain"]),
        (b"Subject: only a head", ["", "text/plain"]),
        (b"Content-Type: multipart/mixed\r\n\r\nno boundary", ["", "multipart/mixed"]),
        (
            b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nnever closed",
            ["", "multipart/mixed", ["0", "text/plain"]],
        ),
        (b"Content-Type: nonsense\r\n\r\nx", ["", "text/plain"]),
        (b"Content-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\nx", ["", "message/rfc822", ["0", "text/plain"]]),
    ],
)
def test_damaged_messages_are_parsed_partly(raw: bytes, expected: list[Any]) -> None:
    assert expected == shape(parse(raw))


def test_excessive_nesting_is_cut_off() -> None:
    root = parse(b"Content-Type: message/rfc822\r\n\r\n" * 500)

    assert len(list(root.walk())) < 50


@pytest.mark.parametrize(
    ("encoding", "body", "expected"),
    [
        (b"base64", b"SGVsbG8=", b"Hello"),
        (b"BASE64", b"SGVs\r\nbG8", b"Hello"),
        (b"base64", b"SGVsbG8*", b"Hello"),
        (b"quoted-printable", b"Gr=FC=\r\nn", b"Gr\xfcn"),
        (b"8bit", b"Gr\xfcn", b"Gr\xfcn"),
        (b"x-unknown", b"as it is", b"as it is"),
    ],
)
def test_transfer_encodings_are_decoded(encoding: bytes, body: bytes, expected: bytes) -> None:
    assert expected == parse(b"Content-Transfer-Encoding: " + encoding + b"\r\n\r\n" + body).content


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"attachment; filename=plain.txt", "plain.txt"),
        (b'attachment; filename="a; b \\"c\\".txt"', 'a; b "c".txt'),
        (b"attachment; filename==?utf-8?B?w7wudHh0?=", "ü.txt"),
        (b"attachment; filename*=utf-8''%C3%BC.txt", "ü.txt"),
        (b"attachment; filename*=iso-8859-1'de'%FC.txt", "ü.txt"),
        (b"attachment;\r\n filename*0*=utf-8''%C3%BC;\r\n filename*1=.tar;\r\n filename*2=.gz", "ü.tar.gz"),
        (b"attachment; filename*=nonsense''%FC", "\xfc"),
        (b"attachment; filename*=broken", "broken"),
        (b"attachment", ""),
    ],
)
def test_file_names_are_parsed(value: bytes, expected: str) -> None:
    assert expected == parse(b"Content-Disposition: " + value + b"\r\n\r\n").filename


def test_headers_are_changed_in_place() -> None:
    raw = b"To: a@b.test\r\nX-Long: one\r\n two\r\nBcc: c@d.test\r\nBCC: e@f.test\r\n\r\nbody\r\n"

    changed = mime_writer.replace_headers(raw, {"bcc": None, "To": "new@b.test", "Date": "now"}, [("First", "top")])

    assert b"First: top\r\nTo: new@b.test\r\nX-Long: one\r\n two\r\nDate: now\r\n\r\nbody\r\n" == changed
