"""Text that others chose, made fit to be shown: nothing in it is invisible, or turns around what stands beside it."""

import re
from datetime import datetime

from markupsafe import Markup, escape

UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, halves of characters, and marks that change the direction of what follows.

An isolating element does not hold the last ones: a mark inside may end the isolation.
"""

PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
"""Unicode's own pictures of control characters."""

PAGES = {
    "run": "runs",
    "conn": "connections",
    "key": "keys",
    "wh": "webhooks",
    "ws": "workspaces",
    "opr": "operators",
}
"""The pages of the console that show the objects whose identifiers begin like this."""

IDENTIFIER = re.compile(r"([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}")

QUOTED = re.compile(r"``?(.+?)``?")


def visible(value: object) -> object:
    """*value*; where it is text, with a picture in place of each character that cannot be shown."""
    if not isinstance(value, str):
        return value
    shown = UNSHOWN.sub(lambda found: PICTURES.get(ord(found[0]), "\ufffd"), value)
    return Markup(shown) if isinstance(value, Markup) else shown  # noqa: S704  # it was markup before


def bidi_isolate(value: object) -> Markup:
    """A name that others chose, which decides on its own direction and on nobody else's."""
    return Markup("<bdi>{}</bdi>").format(visible(value))


def page_of(value: object) -> str:
    """Return the path of the page that shows the object of an identifier; empty if there is none."""
    found = IDENTIFIER.fullmatch(str(value))
    return f"/console/{PAGES[found[1]]}/{value}" if found and found[1] in PAGES else ""


def format_datetime(at: datetime) -> Markup:
    """An instant, to the second; pages say that all of them are UTC."""
    text = at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), text)


def duration(milliseconds: float) -> str:
    """A duration, as exactly as somebody wants to read it."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def render_code_spans(words: str) -> Markup:
    """*words* of ours, with what stands between backquotes as code."""
    return Markup(QUOTED.sub(r"<code>\1</code>", str(escape(words))))  # noqa: S704  # escaped just before
