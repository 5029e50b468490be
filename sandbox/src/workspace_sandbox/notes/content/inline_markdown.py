"""Inline Markdown styles: rendered from rich text, and parsed into rich text."""

import re
from typing import Any

from workspace_sandbox.notes.content import rich_text

STYLES = (("code", "`"), ("bold", "**"), ("italic", "*"), ("strikethrough", "~~"))
"""The styles with their Markdown marks, the innermost first."""

INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?P<bold>[^*\n]+)\*\*|~~(?P<strikethrough>[^~\n]+)~~|\*(?P<italic>[^*\n]+)\*"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<url>[^)\s]{1,2000})\)"
)


def render(items: rich_text.Items) -> str:
    """Return *items* as a line of Markdown."""
    return "".join(map(_item, items))


def _item(item: dict[str, Any]) -> str:
    if item["type"] == "equation":
        return f"$`{item['plain_text']}`$"
    text = str(item["plain_text"])
    for style, mark in STYLES:
        text = f"{mark}{text}{mark}" if item["annotations"].get(style) else text
    return f"[{text}]({item['href']})" if item["href"] else text


def parse(line: str) -> rich_text.Items:
    """Parse a line of Markdown into rich text. Styles cannot be combined."""
    items, position = [], 0
    for match in INLINE.finditer(line):
        items += split_text(line[position : match.start()])
        items += _parse_style(match)
        position = match.end()
    return items + split_text(line[position:])


def _parse_style(match: re.Match[str]) -> rich_text.Items:
    if match["label"]:
        return rich_text.text(match["label"], match["url"])
    style = str(match.lastgroup)
    items = split_text(match[style])
    for item in items:
        item["annotations"][style] = True
    return items


def split_text(text: str) -> rich_text.Items:
    """Split *text* into items that do not exceed the maximum length."""
    max_length = rich_text.CONTENT_LENGTH // 2
    return [
        item for start in range(0, len(text), max_length) for item in rich_text.text(text[start : start + max_length])
    ]
