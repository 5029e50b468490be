"""Names and docstrings use standard terms: no private vocabulary, and no docstring that opens like a riddle."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent

BANNED = frozenset(
    {
        *("told", "tell", "tells", "telling", "asked", "asking", "whoever", "nobody", "somebody", "anybody"),
        *("kept", "keeping", "sought", "given", "wanted", "shown", "held", "beside", "anew", "doubtful"),
        *("refused", "refusal", "refusals", "room", "rooms", "sow", "sown", "sowing", "guesses", "lateness"),
        *("fitting", "siblings", "walking", "stand_in", "rouse", "seldom", "unheard", "lies"),
    }
)
"""Words with a plain equivalent: report, request, reject, store, expect, hold, connector, seed."""

STORED = frozenset(
    {
        "UpstreamRefused",
        "CredentialsRefused",
        "held_bytes",
        "held_bytes_per_address",
        "refusal",
        "refused",
        "given",
    }
)
"""Names behind public codes, settings and stored fields, or a vendor's."""

PUBLISHED = re.compile(
    r"(models|settings|control_api|errors)\.py$|/kit/errors/|/management/|connectors/chat/events/inbound_hooks\.py$"
)
"""Modules whose docstrings are published as descriptions, in the words of the documents."""

RIDDLE = re.compile(r"(What|How|Where|Who|Whoever|Which|When|Those|The same)\b")
"""Openings that announce a noun without naming it."""


FOLDERS = ("*/src", "*/tests", "examples", "tests", "benchmarks", "tools")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(path for folder in FOLDERS for path in PROJECT.glob(f"{folder}/**/*.py")):
        name = str(path.relative_to(PROJECT))
        if "migrations" not in path.parts:
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def names_of(tree: ast.Module) -> Iterator[str]:
    """Return every name that is defined."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def docstrings_of(tree: ast.Module) -> Iterator[str]:
    """Return the texts that document modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        for statement in body if isinstance(body := getattr(node, "body", None), list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield text


def words_of(name: str) -> set[str]:
    return set(re.findall("[a-z]+", re.sub("([A-Z])", r"_\1", name).lower()))


@pytest.fixture(scope="module")
def sources() -> list[tuple[str, ast.Module]]:
    return list(trees())


def test_names_use_plain_words(sources: list[tuple[str, ast.Module]]) -> None:
    assert [] == [
        f"{path}: {name}"
        for path, tree in sources
        for name in sorted({Path(path).stem, *names_of(tree)} - STORED)
        if words_of(name) & BANNED
    ]


def test_docstrings_describe_their_subjects(sources: list[tuple[str, ast.Module]]) -> None:
    texts = [(path, text) for path, tree in sources if not PUBLISHED.search(path) for text in docstrings_of(tree)]

    assert [] == [f"{path}: {text[:60]}" for path, text in texts if RIDDLE.match(text)]
