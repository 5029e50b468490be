"""MIME: the parts of received messages, and the bytes of outgoing ones."""

import re
from base64 import encodebytes
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.errors import HeaderParseError
from email.header import Header, decode_header
from email.message import Message
from email.utils import format_datetime, formataddr
from io import BytesIO
from string import ascii_letters

from msgspec import Raw
from msgspec.structs import replace

from connector_gateway.connectors.mail.html_text import html_to_text
from connector_gateway.connectors.mail.vendor_models import Message as WireMessage
from connector_gateway.connectors.mail.vendor_models import Part
from connector_gateway.kit.errors import UpstreamUnexpected
from connector_gateway.kit.vendor_model import decode_json

NO_PARENT = Part()
"""The parent of the outermost part."""

SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})

DECODED_BYTES = 64 * 1024
NO_DATA = {b"", b"null"}
TO_STANDARD = bytes.maketrans(b"-_", b"+/")
NO_BASE64 = bytes(set(range(256)) - set(b"-_+/0123456789" + ascii_letters.encode()))
"""Bytes that decoding ignores: line ends, padding and all other characters outside both alphabets."""


# Received messages


def header(part: Part, name: str) -> str:
    """Return the first header of that name, ignoring case, or an empty string."""
    lowered = name.lower()
    return next(
        (decode_header_value(candidate.value) for candidate in part.headers if candidate.name.lower() == lowered), ""
    )


def decode_header_value(value: str) -> str:
    """Return *value* with the encoded words decoded that the vendor left."""
    if "=?" not in value:
        return value
    try:
        return "".join(
            chunk if isinstance(chunk, str) else decode_text(chunk, charset or "")
            for chunk, charset in decode_header(value)
        )
    except (HeaderParseError, ValueError):
        return value


def decode_text(content: bytes, charset: str) -> str:
    """Decode *content* by its character set, or by the most likely one if it is missing or unknown."""
    try:
        # Programs that ignore character sets declare ASCII but mostly send UTF-8.
        if charset.lower() not in {"", "us-ascii", "ascii"}:
            return content.decode(charset, "replace")
    except (LookupError, ValueError):
        pass
    try:
        return content.decode("utf-8")
    except ValueError:
        # Latin-1 decodes any bytes, and a few wrong characters are better than no text.
        return content.decode("latin-1")


def leaf_parts(part: Part, around: Part = NO_PARENT) -> Iterator[tuple[Part, Part]]:
    """Yield the parts that contain no parts, each with its parent. An attached message counts as one part."""
    # The parts of an attached message do not belong to the message around it.
    inner = () if part.mime_type == "message/rfc822" else part.parts
    if not inner:
        yield part, around
    for below in inner:
        yield from leaf_parts(below, part)


def attachments(payload: Part) -> list[Part]:
    """Return the parts that a reader would call attachments."""
    return [part for part, around in leaf_parts(payload) if is_attachment(part, around)]


def is_attachment(part: Part, around: Part) -> bool:
    """Return True if *part*, within *around*, is a separate file and no piece of the text."""
    kind, outer = part.mime_type, around.mime_type
    if kind == "message/rfc822":
        return True
    if kind.startswith("multipart/") or not (part.filename or _disposition(part) == "attachment"):
        return False
    is_inline = _disposition(part) != "attachment" and header(part, "Content-ID")
    # A picture that the HTML displays inline, such as the logo below a signature.
    if outer == "multipart/related" and kind.startswith("image/") and is_inline:
        return False
    # An invitation among the alternatives is one more form of the text.
    if outer == "multipart/alternative" and kind == "text/calendar":
        return False
    return not (outer == "multipart/signed" and kind in SIGNATURES)


def find(payload: Part, part_id: str) -> Part | None:
    """Return the file with that identifier, at any depth."""
    if payload.part_id == part_id:
        return None if payload.mime_type.startswith("multipart/") else payload
    return next((match for inner in payload.parts if (match := find(inner, part_id))), None)


def files(part: Part) -> Iterator[Part]:
    """Yield the parts, at any depth, whose content has its own download."""
    if part.body.attachment_id:
        yield part
    for below in part.parts:
        yield from files(below)


def drop_texts(message: WireMessage) -> WireMessage:
    """Return *message* without the texts of its parts, to free their memory."""
    return replace(message, payload=_without_text(message.payload))


def _without_text(part: Part) -> Part:
    return replace(part, body=replace(part.body, data=Raw()), parts=[_without_text(below) for below in part.parts])


def body_parts(part: Part, mime_type: str) -> Sequence[Part]:
    """Return the parts with the message's text in *mime_type*, in order. Text after a file belongs to the file.

    Of alternatives the last is the best. Of related parts the first contains the others.
    """
    if part.mime_type == "message/rfc822":
        return []
    if not part.parts:
        is_text = part.mime_type == mime_type and not part.filename and _disposition(part) != "attachment"
        return [part] if is_text else []
    inner_texts = [inner_parts for inner in part.parts if (inner_parts := body_parts(inner, mime_type))]
    if part.mime_type == "multipart/alternative":
        return inner_texts[-1] if inner_texts else []
    if part.mime_type == "multipart/related":
        return inner_texts[0] if inner_texts else []
    return [inner_parts for inner in inner_texts for inner_parts in inner]


def join_texts(texts: Sequence[str]) -> str | None:
    """Return texts as one, each on its own lines, or None if there are none."""
    if not texts:
        return None
    *before, last = texts
    return "".join([*(text if text.endswith("\n") else f"{text}\n" for text in before), last])


def size(part: Part) -> int:
    """Return the size of a part: the vendor's number, or the size of the inline content if that is larger."""
    return max(part.body.size, len(memoryview(part.body.data)) // 4 * 3)


def inline_content(part: Part) -> bytes | None:
    """Return the bytes included in a part, or None if they have to be fetched."""
    data = memoryview(part.body.data)
    if bytes(data[:5]) in NO_DATA:
        return None if part.body.attachment_id else b""
    try:
        return _from_base64(_unescape(data))
    except ValueError as error:
        raise UpstreamUnexpected("The vendor sent content that cannot be decoded.", private=str(error)) from error


def _unescape(data: memoryview) -> memoryview:
    """Return the characters of *data*, a JSON string. Raises ``ValueError`` for anything else."""
    # Base64 needs no escapes, but a vendor may escape "=".
    if bytes(data[:1]) == b'"' and not any(b"\\" in piece for piece in _pieces(data)):
        return data
    return memoryview(decode_json(bytes(data), str).encode())


def _pieces(data: memoryview) -> Iterator[bytes]:
    for start in range(0, len(data), DECODED_BYTES):
        yield bytes(data[start : start + DECODED_BYTES])


def _from_base64(data: memoryview) -> bytes:
    """Decode *data* piece by piece, because decoding a large text in one step would keep copies of it in memory."""
    content, rest = BytesIO(), b""
    for piece in _pieces(data):
        pending = rest + piece.translate(TO_STANDARD, NO_BASE64)
        complete = len(pending) // 4 * 4
        content.write(a2b_base64(pending[:complete]))
        rest = pending[complete:]
    content.write(a2b_base64(rest + b"=" * (-len(rest) % 4)))
    # No copy, unlike joining a list of pieces.
    return content.getvalue()


def text(part: Part, content: bytes) -> str:
    """Return the *content* of a text part as text, with plain line ends."""
    described = Message()
    described["Content-Type"] = " ".join(header(part, "Content-Type").split())
    charset = described.get_param("charset", "")
    return decode_text(content, charset if isinstance(charset, str) else "").replace("\r\n", "\n")


def _disposition(part: Part) -> str:
    return header(part, "Content-Disposition").partition(";")[0].strip().lower()


# Outgoing messages


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address and its display name."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message to be sent."""

    sender: Mailbox
    to: Sequence[Mailbox]
    subject: str
    body_html: str
    marker: tuple[str, str]
    """The header that identifies the message."""

    written_at: datetime
    in_reply_to: str = ""
    references: Sequence[str] = field(default=())


def to_bytes(message: OutgoingMessage) -> bytes:
    """Return *message* in the format of RFC 5322, with a plain-text alternative to its HTML.

    Headers are folded here, because the standard library breaks long identifiers and encoded words at wrong positions.
    """
    _, token = message.marker
    headers = [
        ("From", _mailbox(message.sender)),
        ("To", ",\r\n ".join(map(_mailbox, message.to))),
        ("Subject", _encode(message.subject, "Subject")),
        ("Date", format_datetime(message.written_at)),
        ("Message-ID", f"<{token.lower()}@{message.sender.address.rpartition('@')[2]}>"),
        message.marker,
        *([("In-Reply-To", message.in_reply_to)] if message.in_reply_to else []),
        *([("References", "\r\n ".join(message.references))] if message.references else []),
        ("MIME-Version", "1.0"),
        ("Content-Type", f'multipart/alternative; boundary="=_{token}"'),
    ]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    parts = [("plain", html_to_text(message.body_html)), ("html", message.body_html)]
    body = "".join(f"--=_{token}\r\n{_text_part(kind, content)}\r\n" for kind, content in parts)
    return f"{head}\r\n{body}--=_{token}--\r\n".encode("ascii")


def _text_part(kind: str, content: str) -> str:
    lines = re.sub(r"\r\n|\r|\n", "\r\n", content).encode()
    # Always base64: lines of the text may exceed RFC 5322's limit, and some servers do not accept 8-bit data.
    encoded = encodebytes(lines).decode().replace("\n", "\r\n")
    return f'Content-Type: text/{kind}; charset="utf-8"\r\nContent-Transfer-Encoding: base64\r\n\r\n{encoded}'


def _mailbox(mailbox: Mailbox) -> str:
    name = " ".join(mailbox.name.split())
    # Readers would decode a name that looks like an encoded word.
    if name.isascii() and "=?" not in name:
        return formataddr((name, mailbox.address))
    return f"{_encode_words(name, 'To')} <{mailbox.address}>"


def _encode(value: str, name: str) -> str:
    """Return *value*, in encoded words if it is not ASCII, looks like encoded words, or is too long."""
    line = " ".join(value.split())
    if line.isascii() and "=?" not in line and len(line) < MAX_PLAIN_LINE:
        return line
    return _encode_words(line, name)


def _encode_words(line: str, name: str) -> str:
    """Return *line* in encoded words, folded for the header of that name."""
    return Header(line, "utf-8", maxlinelen=MAX_WORD, header_name=name).encode(linesep="\r\n")


MAX_WORD = 75
"""The maximum length of an encoded word in RFC 2047."""

MAX_PLAIN_LINE = 900
"""The maximum length of an unencoded line. RFC 5322 allows 998 characters."""
