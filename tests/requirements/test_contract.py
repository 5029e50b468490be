"""The contract and the requirements name the same promises."""

import re
from pathlib import Path

import pytest

from requirements.contract import PAGES, PROJECT, clauses
from requirements.register import REGISTER
from requirements.requirement import NOT_BUILT

CLAUSES = [clause for page in PAGES for clause in clauses(page)]
STANDING = [clause for clause in CLAUSES if not clause.withdrawn]
CITED = {entry.clause for entry in REGISTER}
CITATION = re.compile(rf"(?<!\*)\b(?:{'|'.join(page.stem for page in PAGES)})-[0-9]+\b")


def test_the_contract_has_clauses() -> None:
    assert {page.stem for page in PAGES} == {clause.page for clause in STANDING}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_clauses_of_a_page_bear_its_name_and_every_number_once(page: Path) -> None:
    found = sorted((clause.page, clause.number) for clause in clauses(page))

    assert [(page.stem, number) for number in range(1, len(found) + 1)] == found


def test_requirements_cite_only_clauses_that_stand() -> None:
    names = {clause.name for clause in STANDING}

    assert [] == [f"{entry.requirement_id} cites {entry.clause}" for entry in REGISTER if entry.clause not in names]


def test_every_clause_is_cited_by_a_requirement() -> None:
    assert [] == [clause.name for clause in STANDING if clause.name not in CITED]


def test_documents_cite_only_clauses_that_stand() -> None:
    names = {clause.name for clause in STANDING}
    documents = [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]
    cited = [(path.name, name) for path in documents for name in CITATION.findall(path.read_text(encoding="utf-8"))]

    assert [] == [(path, name) for path, name in cited if name not in names]


def test_the_contract_marks_as_not_built_just_what_the_register_does() -> None:
    missing = {entry.clause for entry in REGISTER if entry.gap == NOT_BUILT}

    assert sorted(missing) == sorted(clause.name for clause in STANDING if not clause.built)


@pytest.mark.parametrize("item", ["- Something.", "- **notes-7** Something", "- **notes-07** Something.", "  more"])
def test_an_item_without_a_number_is_no_clause(tmp_path: Path, item: str) -> None:
    page = tmp_path / "notes.md"
    page.write_text(f"# Notes\n\n- **notes-1** A promise.\n{item}\n", encoding="utf-8")

    with pytest.raises(ValueError, match="no clause"):
        clauses(page)


def test_a_clause_tells_its_name_whether_it_stands_and_whether_it_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "notes.md"
    page.write_text(
        "- **notes-1** A promise.\n- **notes-2** *Withdrawn: none.*\n- **notes-3** A plan. *Not built yet.*\n",
        encoding="utf-8",
    )

    found = [(clause.name, clause.withdrawn, clause.built) for clause in clauses(page)]

    assert [("notes-1", False, True), ("notes-2", True, True), ("notes-3", False, False)] == found
