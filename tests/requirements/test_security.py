"""Every promise of SECURITY.md cites a clause, and so has a test."""

import re

import pytest

from requirements.contract import PAGES, PROJECT, clauses

TEXT = (PROJECT / "SECURITY.md").read_text(encoding="utf-8")
PROMISED = TEXT.partition("## What is guaranteed\n")[2].partition("\n## ")[0]
SENTENCES = [
    sentence
    for line in PROMISED.splitlines()
    if line.startswith("- **")
    for sentence in re.split(r"(?<=\.) (?=[A-Z`])", re.sub(r"^- \*\*.*?\*\* ", "", line))
]
CITED = re.compile(r"\(([a-z]+-\d+(?:, [a-z]+-\d+)*)\)\.$")
STANDING = {clause.name for page in PAGES for clause in clauses(page) if clause.built and not clause.withdrawn}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentences_cite_valid_clauses(sentence: str) -> None:
    match = CITED.search(sentence)

    assert match, "It cites no clause."
    assert [] == [name for name in match[1].split(", ") if name not in STANDING]


def test_the_page_contains_promises() -> None:
    assert len(SENTENCES) > 20
