"""Parsing of RFC 822 bytes into a tree of parts. Bodies are decoded on first use."""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import collapse_rfc2231_value, decode_params, getaddresses, unquote
from functools import cached_property

FIELD = re.compile(r"^([!-9;-~]+)[ \t]*:[ \t]*(.*(?:\r?\n[ \t].*)*)", re.MULTILINE)
FOLD = re.compile(r"\r?\n(?=[ \t])")
PARAMETER = re.compile(r';\s*([^\s=;]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)')
MAX_DEPTH = 40
SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})


@dataclass
class Part:
    """One MIME part of ``raw``. Its body lies between ``start`` and ``end``."""

    raw: bytes
    start: int
    end: int
    part_id: str
    headers: list[tuple[str, str]]
    parent: "Part | None" = None
    parts: "list[Part]" = field(default_factory=list)

    def header(self, name: str) -> str | None:
        """Return the first header with that name, in any case, as it was sent and unfolded."""
        lower_name = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower_name), None)

    @cached_property
    def content_type(self) -> tuple[str, dict[str, str]]:
        """The media type in lower case, and its parameters."""
        media_type, params = parse_parameters(self.header("Content-Type") or "text/plain")
        return (media_type if media_type.count("/") == 1 else "text/plain"), params

    @cached_property
    def disposition(self) -> tuple[str, dict[str, str]]:
        """The disposition in lower case, empty if there is none, and its parameters."""
        return parse_parameters(self.header("Content-Disposition") or "")

    @property
    def mime_type(self) -> str:
        """The media type in lower case."""
        return self.content_type[0]

    @cached_property
    def filename(self) -> str:
        """The decoded file name, empty if there is none."""
        return self.disposition[1].get("filename") or self.content_type[1].get("name") or ""

    @property
    def content(self) -> bytes:
        """The body with its transfer encoding undone. The character set is not converted."""
        body = self.raw[self.start : self.end]
        encoding = (self.header("Content-Transfer-Encoding") or "").strip().lower()
        if encoding == "base64":
            return _decode_base64(body)
        return binascii.a2b_qp(body) if encoding == "quoted-printable" else body

    @cached_property
    def size(self) -> int:
        """The length of ``content``, zero for containers."""
        return 0 if self.mime_type.startswith("multipart/") else len(self.content)

    @property
    def text(self) -> str:
        """``content`` as text, decoded by the declared character set if it is supported."""
        charset = self.content_type[1].get("charset", "utf-8")
        try:
            return self.content.decode(charset)
        except (LookupError, ValueError):
            # A wrong charset is common in old mail. Readable text is better than an error.
            return self.content.decode("latin-1" if charset.lower() == "utf-8" else "utf-8", "replace")

    def walk(self, *, into_messages: bool = True) -> "Iterator[Part]":
        """Iterate over this part and all its descendants, depth first, in the order they were sent."""
        yield self
        if into_messages or self.mime_type != "message/rfc822":
            for part in self.parts:
                yield from part.walk(into_messages=into_messages)

    @property
    def is_attachment(self) -> bool:
        """Whether a mail reader would list this part as an attachment."""
        # A forwarded message is an attachment even without a file name.
        if self.mime_type == "message/rfc822":
            return True
        if self.parts or not (self.filename or self.disposition[0] == "attachment"):
            return False
        around = self.parent.mime_type if self.parent else ""
        is_inline = self.disposition[0] != "attachment" and self.header("Content-ID") is not None
        # An image within the text is not an attachment, although it has a file name.
        if around == "multipart/related" and self.mime_type.startswith("image/") and is_inline:
            return False
        if around == "multipart/alternative" and self.mime_type == "text/calendar":
            return False
        return not (around == "multipart/signed" and self.mime_type in SIGNATURES)

    @property
    def attachments(self) -> "list[Part]":
        """The attachments at and below this part, without those of attached messages."""
        return [part for part in self.walk(into_messages=False) if part.is_attachment]

    def find(self, part_id: str) -> "Part | None":
        """Return the part with that id."""
        return next((part for part in self.walk() if part.part_id == part_id), None)

    def body(self, mime_type: str) -> "Part | None":
        """Return the first leaf of that type that is text of the message itself."""
        leaves = (part for part in self.walk(into_messages=False) if part.mime_type == mime_type)
        return next((part for part in leaves if not part.filename and part.disposition[0] != "attachment"), None)

    def addresses(self, *names: str) -> list[tuple[str, str]]:
        """Return the display names and addresses in the named headers."""
        lower_names = {name.lower() for name in names}
        values = [value for key, value in self.headers if key.lower() in lower_names]
        return [(decode_words(name), address) for name, address in getaddresses(values) if address]


def parse(raw: bytes) -> Part:
    """Parse *raw* into a tree, with the vendor's part numbers: ``""``, ``"0"``, ``"0.1"``."""
    return _part(raw, 0, len(raw))


def parse_parameters(value: str) -> tuple[str, dict[str, str]]:
    """Return the bare value in lower case, and its parameters with RFC 2231 and RFC 2047 decoded."""
    bare, separator, rest = value.partition(";")
    pairs = [(name.lower(), text.strip()) for name, text in PARAMETER.findall(separator + rest)]
    if not any("*" in name for name, _ in pairs):
        return bare.strip().lower(), {name: decode_words(unquote(text)) for name, text in pairs}
    return bare.strip().lower(), {name: _collapse(text) for name, text in decode_params([("", ""), *pairs])[1:]}


def decode_words(value: str) -> str:
    """Return *value* with its RFC 2047 words decoded, or unchanged if they are damaged."""
    if "=?" not in value:
        return value
    try:
        return "".join(_decode_word(chunk, charset) for chunk, charset in decode_header(value))
    except (HeaderParseError, ValueError):
        return value


def split_sections(raw: bytes, start: int, end: int, boundary: bytes) -> list[tuple[int, int]]:
    """Return the start and end of the parts between the *boundary* lines, headers included."""
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for line_start, next_line, closes in _delimiters(raw, start, end, boundary):
        if opened is not None:
            spans.append((opened, max(opened, _before_newline(raw, line_start))))
        if closes:
            return spans
        opened = next_line
    if opened is not None:
        spans.append((opened, end))
    return spans


def split_head(raw: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the end of the headers that begin at *start*, and the start of the body."""
    for newline in (b"\r\n", b"\n"):
        if raw.startswith(newline, start, end):
            return start, start + len(newline)
    proper = raw.find(b"\r\n\r\n", start, end)
    bare = raw.find(b"\n\n", start, end if proper < 0 else proper)
    if bare >= 0:
        return bare, bare + 2
    return (end, end) if proper < 0 else (proper, proper + 4)


def read_headers(raw: bytes, start: int, end: int) -> list[tuple[str, str]]:
    """Return the names and unfolded values. Bytes beyond ASCII are decoded as Latin-1, as older mail systems do."""
    fields = FIELD.findall(raw[start:end].decode("latin-1"))
    return [(name, (FOLD.sub("", value) if "\n" in value else value).strip()) for name, value in fields]


def _part(raw: bytes, start: int, end: int, part_id: str = "", parent: Part | None = None) -> Part:
    head_end, body = split_head(raw, start, end)
    part = Part(raw, body, end, part_id, read_headers(raw, start, head_end), parent)
    if part_id.count(".") < MAX_DEPTH:
        prefix = f"{part_id}." if part_id else ""
        part.parts = [
            _part(raw, first, last, f"{prefix}{number}", part) for number, (first, last) in enumerate(_inner(part))
        ]
    return part


def _inner(part: Part) -> list[tuple[int, int]]:
    boundary = part.content_type[1].get("boundary")
    if part.mime_type.startswith("multipart/") and boundary:
        return split_sections(part.raw, part.start, part.end, boundary.encode("latin-1", "replace"))
    if part.mime_type == "message/rfc822":
        return [(part.start, part.end)]
    return []


def _delimiters(raw: bytes, start: int, end: int, boundary: bytes) -> Iterator[tuple[int, int, bool]]:
    dashes = b"--" + boundary
    at = raw.find(dashes, start, end)
    while at >= 0:
        line_end = raw.find(b"\n", at, end)
        next_line = end if line_end < 0 else line_end + 1
        rest = raw[at + len(dashes) : next_line].strip()
        if (at == start or raw[at - 1] == 0x0A) and rest in {b"", b"--"}:
            yield at, next_line, rest == b"--"
        at = raw.find(dashes, at + len(dashes), end)


def _before_newline(raw: bytes, at: int) -> int:
    return at - 2 if raw[at - 2 : at] == b"\r\n" else at - 1


def _decode_base64(body: bytes) -> bytes:
    try:
        return binascii.a2b_base64(body)
    except binascii.Error:
        digits = re.sub(rb"[^A-Za-z0-9+/]", b"", body)
        digits = digits[: len(digits) - (len(digits) % 4 == 1)]
        return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def _collapse(value: str | tuple[str | None, str | None, str]) -> str:
    if isinstance(value, tuple):
        return collapse_rfc2231_value((value[0], value[1], unquote(value[2])))
    return decode_words(unquote(value))


def _decode_word(chunk: bytes | str, charset: str | None) -> str:
    if isinstance(chunk, str):
        return chunk
    try:
        return chunk.decode(charset or "latin-1", "replace")
    except (LookupError, ValueError):
        return chunk.decode("latin-1")
