"""Every clause of the contract is covered by a test, and tests name no other clauses."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from connector_gateway.conformance.checks import OPERATION_CHECKS, SERVICE_CHECKS
from requirements.contract import PAGES, PROJECT, clauses

CLAUSES = [clause for page in PAGES for clause in clauses(page)]
TESTS = [path for folder in (PROJECT, *PROJECT.glob("*/")) for path in sorted((folder / "tests").rglob("test_*.py"))]
STANDING = [clause for clause in CLAUSES if not clause.withdrawn]
CITATION = re.compile(rf"(?<!\*)\b(?:{'|'.join(page.stem for page in PAGES)})-[0-9]+\b")


@pytest.fixture(scope="module")
def tested() -> Mapping[str, str]:
    """Return every clause that a test names, with the location."""
    return {
        ast.literal_eval(argument): f"{path.relative_to(PROJECT)}:{node.lineno}"
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement"
        for argument in node.args
    }


def test_the_contract_has_clauses() -> None:
    assert {page.stem for page in PAGES} == {clause.page for clause in STANDING}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_clauses_are_named_after_their_page_and_numbered_without_gaps(page: Path) -> None:
    numbered = sorted((clause.page, clause.number) for clause in clauses(page))

    assert [(page.stem, number) for number in range(1, len(numbered) + 1)] == numbered


def test_tests_cite_only_valid_clauses(tested: Mapping[str, str]) -> None:
    names = {clause.name for clause in STANDING}

    assert [] == [f"{name} at {where}" for name, where in tested.items() if name not in names]


def test_every_implemented_clause_has_a_test(tested: Mapping[str, str]) -> None:
    checked = {name for check in (*OPERATION_CHECKS, *SERVICE_CHECKS) for name in check.clauses}

    assert [] == [clause.name for clause in STANDING if clause.built and clause.name not in {*tested, *checked}]


def test_unimplemented_clauses_have_no_test(tested: Mapping[str, str]) -> None:
    assert [] == [clause.name for clause in STANDING if not clause.built and clause.name in tested]


def test_documents_cite_only_valid_clauses() -> None:
    names = {clause.name for clause in STANDING}
    documents = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    cited = [(path.name, name) for path in documents for name in CITATION.findall(path.read_text(encoding="utf-8"))]

    assert [] == [(path, name) for path, name in cited if name not in names]


@pytest.mark.parametrize("item", ["- Something.", "- **notes-7** Something", "- **notes-07** Something.", "  more"])
def test_items_without_a_number_are_not_clauses(tmp_path: Path, item: str) -> None:
    page = tmp_path / "notes.md"
    page.write_text(f"# Notes\n\n- **notes-1** A promise.\n{item}\n", encoding="utf-8")

    with pytest.raises(ValueError, match="not a clause"):
        clauses(page)


def test_clauses_are_parsed_with_name_withdrawal_and_state(tmp_path: Path) -> None:
    page = tmp_path / "notes.md"
    page.write_text(
        "- **notes-1** A promise.\n- **notes-2** *Withdrawn: none.*\n- **notes-3** A plan. *Not built yet.*\n",
        encoding="utf-8",
    )

    parsed = [(clause.name, clause.withdrawn, clause.built) for clause in clauses(page)]

    assert [("notes-1", False, True), ("notes-2", True, True), ("notes-3", False, False)] == parsed
