"""Style within a line of Markdown: written from rich text, and read as such."""

import re
from typing import Any

from workspace_sandbox.notes import richtext

STYLES = (("code", "`"), ("bold", "**"), ("italic", "*"), ("strikethrough", "~~"))
"""Each style with its mark, the innermost first."""

INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?P<bold>[^*\n]+)\*\*|~~(?P<strikethrough>[^~\n]+)~~|\*(?P<italic>[^*\n]+)\*"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<url>[^)\s]{1,2000})\)"
)


def written(items: richtext.Items) -> str:
    """*items* as a line of Markdown."""
    return "".join(map(_item, items))


def _item(item: dict[str, Any]) -> str:
    if item["type"] == "equation":
        return f"$`{item['plain_text']}`$"
    text = str(item["plain_text"])
    for style, mark in STYLES:
        text = f"{mark}{text}{mark}" if item["annotations"].get(style) else text
    return f"[{text}]({item['href']})" if item["href"] else text


def read(line: str) -> richtext.Items:
    """The rich text of a line of Markdown, of one style at a time."""
    items, at = [], 0
    for found in INLINE.finditer(line):
        items += pieces(line[at : found.start()])
        items += _styled(found)
        at = found.end()
    return items + pieces(line[at:])


def _styled(found: re.Match[str]) -> richtext.Items:
    if found["label"]:
        return richtext.text(found["label"], found["url"])
    style = str(found.lastgroup)
    items = pieces(found[style])
    for item in items:
        item["annotations"][style] = True
    return items


def pieces(text: str) -> richtext.Items:
    """*text* in pieces that are not too long for one."""
    most = richtext.CONTENT_LENGTH // 2
    return [item for at in range(0, len(text), most) for item in richtext.text(text[at : at + most])]
