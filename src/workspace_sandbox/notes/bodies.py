"""Blocks of a page's body: read from requests and placed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.notes import checks, richtext
from workspace_sandbox.notes.state import Block, Container, Database, Page, Parent, Workspace
from workspace_sandbox.notes.wire import invalid

MOST_BLOCKS = 1000
DEEPEST = 2
"""Levels of children one request may nest below its first blocks."""

LANGUAGE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Kind:
    """What a type of block takes beside its children: the defaults of its content, and whether it has text."""

    defaults: dict[str, Any] = field(default_factory=dict)
    text: bool = True
    nests: bool = True
    needs: tuple[str, ...] = ()
    """What it cannot be without."""


COLORED = {"color": "default"}

KINDS: dict[str, Kind] = {
    "paragraph": Kind({"icon": None} | COLORED),
    "bulleted_list_item": Kind(COLORED),
    "numbered_list_item": Kind(COLORED),
    "quote": Kind(COLORED),
    "toggle": Kind(COLORED),
    "to_do": Kind({"checked": False} | COLORED),
    "callout": Kind({"icon": {"type": "emoji", "emoji": "💡"}} | COLORED),
    "heading_1": Kind({"is_toggleable": False} | COLORED, nests=False),
    "heading_2": Kind({"is_toggleable": False} | COLORED, nests=False),
    "heading_3": Kind({"is_toggleable": False} | COLORED, nests=False),
    "heading_4": Kind({"is_toggleable": False} | COLORED, nests=False),
    "code": Kind({"caption": [], "language": "plain text"}, nests=False),
    "divider": Kind(text=False, nests=False),
    "breadcrumb": Kind(text=False, nests=False),
    "table_of_contents": Kind(COLORED, text=False, nests=False),
    "equation": Kind(text=False, nests=False, needs=("expression",)),
    **dict.fromkeys(("bookmark", "embed"), Kind({"caption": []}, text=False, nests=False, needs=("url",))),
    **dict.fromkeys(
        ("image", "video", "file", "pdf", "audio"),
        Kind({"type": "external", "caption": []}, text=False, nests=False, needs=("external",)),
    ),
    "table": Kind({"has_column_header": False, "has_row_header": False}, text=False, needs=("table_width", "children")),
    "table_row": Kind(text=False, nests=False, needs=("cells",)),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A block that has passed its checks and is not placed yet."""

    type: str
    content: dict[str, Any]
    children: list["Draft"]

    def __iter__(self) -> Iterator["Draft"]:
        yield self
        for child in self.children:
            yield from child


def read(raw: Any, path: str) -> list[Draft]:
    """The blocks of a request."""
    drafts = _read_all(raw, path, 0)
    count = sum(1 for draft in drafts for _ in draft)
    # Counted over all levels, as "Request limits" has it; the limit of an array is a hundred beside that.
    if count > MOST_BLOCKS:
        raise checks.unfit(f"{path}.length", f"≤ `{MOST_BLOCKS}` with all that is nested", count)
    return drafts


def _read_all(raw: Any, path: str, depth: int) -> list[Draft]:
    return [_read(item, f"{path}[{position}]", depth) for position, item in enumerate(checks.array(raw, path))]


def _read(raw: Any, path: str, depth: int) -> Draft:
    given = checks.obj(raw, path)
    # The type is found by the key that is there. ``type`` itself may be left out.
    kind = next((key for key in given if key in KINDS), None)
    if kind is None:
        raise checks.unfit(f"{path}.{given.get('type', 'paragraph')}", "defined")
    checks.obj(given, path, "object", "type", kind)
    checks.one_of(given.get("object", "block"), f"{path}.object", ("block",))
    checks.one_of(given.get("type", kind), f"{path}.type", (kind,))
    return _content(kind, given[kind], f"{path}.{kind}", depth)


def _content(kind: str, raw: Any, path: str, depth: int) -> Draft:
    rules = KINDS[kind]
    extras = (("rich_text",) if rules.text else ()) + (("children",) if rules.nests and depth < DEEPEST else ())
    given = checks.obj(raw, path, *rules.defaults, *rules.needs, *extras)
    for name in rules.needs:
        checks.need(given, name, path)
    content: dict[str, Any] = {}
    if rules.text:
        content["rich_text"] = richtext.read(checks.need(given, "rich_text", path), f"{path}.rich_text")
    content |= rules.defaults | _fields(given, rules, path)
    return Draft(kind, content, _read_all(given.get("children", []), f"{path}.children", depth + 1))


def _fields(given: dict[str, Any], rules: Kind, path: str) -> dict[str, Any]:
    """What is given beside text and children."""
    named = (name for name in (*rules.defaults, *rules.needs) if name in given and name in FIELDS)
    return {name: FIELDS[name](given[name], f"{path}.{name}") for name in named}


def revised(block: Block, raw: Any, path: str) -> dict[str, Any]:
    """The content of *block* with what a request changes of it."""
    rules = KINDS[block.type]
    texts = ("rich_text",) if rules.text else ()
    given = checks.obj(raw, path, *rules.defaults, *(name for name in rules.needs if name in FIELDS), *texts)
    text = {name: richtext.read(given[name], f"{path}.{name}") for name in texts if name in given}
    return block.content | text | _fields(given, rules, path)


def icon(raw: Any, path: str) -> dict[str, Any] | None:
    """An icon: an emoji or a link to a picture."""
    if raw is None:
        return None
    given = checks.obj(raw, path, "type", "emoji", "external")
    if "emoji" in given:
        return {"type": "emoji", "emoji": checks.populated(given["emoji"], f"{path}.emoji", 20)}
    return picture(given, path)


def picture(raw: Any, path: str) -> dict[str, Any] | None:
    """A link to a picture."""
    if raw is None:
        return None
    given = checks.obj(raw, path, "type", "external")
    link = checks.obj(checks.need(given, "external", path), f"{path}.external", "url")
    url = checks.need(link, "url", f"{path}.external")
    return {"type": "external", "external": {"url": checks.populated(url, f"{path}.external.url", 2000)}}


def _link(raw: Any, path: str) -> dict[str, Any]:
    given = checks.obj(raw, path, "url")
    return {"url": _address(checks.need(given, "url", path), f"{path}.url")}


def _address(raw: Any, path: str) -> str:
    return checks.populated(raw, path, 2000)


def _width(raw: Any, path: str) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise checks.unfit(path, "an integer ≥ `1`", raw)
    return raw


def _cells(raw: Any, path: str) -> list[richtext.Items]:
    return [richtext.read(cell, f"{path}[{position}]") for position, cell in enumerate(checks.array(raw, path))]


FIELDS: dict[str, Callable[[Any, str], Any]] = {
    "type": lambda raw, path: checks.one_of(raw, path, ("external",)),
    "external": _link,
    "url": _address,
    "expression": lambda raw, path: checks.populated(raw, path, 1000),
    "table_width": _width,
    "has_column_header": checks.boolean,
    "has_row_header": checks.boolean,
    "cells": _cells,
    "icon": icon,
    "color": lambda raw, path: checks.populated(raw, path, LANGUAGE_LENGTH),
    "language": lambda raw, path: checks.populated(raw, path, LANGUAGE_LENGTH),
    "caption": richtext.read,
    "checked": checks.boolean,
    "is_toggleable": checks.boolean,
}


def holder(block: Block | Page | Database) -> Container:
    """*block* as something that takes children; refused when it does not."""
    if isinstance(block, Database) or (isinstance(block, Block) and not KINDS[block.type].nests):
        raise invalid("Block does not support children.")
    return block


def place(
    workspace: Workspace, into: Container, drafts: Sequence[Draft], author_id: str, at: int | None = None
) -> list[str]:
    """Put *drafts* among the children of *into*, at the end or in front of position *at*."""
    parent = Parent("page_id" if isinstance(into, Page) else "block_id", into.id)
    made = [_place(workspace, parent, draft, author_id) for draft in drafts]
    position = len(into.children) if at is None else at
    into.children[position:position] = made
    return made


def _place(workspace: Workspace, parent: Parent, draft: Draft, author_id: str) -> str:
    now = workspace.now()
    block = Block(workspace.new_id(), parent, now, now, author_id, author_id, type=draft.type, content=draft.content)
    workspace.blocks[block.id] = block
    place(workspace, block, draft.children, author_id)
    return block.id


def position(into: Container, body: dict[str, Any], path: str) -> int | None:
    """Where the request wants its blocks: None for the end."""
    # ``after`` is how versions before 2026-03-11 ask for a place (upgrade guide).
    if "after" in body:
        return _behind(into, checks.uid(body["after"], f"{path}.after"))
    given = checks.obj(body.get("position", {"type": "end"}), f"{path}.position", "type", "after_block")
    kind = checks.one_of(given.get("type"), f"{path}.position.type", ("start", "end", "after_block"))
    if kind == "after_block":
        target = checks.obj(checks.need(given, kind, f"{path}.position"), f"{path}.position.{kind}", "id")
        return _behind(into, checks.uid(target.get("id"), f"{path}.position.{kind}.id"))
    return 0 if kind == "start" else None


def _behind(into: Container, uid: str) -> int:
    if uid not in into.children:
        raise invalid(f"Block {uid} is not a child of {into.id}.")
    return into.children.index(uid) + 1
