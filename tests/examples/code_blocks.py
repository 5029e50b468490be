"""What the pages of the documentation show as code, and whether answers are as they show."""

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


@dataclass(frozen=True)
class Block:
    """One block of code on a page."""

    language: str
    text: str
    not_run: str | None
    """Why nothing runs it, as the page's source says; None where something does."""


def blocks_of(page: str) -> list[Block]:
    """The blocks of *page*, a path in the project, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(found["language"], found["text"], found["reason"]) for found in BLOCK.finditer(text)]


def is_as_shown(shown: Any, answer: Any) -> bool:
    """Whether *answer* has all that *shown* has; ``…`` stands for any text, and ends a list that goes on."""
    if isinstance(shown, dict):
        return isinstance(answer, dict) and all(
            name in answer and is_as_shown(value, answer[name]) for name, value in shown.items()
        )
    if isinstance(shown, list):
        items = shown[:-1] if shown[-1:] == ["…"] else shown
        return (
            isinstance(answer, list)
            and (len(items) == len(answer) or items is not shown)
            and all(map(is_as_shown, items, answer))
        )
    if isinstance(shown, str) and "…" in shown:
        return isinstance(answer, str) and re.fullmatch(anything(shown), answer, re.DOTALL) is not None
    return bool(shown == answer)


def has_lines(shown: str, printed: str) -> bool:
    """Whether *printed* has the lines of *shown* in their order, each as a part of a line of its own."""
    told = iter(printed.splitlines())
    return all(any(re.search(anything(line), one) for one in told) for line in shown.splitlines())


def anything(shown: str) -> str:
    """A pattern of *shown*, in which ``…`` stands for any text."""
    return ".*".join(map(re.escape, shown.split("…")))


def decoded(text: str) -> Iterator[Any]:
    """The JSON values that stand one behind the other in *text*."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()
