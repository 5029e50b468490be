"""Rich text: parsed from requests, and stored in the format of responses."""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.notes import validation

Items = list[dict[str, Any]]

CONTENT_LENGTH = 2000
URL_LENGTH = 2000
EQUATION_LENGTH = 1000
MAX_MENTIONS = 25
"""Page objects truncate text after this many mentions. The property endpoint returns the rest."""

PLAIN = {
    "bold": False,
    "italic": False,
    "strikethrough": False,
    "underline": False,
    "code": False,
    "color": "default",
}
ITEM_KEYS = ("type", "text", "mention", "equation", "annotations", "plain_text", "href")
MENTIONS = ("user", "date", "page", "database", "link_preview", "link_mention", "template_mention", "custom_emoji")


def text(content: str, link: str | None = None) -> Items:
    """Return *content* as a single rich text item, or no items if it is empty."""
    if not content:
        return []
    value = {"content": content, "link": {"url": link} if link else None}
    return [_item("text", value, content, link)]


def mention(kind: str, target: Any, display_text: str) -> dict[str, Any]:
    """Return a mention, displayed as the text *display_text*."""
    return _item("mention", {"type": kind, kind: target}, display_text, None)


def plain_text(items: Items) -> str:
    """Return the text without styles."""
    return "".join(item["plain_text"] for item in items)


def truncate(items: Items) -> Items:
    """Return *items* up to the limit of page objects."""
    mentions = 0
    for position, item in enumerate(items):
        mentions += item["type"] == "mention"
        if mentions > MAX_MENTIONS:
            return items[:position]
    return items


def parse(raw: Any, path: str) -> Items:
    """Parse the rich text of a request. Items without text are dropped."""
    items = [_read(item, f"{path}[{position}]") for position, item in enumerate(validation.array(raw, path))]
    return [item for item in items if item["plain_text"]]


def _read(raw: Any, path: str) -> dict[str, Any]:
    item = validation.obj(raw, path, *ITEM_KEYS)
    kind = next((kind for kind in READERS if kind in item), None)
    if kind is None or item.get("type", kind) != kind:
        raise validation.invalid_field(f"{path}.{item.get('type', 'text')}", "defined")
    parsed = READERS[kind](item[kind], f"{path}.{kind}")
    if "annotations" in item:
        parsed["annotations"] = _annotations(item["annotations"], f"{path}.annotations")
    return parsed


def _annotations(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, *PLAIN)
    for name, value in fields.items():
        (validation.string if name == "color" else validation.boolean)(value, f"{path}.{name}")
    return PLAIN | fields


def _text(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, "content", "link")
    content = validation.string(validation.need(fields, "content", path), f"{path}.content", CONTENT_LENGTH)
    link = fields.get("link")
    if link is None:
        return _item("text", {"content": content, "link": None}, content, None)
    link_fields = validation.obj(link, f"{path}.link", "url", "type")
    url = validation.populated(validation.need(link_fields, "url", f"{path}.link"), f"{path}.link.url", URL_LENGTH)
    return _item("text", {"content": content, "link": {"url": url}}, content, url)


def _equation(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, "expression")
    value = validation.need(fields, "expression", path)
    expression = validation.populated(value, f"{path}.expression", EQUATION_LENGTH)
    return _item("equation", {"expression": expression}, expression, None)


def _mention(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, "type", *MENTIONS)
    kind = require(
        next((kind for kind in MENTIONS if kind in fields), None),
        validation.invalid_field(f"{path}.user", "defined"),
    )
    target = validation.obj(fields[kind], f"{path}.{kind}")
    if kind == "date":
        target = {
            "start": validation.need(target, "start", f"{path}.date"),
            "end": None,
            "time_zone": None,
        } | target
        return mention(kind, target, str(target["start"]))
    return mention(kind, target, f"@{target.get('id', kind)}")


def _item(kind: str, content: dict[str, Any], display_text: str, href: str | None) -> dict[str, Any]:
    return {"type": kind, kind: content, "annotations": dict(PLAIN), "plain_text": display_text, "href": href}


READERS: dict[str, Callable[[Any, str], dict[str, Any]]] = {"text": _text, "mention": _mention, "equation": _equation}
