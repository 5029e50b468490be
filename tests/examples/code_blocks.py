"""Code blocks of the documentation, and comparison of documented with actual output."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = ("*.md", "client/*.md", "sandbox/*.md", "docs/**/*.md", "gateway/**/*.md", "sandbox/src/**/*.md")
WRITTEN = sorted(str(page.relative_to(ROOT)) for folder in FOLDERS for page in ROOT.glob(folder))
"""The pages of the documentation, as paths in the project."""

BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.*?) -->\n)?^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)


CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
"""Code in the text of a page, in blocks and in lines."""


@dataclass(frozen=True)
class Block:
    """One block of code on a page."""

    language: str
    text: str
    not_run: str | None
    """The reason in the page's source why it is not run. None if it is run."""


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of *page*, a path in the project, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(match["language"], match["text"], match["reason"]) for match in BLOCK.finditer(text)]


def prose_of(page: str) -> str:
    """Return the text of *page* without code."""
    return CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))


def matches(expected: Any, answer: Any) -> bool:
    """Return True if *answer* contains all of *expected*. ``…`` matches any text, and ends an open list."""
    if isinstance(expected, dict):
        return isinstance(answer, dict) and all(
            name in answer and matches(value, answer[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        items = expected[:-1] if expected[-1:] == ["…"] else expected
        return (
            isinstance(answer, list)
            and (len(items) == len(answer) or items is not expected)
            and all(map(matches, items, answer))
        )
    if isinstance(expected, str) and "…" in expected:
        return isinstance(answer, str) and re.fullmatch(anything(expected), answer, re.DOTALL) is not None
    return bool(expected == answer)


def has_lines(expected: str, printed: str) -> bool:
    """Return True if *printed* contains the lines of *expected* in order, each within a separate line."""
    printed_lines = iter(printed.splitlines())
    return all(any(re.search(anything(line), one) for one in printed_lines) for line in expected.splitlines())


def anything(expected: str) -> str:
    """Return a pattern for *expected*, in which ``…`` matches any text."""
    return ".*".join(map(re.escape, expected.split("…")))


def decoded(text: str) -> Iterator[Any]:
    """Return the consecutive JSON values in *text*."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()
