"""A connection's own secrets taken out of everything that a third party says, however it writes them.

Third parties repeat what they were sent: in sentences of refusal, in error pages, in objects that nobody expected. The
secrets are known here, so they are looked for as such, and not by what secrets usually look like.
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

HIDDEN = "…"
"""Stands where a secret was."""

LEAST_LENGTH = 8
"""Shorter texts are in everything that anybody says; no third party issues secrets as short."""

LEAST_BASE64 = 10
_BASE64 = "[A-Za-z0-9+/_=-]"
_CUT_OFF = "….'\"\\ )]}"
"""What may follow a text that was cut."""


class Redaction:
    """Hides the secrets that *secrets* gives; it is asked once, and only when something is said."""

    def __init__(self, secrets: Callable[[], Iterable[str]] = tuple) -> None:
        self._secrets = secrets

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these *secrets* as well, from now on."""
        self._known = (*self._known, *_long(secrets))
        # It is made anew when something is said next.
        vars(self).pop("_pattern", None)

    def text(self, text: str) -> str:
        """*text* without the secrets: as they are, escaped, or in Base64; one that a cut left half of is one too."""
        if self._pattern is None or not text:
            return text
        return self._without_beginning(self._pattern.sub(HIDDEN, text))

    def value(self, value: Any) -> Any:
        """A JSON value without the secrets, in names too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(name): self.value(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value

    def error(self, error: GatewayError) -> None:
        """Hide the secrets in all that *error* tells: to callers, to the log and to whoever prints it."""
        if self._pattern is None:
            return
        error.message, error.private = self.text(error.message), self.text(error.private)
        error.details = [self.value(dict(detail)) for detail in error.details]
        error.args = tuple(self.value(argument) for argument in error.args)

    def traceback(self, fault: BaseException) -> str:
        """How *fault* came about, for the log."""
        return self.text("".join(traceback.format_exception(fault)).rstrip())

    @cached_property
    def _known(self) -> tuple[str, ...]:
        return tuple(_long(self._secrets()))

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        forms = [form for secret in self._known for form in _forms(secret)]
        # The longest first: a shorter one that is a part of it would leave the rest standing.
        return re.compile("|".join(sorted(forms, key=len, reverse=True)), re.IGNORECASE) if forms else None

    def _without_beginning(self, text: str) -> str:
        """*text* without the beginning of a secret at its end, where somebody has cut it."""
        kept = text.rstrip(_CUT_OFF)
        for secret in self._known:
            for length in range(min(len(secret), len(kept)), LEAST_LENGTH - 1, -1):
                if kept.endswith(secret[:length]):
                    return kept[:-length] + HIDDEN
        return text


_IN_FORCE: ContextVar[tuple[Redaction, ...]] = ContextVar("redactions in force", default=())
"""Redactions of the connections that the present task works for."""


def conceal(redaction: Redaction) -> None:
    """Put *redaction* in force for the present task, in place of any other."""
    _IN_FORCE.set((redaction,))


@contextmanager
def concealing(redaction: Redaction) -> Iterator[None]:
    """Put *redaction* in force while inside, beside those that are."""
    token = _IN_FORCE.set((*_IN_FORCE.get(), redaction))
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


def hide(value: Any) -> Any:
    """Return a JSON value, such as a log line, without the secrets of all redactions in force."""
    for redaction in _IN_FORCE.get():
        value = redaction.value(value)
    return value


def _long(secrets: Iterable[str]) -> Iterator[str]:
    return (secret for secret in secrets if len(secret) >= LEAST_LENGTH)


def _forms(secret: str) -> Iterator[str]:
    """Patterns of the ways to write *secret*: each character maybe escaped, in hexadecimal, or inside of Base64."""
    yield "".join(map(_escaped, secret))
    yield secret.encode().hex()
    # Base64 takes three bytes at a time, so a secret inside of a longer text is written in one of three ways. The
    # characters at its edges depend on what stands beside it, and are matched by any.
    for offset in range(3):
        code = b64encode(b"\0" * offset + secret.encode()).decode().rstrip("=")
        inside = code[4 if offset else 0 : len(code) // 4 * 4]
        if len(inside) >= LEAST_BASE64:
            yield f"{_BASE64}{{0,3}}{''.join(map(_escaped_base64, inside))}{_BASE64}{{0,4}}"


def _escaped(character: str) -> str:
    """A pattern of the ways to write one character in JSON, in an address and in HTML."""
    if character.isascii() and character.isalnum():
        return character
    number = ord(character)
    # Addresses and JSON within each other are escaped again and again: ``%`` becomes ``%25``, ``\`` becomes ``\\``.
    ways = (
        rf"\\{{0,4}}{re.escape(character)}",
        r"\+" if character == " " else "",
        "".join(f"%(?:25)*{byte:02x}" for byte in character.encode()),
        "".join(rf"\\{{1,4}}x{byte:02x}" for byte in character.encode()),
        rf"\\{{1,4}}u{number:04x}",
        re.escape(html.escape(character)),
        f"&#0*{number};",
        f"&#x0*{number:x};",
    )
    return f"(?:{'|'.join(filter(None, ways))})"


def _escaped_base64(character: str) -> str:
    """A pattern of one character of Base64, of either alphabet."""
    if character.isalnum():
        return character
    other = {"+": "-", "/": "_"}[character]
    return f"(?:{_escaped(character)}|{other})"
