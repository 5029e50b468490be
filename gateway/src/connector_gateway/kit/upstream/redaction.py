"""Redaction of a connection's secrets from everything that a vendor returns, in any encoding.

Vendors repeat what they were sent, for example in error messages, error pages and unexpected objects. The secrets are
known here, so they are searched for directly, and not by typical patterns of secrets.
"""

import html
import re
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from connector_gateway.kit.errors import GatewayError

REPLACEMENT = "…"
"""The text that replaces a secret."""

MIN_LENGTH = 8
"""Shorter texts would match ordinary words, and no vendor issues such short secrets."""

MIN_BASE64_LENGTH = 10
_BASE64 = "[A-Za-z0-9+/_=-]"
_TRUNCATION = "….'\"\\ )]}"
"""Characters that may follow a truncated text."""


class Redaction:
    """Hides the secrets that *secrets* returns. It is called once, when the first text is redacted."""

    def __init__(self, secrets: Callable[[], Iterable[str]] = tuple) -> None:
        self._secrets = secrets

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these *secrets* as well, from now on."""
        self._long_secrets = (*self._long_secrets, *_filter_long(secrets))
        # The pattern is rebuilt for the next text.
        vars(self).pop("_pattern", None)

    def text(self, text: str) -> str:
        """Return *text* without the secrets, whether plain, escaped, in Base64, or truncated at the end of the text."""
        if self._pattern is None or not text:
            return text
        return self._hide_truncated(self._pattern.sub(REPLACEMENT, text))

    def value(self, value: Any) -> Any:
        """Return a JSON value without the secrets, including in its names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(name): self.value(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value

    def error(self, error: GatewayError) -> None:
        """Hide the secrets in *error*: in its message, its private text, its details and its arguments."""
        if self._pattern is None:
            return
        error.message, error.private = self.text(error.message), self.text(error.private)
        error.details = [self.value(dict(detail)) for detail in error.details]
        error.args = tuple(self.value(argument) for argument in error.args)

    def traceback(self, error: BaseException) -> str:
        """Return the redacted traceback of *error*, for the log."""
        return self.text("".join(traceback.format_exception(error)).rstrip())

    @cached_property
    def _long_secrets(self) -> tuple[str, ...]:
        return tuple(_filter_long(self._secrets()))

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        forms = [form for secret in self._long_secrets for form in _patterns(secret)]
        # The longest come first, because a shorter one inside a longer one would leave the rest visible.
        return re.compile("|".join(sorted(forms, key=len, reverse=True)), re.IGNORECASE) if forms else None

    def _hide_truncated(self, text: str) -> str:
        """Return *text* without the beginning of a secret at its end, where the text was truncated."""
        stripped = text.rstrip(_TRUNCATION)
        for secret in self._long_secrets:
            for length in range(min(len(secret), len(stripped)), MIN_LENGTH - 1, -1):
                if stripped.endswith(secret[:length]):
                    return stripped[:-length] + REPLACEMENT
        return text


_ACTIVE: ContextVar[tuple[Redaction, ...]] = ContextVar("active redactions", default=())
"""The redactions of the connections that the current task works for."""


def activate_redaction(redaction: Redaction) -> None:
    """Activate *redaction* for the current task, replacing any other."""
    _ACTIVE.set((redaction,))


@contextmanager
def redacting(redaction: Redaction) -> Iterator[None]:
    """Activate *redaction* inside the context, in addition to those that are active."""
    token = _ACTIVE.set((*_ACTIVE.get(), redaction))
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def redact(value: Any) -> Any:
    """Return a JSON value, such as a log line, without the secrets of all active redactions."""
    for redaction in _ACTIVE.get():
        value = redaction.value(value)
    return value


def _filter_long(secrets: Iterable[str]) -> Iterator[str]:
    return (secret for secret in secrets if len(secret) >= MIN_LENGTH)


def _patterns(secret: str) -> Iterator[str]:
    """Yield patterns for *secret* with each character possibly escaped, in hexadecimal, and in Base64."""
    yield "".join(map(_escape_pattern, secret))
    yield secret.encode().hex()
    # Base64 encodes three bytes at a time, so a secret inside a longer text is written in one of three ways. The
    # characters at its edges depend on the neighbouring bytes, so any character matches there.
    for offset in range(3):
        code = b64encode(b"\0" * offset + secret.encode()).decode().rstrip("=")
        inside = code[4 if offset else 0 : len(code) // 4 * 4]
        if len(inside) >= MIN_BASE64_LENGTH:
            yield f"{_BASE64}{{0,3}}{''.join(map(_base64_pattern, inside))}{_BASE64}{{0,4}}"


def _escape_pattern(character: str) -> str:
    """Return a pattern for the ways to write one character in JSON, in URLs and in HTML."""
    if character.isascii() and character.isalnum():
        return character
    code_point = ord(character)
    # URLs and JSON nested in each other are escaped repeatedly: ``%`` becomes ``%25``, ``\`` becomes ``\\``.
    alternatives = (
        rf"\\{{0,4}}{re.escape(character)}",
        r"\+" if character == " " else "",
        "".join(f"%(?:25)*{byte:02x}" for byte in character.encode()),
        "".join(rf"\\{{1,4}}x{byte:02x}" for byte in character.encode()),
        rf"\\{{1,4}}u{code_point:04x}",
        re.escape(html.escape(character)),
        f"&#0*{code_point};",
        f"&#x0*{code_point:x};",
    )
    return f"(?:{'|'.join(filter(None, alternatives))})"


def _base64_pattern(character: str) -> str:
    """Return a pattern for one character of Base64, of either alphabet."""
    if character.isalnum():
        return character
    other = {"+": "-", "/": "_"}[character]
    return f"(?:{_escape_pattern(character)}|{other})"
