"""Parsing of the blocks in a request, and their placement."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data.state import Block, Container, Database, Page, Parent, Workspace
from workspace_sandbox.notes.error_responses import invalid

MAX_BLOCKS = 1000
MAX_DEPTH = 2
"""The levels of children that a request may nest below its first blocks."""

LANGUAGE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class BlockType:
    """A block type: the defaults of its content, and whether it has text."""

    defaults: dict[str, Any] = field(default_factory=dict)
    text: bool = True
    allows_children: bool = True
    required: tuple[str, ...] = ()
    """The required fields."""


COLORED = {"color": "default"}

KINDS: dict[str, BlockType] = {
    "paragraph": BlockType({"icon": None} | COLORED),
    "bulleted_list_item": BlockType(COLORED),
    "numbered_list_item": BlockType(COLORED),
    "quote": BlockType(COLORED),
    "toggle": BlockType(COLORED),
    "to_do": BlockType({"checked": False} | COLORED),
    "callout": BlockType({"icon": {"type": "emoji", "emoji": "💡"}} | COLORED),
    "heading_1": BlockType({"is_toggleable": False} | COLORED, allows_children=False),
    "heading_2": BlockType({"is_toggleable": False} | COLORED, allows_children=False),
    "heading_3": BlockType({"is_toggleable": False} | COLORED, allows_children=False),
    "heading_4": BlockType({"is_toggleable": False} | COLORED, allows_children=False),
    "code": BlockType({"caption": [], "language": "plain text"}, allows_children=False),
    "divider": BlockType(text=False, allows_children=False),
    "breadcrumb": BlockType(text=False, allows_children=False),
    "table_of_contents": BlockType(COLORED, text=False, allows_children=False),
    "equation": BlockType(text=False, allows_children=False, required=("expression",)),
    **dict.fromkeys(
        ("bookmark", "embed"), BlockType({"caption": []}, text=False, allows_children=False, required=("url",))
    ),
    **dict.fromkeys(
        ("image", "video", "file", "pdf", "audio"),
        BlockType({"type": "external", "caption": []}, text=False, allows_children=False, required=("external",)),
    ),
    "table": BlockType(
        {"has_column_header": False, "has_row_header": False}, text=False, required=("table_width", "children")
    ),
    "table_row": BlockType(text=False, allows_children=False, required=("cells",)),
}


@dataclass(frozen=True, slots=True)
class BlockDraft:
    """A validated block that is not placed yet."""

    type: str
    content: dict[str, Any]
    children: list["BlockDraft"]

    def __iter__(self) -> Iterator["BlockDraft"]:
        yield self
        for child in self.children:
            yield from child


def parse_blocks(raw: Any, path: str) -> list[BlockDraft]:
    """Parse the blocks of a request."""
    drafts = _read_all(raw, path, 0)
    count = sum(1 for draft in drafts for _ in draft)
    # The limit counts blocks on all levels, according to "Request limits". Each array has a limit of a hundred as well.
    if count > MAX_BLOCKS:
        raise validation.invalid_field(f"{path}.length", f"≤ `{MAX_BLOCKS}` with all that is nested", count)
    return drafts


def _read_all(raw: Any, path: str, depth: int) -> list[BlockDraft]:
    return [_read(item, f"{path}[{position}]", depth) for position, item in enumerate(validation.array(raw, path))]


def _read(raw: Any, path: str, depth: int) -> BlockDraft:
    fields = validation.obj(raw, path)
    # The type is the key that is present. ``type`` itself is optional.
    kind = next((key for key in fields if key in KINDS), None)
    if kind is None:
        raise validation.invalid_field(f"{path}.{fields.get('type', 'paragraph')}", "defined")
    validation.obj(fields, path, "object", "type", kind)
    validation.one_of(fields.get("object", "block"), f"{path}.object", ("block",))
    validation.one_of(fields.get("type", kind), f"{path}.type", (kind,))
    return _content(kind, fields[kind], f"{path}.{kind}", depth)


def _content(kind: str, raw: Any, path: str, depth: int) -> BlockDraft:
    rules = KINDS[kind]
    extras = (("rich_text",) if rules.text else ()) + (
        ("children",) if rules.allows_children and depth < MAX_DEPTH else ()
    )
    fields = validation.obj(raw, path, *rules.defaults, *rules.required, *extras)
    for name in rules.required:
        validation.need(fields, name, path)
    content: dict[str, Any] = {}
    if rules.text:
        content["rich_text"] = rich_text.parse(validation.need(fields, "rich_text", path), f"{path}.rich_text")
    content |= rules.defaults | _fields(fields, rules, path)
    return BlockDraft(kind, content, _read_all(fields.get("children", []), f"{path}.children", depth + 1))


def _fields(fields: dict[str, Any], rules: BlockType, path: str) -> dict[str, Any]:
    """Return the fields besides text and children."""
    names = (name for name in (*rules.defaults, *rules.required) if name in fields and name in FIELDS)
    return {name: FIELDS[name](fields[name], f"{path}.{name}") for name in names}


def revise_content(block: Block, raw: Any, path: str) -> dict[str, Any]:
    """Return the content of *block* with the changes of a request."""
    rules = KINDS[block.type]
    texts = ("rich_text",) if rules.text else ()
    fields = validation.obj(raw, path, *rules.defaults, *(name for name in rules.required if name in FIELDS), *texts)
    text = {name: rich_text.parse(fields[name], f"{path}.{name}") for name in texts if name in fields}
    return block.content | text | _fields(fields, rules, path)


def icon(raw: Any, path: str) -> dict[str, Any] | None:
    """Parse an icon: an emoji or a link to a picture."""
    if raw is None:
        return None
    fields = validation.obj(raw, path, "type", "emoji", "external")
    if "emoji" in fields:
        return {"type": "emoji", "emoji": validation.populated(fields["emoji"], f"{path}.emoji", 20)}
    return picture(fields, path)


def picture(raw: Any, path: str) -> dict[str, Any] | None:
    """Parse a link to a picture."""
    if raw is None:
        return None
    fields = validation.obj(raw, path, "type", "external")
    link = validation.obj(validation.need(fields, "external", path), f"{path}.external", "url")
    url = validation.need(link, "url", f"{path}.external")
    return {"type": "external", "external": {"url": validation.populated(url, f"{path}.external.url", 2000)}}


def _link(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, "url")
    return {"url": _url(validation.need(fields, "url", path), f"{path}.url")}


def _url(raw: Any, path: str) -> str:
    return validation.populated(raw, path, 2000)


def _width(raw: Any, path: str) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise validation.invalid_field(path, "an integer ≥ `1`", raw)
    return raw


def _cells(raw: Any, path: str) -> list[rich_text.Items]:
    return [rich_text.parse(cell, f"{path}[{position}]") for position, cell in enumerate(validation.array(raw, path))]


FIELDS: dict[str, Callable[[Any, str], Any]] = {
    "type": lambda raw, path: validation.one_of(raw, path, ("external",)),
    "external": _link,
    "url": _url,
    "expression": lambda raw, path: validation.populated(raw, path, 1000),
    "table_width": _width,
    "has_column_header": validation.boolean,
    "has_row_header": validation.boolean,
    "cells": _cells,
    "icon": icon,
    "color": lambda raw, path: validation.populated(raw, path, LANGUAGE_LENGTH),
    "language": lambda raw, path: validation.populated(raw, path, LANGUAGE_LENGTH),
    "caption": rich_text.parse,
    "checked": validation.boolean,
    "is_toggleable": validation.boolean,
}


def check_container(block: Block | Page | Database) -> Container:
    """Return *block* as a container. Raises an error if it cannot have children."""
    if isinstance(block, Database) or (isinstance(block, Block) and not KINDS[block.type].allows_children):
        raise invalid("Block does not support children.")
    return block


def insert_blocks(
    workspace: Workspace, into: Container, drafts: Sequence[BlockDraft], author_id: str, at: int | None = None
) -> list[str]:
    """Insert *drafts* into the children of *into*, at the end or before position *at*."""
    parent = Parent("page_id" if isinstance(into, Page) else "block_id", into.id)
    block_ids = [_store_block(workspace, parent, draft, author_id) for draft in drafts]
    position = len(into.children) if at is None else at
    into.children[position:position] = block_ids
    return block_ids


def _store_block(workspace: Workspace, parent: Parent, draft: BlockDraft, author_id: str) -> str:
    now = workspace.now()
    block = Block(workspace.new_id(), parent, now, now, author_id, author_id, type=draft.type, content=draft.content)
    workspace.blocks[block.id] = block
    insert_blocks(workspace, block, draft.children, author_id)
    return block.id


def read_position(into: Container, body: dict[str, Any], path: str) -> int | None:
    """Return the requested position of new blocks. None means the end."""
    # Versions before 2026-03-11 use ``after`` for the position (upgrade guide).
    if "after" in body:
        return _index_after(into, validation.uid(body["after"], f"{path}.after"))
    fields = validation.obj(body.get("position", {"type": "end"}), f"{path}.position", "type", "after_block")
    kind = validation.one_of(fields.get("type"), f"{path}.position.type", ("start", "end", "after_block"))
    if kind == "after_block":
        target = validation.obj(validation.need(fields, kind, f"{path}.position"), f"{path}.position.{kind}", "id")
        return _index_after(into, validation.uid(target.get("id"), f"{path}.position.{kind}.id"))
    return 0 if kind == "start" else None


def _index_after(into: Container, uid: str) -> int:
    if uid not in into.children:
        raise invalid(f"Block {uid} is not a child of {into.id}.")
    return into.children.index(uid) + 1
