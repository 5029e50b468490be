"""Texts for agents: errors, and third-party content whose hidden characters are visible and whose markup is inert."""

import json
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
"""Control characters, and characters without a glyph: zero width, bidirectional controls, variation selectors, tags."""

VISIBLE = rf"[^\x00-\x7f{HIDDEN}]"
SHAPING = rf"(?<={VISIBLE})\ufe0f?[\u200c\u200d](?={VISIBLE})|(?<={VISIBLE})\ufe0f|\ufe0f(?=\u20e3)"
"""Joiners and emoji selectors between visible characters, which writing systems and emoji need."""

CHARACTER = re.compile(f"(?P<shaping>{SHAPING})|[{HIDDEN}]")

ACTIVE_MARKUP = re.compile(r"<(?=[\s\\nrt]*/)|<(?=img\b|iframe\b)|!(?=\[)", re.IGNORECASE)
"""Openings of closing tags, and of images, which a client would load when it renders the text."""


def reveal(value: Any) -> Any:
    """Return *value* with hidden characters in its texts as code points, such as ``[U+200B]``."""
    if isinstance(value, str):
        return CHARACTER.sub(lambda match: match[0] if match["shaping"] else f"[U+{ord(match[0]):04X}]", value)
    if isinstance(value, list):
        return [reveal(item) for item in value]
    if isinstance(value, dict):
        return {reveal(name): reveal(item) for name, item in value.items()}
    return value


def disarm(text: str) -> str:
    r"""Return *text* with escapes such as ``\u003c``, so that it closes no tag and embeds no image.

    JSON is still equal.
    """
    return ACTIVE_MARKUP.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def error_text(body: Mapping[str, Any]) -> str:
    """Return an error as one line with the cause, the next step, its code and the run, followed by its details."""
    error = body["error"]
    step = " ".join(
        [
            error["remedy"],
            *(f"Connect again: {one['reconnect_url']}" for one in error["details"] if "reconnect_url" in one),
            *([f"Wait {body['retry_after']} seconds."] if "retry_after" in body else []),
        ]
    )
    lines = [f"{error['message']} Next step: {step} [{error['code']}, {body['run_id']}]"]
    # Details with only a code and a place repeat the first line.
    details = [detail for detail in error["details"] if detail.keys() - {"code", "place", "header", "parameter"}]
    if details:
        lines.append(f"Details: {json.dumps(details, ensure_ascii=False, default=str)}")
    if "dry_run" in body:
        lines.append(f"Dry run: {json.dumps(body['dry_run'], ensure_ascii=False, default=str)}")
    text: str = reveal("\n".join(lines))
    return disarm(text)
