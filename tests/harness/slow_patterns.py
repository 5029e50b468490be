"""Every pattern of a package, and texts that are made from a pattern to be slow.

A text is an example of what the pattern's parts match, one run of parts repeated up to 64 KB, then something that no
part takes. Wherever two ways of matching compete, one of these texts makes the pattern try both, again and again.
"""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from re import _constants as constants
from re import _parser as parser
from types import ModuleType
from typing import Any

SIZE = 64 * 1024
MOST_SECONDS = 0.25
"""Of the processor's time; what grows with the square of the text takes seconds."""

SHORTER = 4
"""How much shorter the texts are that are tried first."""

SEARCHING = {"search", "sub", "subn", "split", "findall", "finditer"}
FUNCTIONS = SEARCHING | {"match", "fullmatch"}


@dataclass(frozen=True)
class PatternUse:
    """A pattern, where it is, and whether it is looked for anywhere in a text or only at the beginning."""

    where: str
    pattern: re.Pattern[Any]
    searched: bool


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """All modules of *package* that can be imported by themselves."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith(("__main__", ".migrations.env")):
            yield importlib.import_module(module.name)


def patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    """The patterns that a constant holds, in tuples, lists and dictionaries too."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in([*value, *value.values()])
    elif isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from patterns_in(part)


def called(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Every call of a method: of what, which, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value).rpartition(".")[2], node.func.attr, node


def written(tree: ast.AST, names: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """The patterns that are written where they are used or declared, and whether they are searched for."""
    for of, method, call in called(tree):
        if of == "re" and method in FUNCTIONS:
            yield from ((text, method in SEARCHING) for text in texts_of(call.args[0], names))
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "pattern":
            yield from ((text, True) for text in texts_of(node.value, names))


def texts_of(node: ast.expr, names: Mapping[str, Any]) -> list[str]:
    """What an expression stands for, if that is a text and made of constants of its module."""
    try:
        value = eval(ast.unparse(node), dict(names))  # an expression of the package itself
    except NameError:
        return []
    return [value] if isinstance(value, str) else []


def _matching(source: str) -> str:
    """*source* if anything in it can be a pattern or the use of one; most modules need not be read."""
    return source if any(f".{name}(" in source for name in FUNCTIONS) or "pattern" in source else ""


def patterns_of(package: ModuleType) -> list[PatternUse]:
    """Every pattern of *package*."""
    trees = {module: ast.parse(_matching(Path(str(module.__file__)).read_text("utf-8"))) for module in modules(package)}
    uses = [(of, method) for tree in trees.values() for of, method, _ in called(tree)]
    searched = {of for of, method in uses if method in SEARCHING}
    matched = {of for of, method in uses if method in FUNCTIONS - SEARCHING}
    patterns: dict[tuple[Any, bool], PatternUse] = {}
    for module, tree in trees.items():
        for name, value in vars(module).items():
            anywhere = name in searched or name not in matched
            for pattern in patterns_in(value):
                one = PatternUse(f"{module.__name__}.{name}", pattern, anywhere)
                patterns.setdefault((pattern.pattern, anywhere), one)
        for text, anywhere in written(tree, vars(module)):
            patterns.setdefault((text, anywhere), PatternUse(f"{module.__name__}: {text}", re.compile(text), anywhere))
    return list(patterns.values())


# Texts made to be slow


def example(parsed: Iterable[Any]) -> str:
    """The shortest text that the parts of a pattern match."""
    return "".join(part_example(operator, argument) for operator, argument in parsed)


def part_example(operator: Any, argument: Any) -> str:
    """The shortest text for one part; a part that may be left out is taken once."""
    if operator in REPEATS:
        least, _, inner = argument
        return example(inner) * max(1, min(int(least), 40))
    create = EXAMPLES.get(operator)
    return "" if create is None else str(create(argument))


REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT}
CANDIDATES = [*"a0A. -_/@:;=<>&%#\"'\\|\n\t,()[]{}!?*+", "\x00", "é"]


def one_of(members: Any) -> str:
    """A character that a class takes, one that other classes are likely to take as well."""
    character_class = re.compile(class_of(members))
    return next((one for one in CANDIDATES if character_class.fullmatch(one)), "a")


CATEGORIES = {
    constants.CATEGORY_DIGIT: r"\d",
    constants.CATEGORY_NOT_DIGIT: r"\D",
    constants.CATEGORY_SPACE: r"\s",
    constants.CATEGORY_NOT_SPACE: r"\S",
    constants.CATEGORY_WORD: r"\w",
    constants.CATEGORY_NOT_WORD: r"\W",
}


def class_of(members: Any) -> str:
    """A character class, written out again."""
    parts = []
    for operator, argument in members:
        if operator is constants.NEGATE:
            parts.append("^")
        elif operator is constants.LITERAL:
            parts.append(re.escape(chr(argument)))
        elif operator is constants.RANGE:
            parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        elif operator is constants.CATEGORY:
            parts.append(CATEGORIES[argument])
    return f"[{''.join(parts)}]"


EXAMPLES: Mapping[Any, Callable[[Any], str]] = {
    constants.LITERAL: chr,
    constants.NOT_LITERAL: lambda argument: "b" if argument == ord("a") else "a",
    constants.ANY: lambda _: "a",
    constants.IN: one_of,
    constants.SUBPATTERN: lambda argument: example(argument[-1]),
    constants.ATOMIC_GROUP: example,
    constants.BRANCH: lambda argument: example(argument[1][0]),
}
"""What other parts match, by what they are; those that match no character are left out."""


def sequences(parsed: Any) -> Iterator[tuple[str, list[Any]]]:
    """Every sequence of parts in a pattern, whatever it is nested in, and what leads there."""
    parts = list(parsed)
    yield "", parts
    for index, (operator, argument) in enumerate(parts):
        before = example(parts[:index])
        for inner in within(operator, argument):
            for lead, sequence in sequences(inner):
                yield before + lead, sequence


def within(operator: Any, argument: Any) -> Iterator[Any]:
    """The sequences directly inside of a part."""
    if operator in REPEATS:
        yield argument[2]
    elif operator is constants.SUBPATTERN:
        yield argument[-1]
    elif operator is constants.ATOMIC_GROUP:
        yield argument
    elif operator is constants.BRANCH:
        yield from argument[1]
    elif operator in {constants.ASSERT, constants.ASSERT_NOT}:
        yield argument[1]


ENDINGS = ("", "\x00", "\n\x00", " ")


@dataclass(frozen=True, order=True)
class Recipe:
    """A beginning, what is repeated after it, and an end that fits nothing."""

    lead: str
    repeated: str
    ending: str

    def text(self, size: int) -> str:
        """The text of that *size*."""
        begun = self.lead + self.repeated * (size // len(self.repeated))
        return begun[: size - len(self.ending)] + self.ending


def recipes(pattern: re.Pattern[Any]) -> set[Recipe]:
    """How texts are made from *pattern*, with each run of its parts repeated."""
    results = {Recipe("", one, "\x00") for one in CANDIDATES}
    for lead, parts in sequences(parser.parse(as_text(pattern.pattern), pattern.flags)):
        for first, last in combinations(range(len(parts) + 1), 2):
            repeated = example(parts[first:last])
            if repeated:
                results |= {Recipe(lead + example(parts[:first]), repeated, ending) for ending in ENDINGS}
    return results


def slow_texts(pattern: re.Pattern[Any], size: int = SIZE) -> set[str]:
    """Texts of that *size* made from *pattern*."""
    return {recipe.text(size) for recipe in recipes(pattern)}


def as_text(pattern: str | bytes) -> str:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


def seconds(use: PatternUse, text: str) -> float:
    """What matching costs: anywhere in the text, or only at its beginning."""
    subject: Any = text.encode("latin-1", "replace") if isinstance(use.pattern.pattern, bytes) else text
    begun = time.thread_time()
    use.pattern.fullmatch(subject)
    use.pattern.match(subject)
    if use.searched:
        use.pattern.sub(lambda _: subject[:0], subject)
    return time.thread_time() - begun


def slow(use: PatternUse, size: int = SIZE) -> list[str]:
    """The first text of that *size* that takes the pattern too long, in words; empty if there is none.

    A shorter text tells whether the long one can: what grows with the cube of the text is not let through by it either.
    """
    for recipe in sorted(recipes(use.pattern)):
        if seconds(use, recipe.text(size // SHORTER)) < MOST_SECONDS / SHORTER**3:
            continue
        text = recipe.text(size)
        took = seconds(use, text)
        if took > MOST_SECONDS:
            return [f"{took:.2f} s for {text[:60]!r} … {text[-10:]!r}"]
    return []
