"""One message for each edge case that real mailboxes contain."""

from collections.abc import Sequence
from dataclasses import dataclass

from workspace_sandbox.mail.data.mime_writer import (
    Headers,
    MimeEntity,
    attachment,
    base64_lines,
    build_message,
    encode_word,
    filler,
    multipart,
    text,
)

INBOX = ("INBOX", "CATEGORY_PERSONAL")
FOLLOW_UP, ACME, INVOICES, OFFICE, URGENT_CASES = (
    "Label_7",
    "Label_2",
    "Label_4",
    "Label_12",
    "Label_8213470912345678901",
)
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489") + b"\x00" * 180
SURVEY_BYTES = 307_200
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
CSV = "container,port,arrives\r\nBFJU4410927,Bergen,2026-11-22\r\nBFJU4410931,Ålesund,2026-11-24\r\n".encode()
INNER = build_message(
    [("From", "Harbour Office <office@kaiwerk.test>"), ("To", "billing@acmefreight.test"), ("Subject", "Berth 14")],
    multipart(
        "mixed",
        "=_inner",
        text("Berth 14 is yours from noon.", encoding="7bit"),
        attachment("application/pdf", PDF, "berth.pdf"),
    ),
)
LONG_ID = f"<AM9PR08MB6{'0F7C2D51' * 7}@AM9PR08MB6123.eurprd08.prod.outlook.test>"


CONTINUED_NAME = (
    "attachment;\r\n filename*0*=utf-8''%C3%9Cbersicht%20Herbst%20;\r\n filename*1*=2026%20%E2%80%93%20Endfassung;"
    "\r\n filename*2=.pdf"
)


@dataclass(frozen=True)
class EdgeCaseMessage:
    """A message that covers one edge case."""

    subject: str | None
    sender: tuple[str, str]
    content: MimeEntity
    label_ids: Sequence[str] = INBOX
    headers: Headers = ()
    message_id: str = ""


BEN = ("Ben Roe", "ben@acmefreight.test")
GRETA = ("Greta Müller", "greta@kaiwerk.test")
YUKI = ("佐藤 由紀", "yuki@minato-line.test")

MANIFEST = EdgeCaseMessage(
    "Manifest for sailing 41",
    BEN,
    multipart(
        "mixed",
        "=_manifest",
        multipart(
            "alternative",
            "=_manifest_text",
            text("Manifest and arrivals attached. Please confirm the reefers by Friday."),
            text("<p>Manifest and <b>arrivals</b> attached.</p><p>Please confirm the reefers by Friday.</p>", "html"),
        ),
        attachment("application/pdf", PDF, "manifest-41.pdf"),
        attachment("text/csv", CSV, "arrivals.csv"),
    ),
    (*INBOX, "UNREAD", "IMPORTANT", ACME),
)
MANIFEST_PDF_PART = "1"
SURVEY = EdgeCaseMessage(
    "Quay survey 2026, full set",
    GRETA,
    multipart(
        "mixed",
        "=_survey",
        text("The whole survey, about 300 KB."),
        filler("application/zip", SURVEY_BYTES, "quay-survey.zip"),
    ),
)
EDGE_CASES: Sequence[EdgeCaseMessage] = (
    MANIFEST,
    SURVEY,
    EdgeCaseMessage(
        encode_word("Grüße aus Hamburg", "iso-8859-1"),
        GRETA,
        text("Schöne Grüße aus Hamburg, die Kaimauer hält.", charset="iso-8859-1", encoding="quoted-printable"),
        (*INBOX, OFFICE),
    ),
    EdgeCaseMessage(
        encode_word("入港予定のお知らせ", "iso-2022-jp"),
        YUKI,
        text("十一月二十二日に入港します。\nよろしくお願いします。", charset="iso-2022-jp", encoding="7bit"),
        (*INBOX, URGENT_CASES),
    ),
    EdgeCaseMessage(
        encode_word("Ship\u2019s bell 🔔 & <brass> fittings"),
        ("Ólafur Þór", "olafur@skipasmidi.test"),
        multipart(
            "alternative",
            "=_bell",
            text('Here\'s the "brass" offer: bells & <fittings> at €12 — naïve pricing 😀'),
            text("<p>Here&rsquo;s the offer: bells &amp; &lt;fittings&gt; at &euro;12</p>", "html"),
        ),
        (*INBOX, "STARRED"),
    ),
    EdgeCaseMessage(
        "New letterhead with logo",
        ("Design Desk", "desk@linjeform.test"),
        multipart(
            "related",
            "=_logo",
            text('<p>New letterhead:</p><img src="cid:logo@linjeform.test">', "html"),
            MimeEntity(
                [
                    ("Content-Type", 'image/png; name="logo.png"'),
                    ("Content-Transfer-Encoding", "base64"),
                    ("Content-ID", "<logo@linjeform.test>"),
                    ("Content-Disposition", 'inline; filename="logo.png"'),
                ],
                base64_lines(PIXEL),
            ),
            extra='; type="text/html"',
        ),
    ),
    EdgeCaseMessage(
        encode_word("Übersicht Herbst"),
        GRETA,
        multipart(
            "mixed",
            "=_names",
            text("Names in two old ways and one new."),
            MimeEntity(
                [
                    ("Content-Type", "application/pdf"),
                    (
                        "Content-Disposition",
                        CONTINUED_NAME,
                    ),
                    ("Content-Transfer-Encoding", "base64"),
                ],
                base64_lines(PDF),
            ),
            MimeEntity(
                [
                    ("Content-Type", 'application/pdf;\r\n name="=?UTF-8?Q?Entw=C3=BCrfe.pdf?="'),
                    ("Content-Transfer-Encoding", "base64"),
                ],
                base64_lines(PDF),
            ),
            MimeEntity(
                [("Content-Type", "text/html; name=plan.html"), ("Content-Disposition", "ATTACHMENT")], b"<p>Plan</p>"
            ),
        ),
    ),
    EdgeCaseMessage(
        "Fwd: Berth 14",
        BEN,
        multipart(
            "mixed",
            "=_forward",
            text("See below, with their original."),
            MimeEntity([("Content-Type", "message/rfc822"), ("Content-Disposition", "attachment")], INNER),
        ),
        (*INBOX, ACME),
    ),
    EdgeCaseMessage(
        "Invitation: Dry dock walk @ Thu 26 Nov 2026 10:00",
        GRETA,
        multipart(
            "alternative",
            "=_invite",
            text("Dry dock walk, Thursday at ten."),
            text("<p>Dry dock walk, Thursday at ten.</p>", "html"),
            MimeEntity(
                [("Content-Type", 'text/calendar; charset="UTF-8"; method=REQUEST; name="invite.ics"')],
                b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n",
            ),
        ),
    ),
    EdgeCaseMessage(
        "Signed: insurance terms",
        ("Legal", "legal@skjold-forsikring.test"),
        multipart(
            "signed",
            "=_signed",
            text("The terms stand as agreed.", encoding="7bit"),
            MimeEntity(
                [("Content-Type", 'application/pgp-signature; name="signature.asc"')],
                b"-----BEGIN PGP SIGNATURE-----\r\n\r\niQEz\r\n-----END PGP SIGNATURE-----\r\n",
            ),
            extra='; protocol="application/pgp-signature"',
        ),
    ),
    EdgeCaseMessage(None, BEN, MimeEntity([("Content-Type", "text/plain")], b""), ("INBOX", "UNREAD")),
    EdgeCaseMessage(
        "From a very old terminal",
        ("Terminal 3", "t3@kaiwerk.test"),
        MimeEntity([("Content-Type", "text/plain; charset=x-unknown")], b"K\xfchlung l\xe4uft.\r\n"),
        (),
    ),
    EdgeCaseMessage(
        "Only a rich form", BEN, text("<h1>Rich</h1><style>p{}</style><p>No plain form here.</p>", "html"), ()
    ),
    EdgeCaseMessage(
        "Many readers",
        BEN,
        text("To all of you.", encoding="7bit"),
        ("CATEGORY_PERSONAL",),
        [
            ("To", "list@acmefreight.test"),
            ("Cc", "Priya Raman <priya@brightfjord.test>"),
            ("List-Id", "<all.acmefreight.test>"),
        ],
    ),
    EdgeCaseMessage(
        "Berth fees, long thread ahead",
        ("Ole Outlook", "ole@outlook-shop.test"),
        text("My identifiers are long.", encoding="7bit"),
        (*INBOX, INVOICES, FOLLOW_UP),
        message_id=LONG_ID,
    ),
)
