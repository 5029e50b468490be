"""What is promised is shown by tests, and tests show nothing that is not promised."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from requirements.register import REGISTER

TESTS = Path(__file__).parents[1]
GAPS = {entry.requirement_id for entry in REGISTER if entry.gap}
KNOWN = {entry.requirement_id for entry in REGISTER}


def tagged(path: Path) -> Iterator[tuple[str, str]]:
    """Every identifier that a test module names, with where it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement":
            where = f"{path.relative_to(TESTS)}:{node.lineno}"
            yield from ((ast.literal_eval(argument), where) for argument in node.args)


@pytest.fixture(scope="module")
def shown() -> list[tuple[str, str]]:
    return [found for path in sorted(TESTS.rglob("test_*.py")) for found in tagged(path)]


def test_every_requirement_has_an_identifier_of_its_own() -> None:
    counted = Counter(entry.requirement_id for entry in REGISTER)

    assert [] == [requirement_id for requirement_id, count in counted.items() if count > 1]


def test_every_requirement_is_one_sentence() -> None:
    assert [] == [entry for entry in REGISTER if not entry.behaviour.endswith(".")]


def test_tests_name_only_what_is_in_the_register(shown: list[tuple[str, str]]) -> None:
    assert [] == [f"{requirement_id} at {where}" for requirement_id, where in shown if requirement_id not in KNOWN]


def test_every_requirement_is_shown_by_a_test_or_has_a_reason_why_not(shown: list[tuple[str, str]]) -> None:
    assert [] == sorted(KNOWN - GAPS - {requirement_id for requirement_id, _ in shown})


def test_what_a_test_shows_is_no_gap(shown: list[tuple[str, str]]) -> None:
    assert [] == [f"{requirement_id} at {where}" for requirement_id, where in shown if requirement_id in GAPS]
