"""Bodies of pages as Markdown: written from blocks, and read as blocks that are not placed yet."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workspace_sandbox.notes import marks
from workspace_sandbox.notes.bodies import KINDS, Draft
from workspace_sandbox.notes.state import Block, Container, Database, Page, Workspace

INDENT = "\t"
FENCE = "```"
DEEPEST = 20
"""Levels of children that are read; what is deeper stands beside what it is below."""
LINE = re.compile(
    r"(?P<heading>#{1,4}) +(?P<of>.+)|- \[(?P<checked>[ xX])\] ?(?P<todo>.*)|[-*] +(?P<bullet>.+)"
    r"|\d+\. +(?P<number>.+)|> ?(?P<quote>.*)|(?P<rule>---+)"
)
KIND_OF = {"bullet": "bulleted_list_item", "number": "numbered_list_item", "quote": "quote"}

Lines = list[str]
Content = Mapping[str, Any]


def _said(mark: str) -> Callable[[Content], Lines]:
    return lambda content: [mark + marks.written(content["rich_text"])]


def _fenced(content: Content) -> Lines:
    language = "" if content["language"] == "plain text" else content["language"]
    return [f"{FENCE}{language}", *marks.written(content["rich_text"]).split("\n"), FENCE]


def _picture(content: Content) -> Lines:
    return [f"![{marks.written(content['caption'])}]({content['external']['url']})"]


def _callout(content: Content) -> Lines:
    icon = (content.get("icon") or {}).get("emoji", "")
    return [f'<callout icon="{icon}">', INDENT + marks.written(content["rich_text"]), "</callout>"]


WRITTEN: Mapping[str, Callable[[Content], Lines]] = {
    "paragraph": _said(""),
    **{f"heading_{level}": _said("#" * level + " ") for level in range(1, 5)},
    "bulleted_list_item": _said("- "),
    "numbered_list_item": _said("1. "),
    "quote": _said("> "),
    "toggle": lambda content: ["<details>", f"<summary>{marks.written(content['rich_text'])}</summary>", "</details>"],
    "to_do": lambda content: [f"- [{'x' if content['checked'] else ' '}] {marks.written(content['rich_text'])}"],
    "callout": _callout,
    "code": _fenced,
    "divider": lambda _: ["---"],
    "equation": lambda content: ["$$", str(content["expression"]), "$$"],
    "image": _picture,
    "table_row": lambda content: ["| " + " | ".join(map(marks.written, content["cells"])) + " |"],
    "table": lambda _: [],
    "table_of_contents": lambda _: ["<table_of_contents/>"],
}
"""How each type of block is written; others are unknown to the vendor's Markdown too."""


def written(workspace: Workspace, within: Container) -> tuple[str, list[str]]:
    """What *within* holds, outside the trash, and the blocks that Markdown does not know."""
    unknown: list[str] = []
    return "\n".join(_lines(workspace, within, unknown)), unknown


def _lines(workspace: Workspace, within: Container, unknown: list[str]) -> Iterator[str]:
    for uid in within.children:
        block = workspace.find(uid)
        if block is None or block.in_trash:
            continue
        yield from _own(block, unknown)
        if isinstance(block, Block):
            yield from (INDENT + line for line in _lines(workspace, block, unknown))


def _own(block: Any, unknown: list[str]) -> Lines:
    address = f"https://app.notion.com/p/{block.id.replace('-', '')}"
    if isinstance(block, Page | Database):
        kind = type(block).__name__.lower()
        return [f'<{kind} url="{address}">{block.title}</{kind}>']
    write = WRITTEN.get(block.type)
    if write is None:
        unknown.append(block.id)
        return [f'<unknown url="{address}" alt="{block.type}"/>']
    return write(block.content)


def read(text: str) -> list[Draft]:
    """The blocks that *text* tells; what is indented is a child of the line above it."""
    return _blocks(text.expandtabs(4).splitlines())


def _blocks(lines: Sequence[str], depth: int = 0) -> list[Draft]:
    made: list[Draft] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(FENCE):
            end = next((place for place in range(at, len(lines)) if lines[place].startswith(FENCE)), len(lines))
            made.append(_code(line.removeprefix(FENCE).strip(), "\n".join(lines[at:end])))
            at = end + 1
        elif made and line.startswith(" ") and line.strip() and depth < DEEPEST and KINDS[made[-1].type].nests:
            end = next((place for place in range(at, len(lines)) if not lines[place].startswith(" ")), len(lines))
            made[-1].children.extend(_blocks(_dedented(lines[at - 1 : end]), depth + 1))
            at = end
        elif line.strip():
            made.append(_line(line.strip()))
    return made


def _dedented(lines: Sequence[str]) -> Lines:
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[margin:] for line in lines]


def _line(line: str) -> Draft:
    found = LINE.fullmatch(line)
    if found is None:
        return _draft("paragraph", line)
    if found["heading"]:
        return _draft(f"heading_{len(found['heading'])}", found["of"])
    if found["checked"]:
        return _draft("to_do", found["todo"], checked=found["checked"] != " ")
    if found["rule"]:
        return Draft("divider", {}, [])
    name = next(name for name in KIND_OF if found[name] is not None)
    return _draft(KIND_OF[name], found[name])


def _draft(kind: str, line: str, **content: Any) -> Draft:
    return Draft(kind, {"rich_text": marks.read(line), **KINDS[kind].defaults, **content}, [])


def _code(language: str, text: str) -> Draft:
    made = _draft("code", "", language=language or "plain text")
    made.content["rich_text"] = marks.pieces(text)
    return made
