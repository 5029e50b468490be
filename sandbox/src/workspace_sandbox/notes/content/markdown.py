"""Page bodies as Markdown: rendered from blocks, and parsed into drafts of blocks."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workspace_sandbox.notes.content import inline_markdown
from workspace_sandbox.notes.content.block_parsing import KINDS, BlockDraft
from workspace_sandbox.notes.data.state import Block, Container, Database, Page, Workspace

INDENT = "\t"
FENCE = "```"
MAX_DEPTH = 20
"""The levels of children that are parsed. Deeper ones become siblings of their parent."""
LINE = re.compile(
    r"(?P<heading>#{1,4}) +(?P<of>.+)|- \[(?P<checked>[ xX])\] ?(?P<todo>.*)|[-*] +(?P<bullet>.+)"
    r"|\d+\. +(?P<number>.+)|> ?(?P<quote>.*)|(?P<rule>---+)"
)
BLOCK_TYPES = {"bullet": "bulleted_list_item", "number": "numbered_list_item", "quote": "quote"}

Lines = list[str]
Content = Mapping[str, Any]


def _prefixed(mark: str) -> Callable[[Content], Lines]:
    return lambda content: [mark + inline_markdown.render(content["rich_text"])]


def _fenced(content: Content) -> Lines:
    language = "" if content["language"] == "plain text" else content["language"]
    return [f"{FENCE}{language}", *inline_markdown.render(content["rich_text"]).split("\n"), FENCE]


def _picture(content: Content) -> Lines:
    return [f"![{inline_markdown.render(content['caption'])}]({content['external']['url']})"]


def _callout(content: Content) -> Lines:
    icon = (content.get("icon") or {}).get("emoji", "")
    return [f'<callout icon="{icon}">', INDENT + inline_markdown.render(content["rich_text"]), "</callout>"]


RENDERERS: Mapping[str, Callable[[Content], Lines]] = {
    "paragraph": _prefixed(""),
    **{f"heading_{level}": _prefixed("#" * level + " ") for level in range(1, 5)},
    "bulleted_list_item": _prefixed("- "),
    "numbered_list_item": _prefixed("1. "),
    "quote": _prefixed("> "),
    "toggle": lambda content: [
        "<details>",
        f"<summary>{inline_markdown.render(content['rich_text'])}</summary>",
        "</details>",
    ],
    "to_do": lambda content: [
        f"- [{'x' if content['checked'] else ' '}] {inline_markdown.render(content['rich_text'])}"
    ],
    "callout": _callout,
    "code": _fenced,
    "divider": lambda _: ["---"],
    "equation": lambda content: ["$$", str(content["expression"]), "$$"],
    "image": _picture,
    "table_row": lambda content: ["| " + " | ".join(map(inline_markdown.render, content["cells"])) + " |"],
    "table": lambda _: [],
    "table_of_contents": lambda _: ["<table_of_contents/>"],
}
"""The renderer of each block type. The vendor's Markdown does not support other types either."""


def render(workspace: Workspace, within: Container) -> tuple[str, list[str]]:
    """Return the Markdown of *within* without the trash, and the ids of unsupported blocks."""
    unknown: list[str] = []
    return "\n".join(_lines(workspace, within, unknown)), unknown


def _lines(workspace: Workspace, within: Container, unknown: list[str]) -> Iterator[str]:
    for uid in within.children:
        block = workspace.find(uid)
        if block is None or block.in_trash:
            continue
        yield from _render_block(block, unknown)
        if isinstance(block, Block):
            yield from (INDENT + line for line in _lines(workspace, block, unknown))


def _render_block(block: Any, unknown: list[str]) -> Lines:
    url = f"https://app.notion.com/p/{block.id.replace('-', '')}"
    if isinstance(block, Page | Database):
        kind = type(block).__name__.lower()
        return [f'<{kind} url="{url}">{block.title}</{kind}>']
    renderer = RENDERERS.get(block.type)
    if renderer is None:
        unknown.append(block.id)
        return [f'<unknown url="{url}" alt="{block.type}"/>']
    return renderer(block.content)


def parse(text: str) -> list[BlockDraft]:
    """Parse *text* into blocks. An indented line is a child of the line above it."""
    return _blocks(text.expandtabs(4).splitlines())


def _blocks(lines: Sequence[str], depth: int = 0) -> list[BlockDraft]:
    drafts: list[BlockDraft] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith(FENCE):
            end = next((index for index in range(position, len(lines)) if lines[index].startswith(FENCE)), len(lines))
            drafts.append(_code(line.removeprefix(FENCE).strip(), "\n".join(lines[position:end])))
            position = end + 1
        elif (
            drafts
            and line.startswith(" ")
            and line.strip()
            and depth < MAX_DEPTH
            and KINDS[drafts[-1].type].allows_children
        ):
            end = next((index for index in range(position, len(lines)) if not lines[index].startswith(" ")), len(lines))
            drafts[-1].children.extend(_blocks(_dedent(lines[position - 1 : end]), depth + 1))
            position = end
        elif line.strip():
            drafts.append(_line(line.strip()))
    return drafts


def _dedent(lines: Sequence[str]) -> Lines:
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[margin:] for line in lines]


def _line(line: str) -> BlockDraft:
    match = LINE.fullmatch(line)
    if match is None:
        return _draft("paragraph", line)
    if match["heading"]:
        return _draft(f"heading_{len(match['heading'])}", match["of"])
    if match["checked"]:
        return _draft("to_do", match["todo"], checked=match["checked"] != " ")
    if match["rule"]:
        return BlockDraft("divider", {}, [])
    name = next(name for name in BLOCK_TYPES if match[name] is not None)
    return _draft(BLOCK_TYPES[name], match[name])


def _draft(kind: str, line: str, **content: Any) -> BlockDraft:
    return BlockDraft(kind, {"rich_text": inline_markdown.parse(line), **KINDS[kind].defaults, **content}, [])


def _code(language: str, text: str) -> BlockDraft:
    draft = _draft("code", "", language=language or "plain text")
    draft.content["rich_text"] = inline_markdown.split_text(text)
    return draft
