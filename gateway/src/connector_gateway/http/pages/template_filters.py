"""Makes untrusted text safe to display: no invisible characters, and no effect on the direction of other text."""

import re
from datetime import datetime

from markupsafe import Markup, escape

INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, surrogates, and marks that change the direction of the following text.

Isolating elements do not contain directional marks, since a mark can end the isolation.
"""

CONTROL_SYMBOLS = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
"""Unicode's visible symbols for control characters."""

PAGES = {
    "run": "runs",
    "conn": "connections",
    "key": "keys",
    "wh": "webhooks",
    "ws": "workspaces",
    "opr": "operators",
}
"""Console pages by the prefix of an identifier."""

IDENTIFIER = re.compile(r"([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}")

QUOTED = re.compile(r"``?(.+?)``?")


def visible(value: object) -> object:
    """Return *value*. In text, invisible characters are replaced with visible symbols."""
    if not isinstance(value, str):
        return value
    text = INVISIBLE.sub(lambda match: CONTROL_SYMBOLS.get(ord(match[0]), "\ufffd"), value)
    return Markup(text) if isinstance(value, Markup) else text  # noqa: S704  # it was markup before


def bidi_isolate(value: object) -> Markup:
    """Return an untrusted name in a ``bdi`` element, so that its direction does not affect other text."""
    return Markup("<bdi>{}</bdi>").format(visible(value))


def console_path(value: object) -> str:
    """Return the console path of the object with an identifier. Empty if there is none."""
    match = IDENTIFIER.fullmatch(str(value))
    return f"/console/{PAGES[match[1]]}/{value}" if match and match[1] in PAGES else ""


def format_datetime(at: datetime) -> Markup:
    """Return a timestamp to the second. Pages state that all times are UTC."""
    text = at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), text)


def duration(milliseconds: float) -> str:
    """Return a duration with a readable precision."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def render_code_spans(words: str) -> Markup:
    """Return the trusted *words*, with text between backquotes as code."""
    return Markup(QUOTED.sub(r"<code>\1</code>", str(escape(words))))  # noqa: S704  # escaped just before
