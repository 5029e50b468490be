"""Writing of RFC 822 bytes: complete messages, and changes to single headers."""

import binascii
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formataddr, formatdate
from random import Random

from workspace_sandbox.mail.data.mime_parser import FIELD, split_head

LINE_BYTES = 57
"""The number of bytes that make one base64 line of 76 characters."""

FILLER = b"All work and no play makes a dull attachment; sixty bytes"
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MimeEntity:
    """An encoded MIME part: its headers and its body."""

    headers: Headers
    body: bytes

    def __bytes__(self) -> bytes:
        """Return the headers, a blank line and the body."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.headers)
        return lines.encode("latin-1", "replace") + b"\r\n" + self.body


def encode_word(text: str, charset: str = "utf-8") -> str:
    """Return *text* as a header value. Text beyond ASCII becomes one encoded word."""
    if text.isascii():
        return text
    return f"=?{charset.upper()}?B?{b64encode(text.encode(charset)).decode()}?="


def mailbox(name: str, address: str) -> str:
    """Return display name and address as one header value."""
    return f"{encode_word(name)} <{address}>" if not name.isascii() else formataddr((name, address))


def date(epoch_ms: int) -> str:
    """Return the time as a ``Date`` header."""
    return formatdate(epoch_ms // 1000, usegmt=True).replace("GMT", "+0000")


def text(
    content: str, subtype: str = "plain", charset: str = "utf-8", encoding: str = "base64", headers: Headers = ()
) -> MimeEntity:
    """Return a text part."""
    lines = content.replace("\r\n", "\n").replace("\n", "\r\n").encode(charset, "replace")
    return MimeEntity(
        [
            ("Content-Type", f'text/{subtype}; charset="{charset.upper()}"'),
            ("Content-Transfer-Encoding", encoding),
            *headers,
        ],
        TRANSFER[encoding](lines),
    )


def attachment(mime_type: str, content: bytes, name: str, disposition: str = "attachment") -> MimeEntity:
    """Return a file part. Its name is encoded as RFC 2047 words if necessary."""
    return file_part(mime_type, base64_lines(content), name, disposition)


def filler(mime_type: str, size: int, name: str) -> MimeEntity:
    """Return a file of *size* repeating bytes without building the decoded content in memory."""
    full_lines, rest = divmod(size, LINE_BYTES)
    lines = base64_lines(FILLER) * full_lines
    return file_part(mime_type, lines + base64_lines(FILLER[:rest]), name, "attachment")


def file_part(mime_type: str, lines: bytes, name: str, disposition: str) -> MimeEntity:
    """Return a file part whose content is already in base64 *lines*."""
    quoted_name = re.sub(r'(["\\])', r"\\\1", encode_word(name))
    headers = [
        ("Content-Type", f'{mime_type}; name="{quoted_name}"'),
        ("Content-Disposition", f'{disposition}; filename="{quoted_name}"'),
        ("Content-Transfer-Encoding", "base64"),
    ]
    return MimeEntity(headers, lines)


def multipart(kind: str, boundary: str, *parts: MimeEntity, extra: str = "") -> MimeEntity:
    """Combine parts into a multipart entity of *kind* (``mixed``, ``alternative`` …)."""
    dashes = b"--" + boundary.encode()
    body = b"".join(dashes + b"\r\n" + bytes(part) + b"\r\n" for part in parts) + dashes + b"--\r\n"
    return MimeEntity([("Content-Type", f'multipart/{kind}; boundary="{boundary}"{extra}')], body)


def build_message(headers: Headers, content: MimeEntity) -> bytes:
    """Return a complete message: the envelope's *headers*, followed by *content* with its own."""
    return bytes(MimeEntity([*headers, ("MIME-Version", "1.0"), *content.headers], content.body))


def base64_lines(content: bytes) -> bytes:
    """Return *content* in base64 lines of 76 characters."""
    encoded = b64encode(content)
    return b"".join(encoded[at : at + 76] + b"\r\n" for at in range(0, len(encoded), 76))


def quoted_lines(content: bytes) -> bytes:
    """Return *content* as quoted-printable text."""
    return binascii.b2a_qp(content, istext=True)


TRANSFER: Mapping[str, Callable[[bytes], bytes]] = {
    "base64": base64_lines,
    "quoted-printable": quoted_lines,
    "7bit": bytes,
    "8bit": bytes,
}


def with_crlf(raw: bytes) -> bytes:
    """Return *raw* with CRLF line endings."""
    # Most mail has CRLF line endings already. Skip the copy, which large attachments make expensive.
    if raw.count(b"\n") == raw.count(b"\r\n"):
        return raw
    return re.sub(rb"(?<!\r)\n", b"\r\n", raw)


def replace_headers(raw: bytes, headers: Mapping[str, str | None], on_top: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return *raw* with *headers* replaced and others put *on_top*. New headers go last, and None removes one."""
    head_end, body = split_head(raw, 0, len(raw))
    replaced = {name.lower(): _line(name, value) for name, value in headers.items()}
    lines = [_line(name, value) for name, value in on_top]
    for match in FIELD.finditer(raw[:head_end].decode("latin-1")):
        key = match[1].lower()
        if key in replaced:
            lines.append(replaced[key])
            replaced[key] = b""
        else:
            lines.append(match[0].rstrip("\r\n").encode("latin-1") + b"\r\n")
    return b"".join([*lines, *replaced.values()]) + b"\r\n" + raw[body:]


def _line(name: str, value: str | None) -> bytes:
    return b"" if value is None else f"{name}: {value}\r\n".encode("latin-1", "replace")


def trace_headers(random: Random, recipient: str, sender: str, at: int) -> list[tuple[str, str]]:
    """Return the trace headers that mail servers add on top of a message, the latest first."""
    stamp, domain, token = date(at), sender.rpartition("@")[2], f"{random.getrandbits(64):016x}"
    auth_results = f"spf=pass smtp.mailfrom={sender}; dkim=pass header.i=@{domain}; dmarc=pass header.from={domain}"
    return [
        ("Delivered-To", recipient),
        ("Received", f"by 2002:a05:6402:{token[:4]} with SMTP id {token}; {stamp}"),
        ("X-Google-Smtp-Source", f"AGHT+IF{token}"),
        ("X-Received", f"by 2002:a17:906:{token[4:8]} with SMTP id {token[::-1]}; {stamp}"),
        ("ARC-Seal", f"i=1; a=rsa-sha256; t={at // 1000}; cv=none; d=google.com; s=arc-20240605; b={token}"),
        ("ARC-Message-Signature", f"i=1; a=rsa-sha256; d=google.com; s=arc-20240605; bh={token}=; b={token}"),
        ("ARC-Authentication-Results", f"i=1; mx.google.com; {auth_results}"),
        ("Return-Path", f"<{sender}>"),
        ("Received", f"from mail.{domain} (mail.{domain}. [203.0.113.7]) by mx.google.com; {stamp}"),
        ("Received-SPF", f"pass (google.com: domain of {sender} designates 203.0.113.7 as permitted sender)"),
        ("Authentication-Results", f"mx.google.com; {auth_results}"),
        ("DKIM-Signature", f"v=1; a=rsa-sha256; c=relaxed/relaxed; d={domain}; s=s1; bh={token}=; b={token}"),
        ("X-Gm-Message-State", f"AOJu0Y{token}"),
        ("Received", f"from [198.51.100.20] by mail.{domain} with ESMTPSA id {token[:12]}; {stamp}"),
        ("X-Mailer", "Harbour Mail 7.2"),
        ("Feedback-ID", f"{token[:6]}:mail:{domain}"),
    ]
