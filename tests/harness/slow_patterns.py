"""Every regular expression of a package, and texts that are generated to make a pattern slow.

A text is an example of what the pattern's parts match, one run of parts repeated up to 64 KB, and a suffix that no
part matches. If two ways of matching compete, one of these texts makes the pattern try both, again and again.
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
"""CPU seconds; a text with quadratic cost takes seconds."""

SHORTER = 4
"""The factor by which the first texts are shorter."""

SEARCHING = {"search", "sub", "subn", "split", "findall", "finditer"}
FUNCTIONS = SEARCHING | {"match", "fullmatch"}


@dataclass(frozen=True)
class PatternUse:
    """A pattern, its location, and whether it is searched or matched at the start."""

    where: str
    pattern: re.Pattern[Any]
    searched: bool


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Return all importable modules of *package*."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith(("__main__", ".migrations.env")):
            yield importlib.import_module(module.name)


def patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    """Return the patterns in a constant, also within tuples, lists and dictionaries."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in([*value, *value.values()])
    elif isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from patterns_in(part)


def called(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield every call of a method: its object, its name, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value).rpartition(".")[2], node.func.attr, node


def written(tree: ast.AST, names: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Return the patterns in method calls and declarations, and whether they are searched."""
    for of, method, call in called(tree):
        if of == "re" and method in FUNCTIONS:
            yield from ((text, method in SEARCHING) for text in texts_of(call.args[0], names))
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "pattern":
            yield from ((text, True) for text in texts_of(node.value, names))


def texts_of(node: ast.expr, names: Mapping[str, Any]) -> list[str]:
    """Return the value of an expression of constants, if it is a text."""
    try:
        value = eval(ast.unparse(node), dict(names))  # An expression of the package itself
    except NameError:
        return []
    return [value] if isinstance(value, str) else []


def _matching(source: str) -> str:
    """Return *source* if it can contain a pattern or its use; most modules need not be parsed."""
    return source if any(f".{name}(" in source for name in FUNCTIONS) or "pattern" in source else ""


def patterns_of(package: ModuleType) -> list[PatternUse]:
    """Return every pattern of *package*."""
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


# Generation of slow texts


def example(parsed: Iterable[Any]) -> str:
    """Return the shortest text that the parts of a pattern match."""
    return "".join(part_example(operator, argument) for operator, argument in parsed)


def part_example(operator: Any, argument: Any) -> str:
    """Return the shortest text for one part; an optional part is taken once."""
    if operator in REPEATS:
        least, _, inner = argument
        return example(inner) * max(1, min(int(least), 40))
    create = EXAMPLES.get(operator)
    return "" if create is None else str(create(argument))


REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT}
CANDIDATES = [*"a0A. -_/@:;=<>&%#\"'\\|\n\t,()[]{}!?*+", "\x00", "é"]


def one_of(members: Any) -> str:
    """Return a character of a class, preferably one that other classes contain as well."""
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
    """Return the source of a character class."""
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
"""The texts of other parts by kind, except those that match no character."""


def sequences(parsed: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield every sequence of parts in a pattern at any depth, with its prefix."""
    parts = list(parsed)
    yield "", parts
    for index, (operator, argument) in enumerate(parts):
        before = example(parts[:index])
        for inner in within(operator, argument):
            for lead, sequence in sequences(inner):
                yield before + lead, sequence


def within(operator: Any, argument: Any) -> Iterator[Any]:
    """Return the direct subsequences of a part."""
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
    """A prefix, a repeated text, and a suffix that matches nothing."""

    lead: str
    repeated: str
    ending: str

    def text(self, size: int) -> str:
        """Return the text of that *size*."""
        begun = self.lead + self.repeated * (size // len(self.repeated))
        return begun[: size - len(self.ending)] + self.ending


def recipes(pattern: re.Pattern[Any]) -> set[Recipe]:
    """Return recipes from *pattern*, with each run of its parts repeated."""
    results = {Recipe("", one, "\x00") for one in CANDIDATES}
    for lead, parts in sequences(parser.parse(as_text(pattern.pattern), pattern.flags)):
        for first, last in combinations(range(len(parts) + 1), 2):
            repeated = example(parts[first:last])
            if repeated:
                results |= {Recipe(lead + example(parts[:first]), repeated, ending) for ending in ENDINGS}
    return results


def slow_texts(pattern: re.Pattern[Any], size: int = SIZE) -> set[str]:
    """Return texts of that *size* generated from *pattern*."""
    return {recipe.text(size) for recipe in recipes(pattern)}


def as_text(pattern: str | bytes) -> str:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


def seconds(use: PatternUse, text: str) -> float:
    """Return the cost of a search or match in seconds."""
    subject: Any = text.encode("latin-1", "replace") if isinstance(use.pattern.pattern, bytes) else text
    begun = time.thread_time()
    use.pattern.fullmatch(subject)
    use.pattern.match(subject)
    if use.searched:
        use.pattern.sub(lambda _: subject[:0], subject)
    return time.thread_time() - begun


def slow(use: PatternUse, size: int = SIZE) -> list[str]:
    """Return the first text of that *size* that is too slow for the pattern, in words. Empty if there is none.

    A shorter text shows whether the long one can: time that grows with its cube exceeds the bound there as well.
    """
    for recipe in sorted(recipes(use.pattern)):
        if seconds(use, recipe.text(size // SHORTER)) < MOST_SECONDS / SHORTER**3:
            continue
        text = recipe.text(size)
        took = seconds(use, text)
        if took > MOST_SECONDS:
            return [f"{took:.2f} s for {text[:60]!r} … {text[-10:]!r}"]
    return []
