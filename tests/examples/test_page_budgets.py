"""The pages of the documentation are short, and written in standard English."""

import re
from collections.abc import Collection, Mapping

import pytest

from examples.code_blocks import ROOT, WRITTEN, prose_of

GENERATED, CONTRACT = "docs/reference/", "docs/contract/"

ROOT_BUDGETS: Mapping[str, int] = {
    "README.md": 800,
    "ARCHITECTURE.md": 1_200,
    "CONTRIBUTING.md": 1_050,
    "SECURITY.md": 1_000,
    "CHANGELOG.md": 1_000,
}
"""Maximum words of the pages in the root of the repository."""

PAGE_BUDGET = 1_500
GLOSSARY_BUDGET = 350
TOTAL_BUDGET = 50_000
README_LINES, CHANGELOG_LINES = 90, 60

FIRST_CALL = (
    "README.md",
    "docs/tutorial.md",
    "docs/guide/connect/README.md",
    "docs/guide/connect/first-call.md",
)
"""The pages from the first look to the first call of a real account."""

WORDS_PER_MINUTE = 200
READING_MINUTES = 10

BANNED = re.compile(r"\b(told|tells|whoever|nobody|somebody)\b", re.IGNORECASE)
BANNED_PER_10_000 = 12
"""Maximum frequency of the banned words. Each has a plain equivalent in docs/contributing/style.md."""

DOCUMENTATION = [page for page in WRITTEN if page.startswith("docs/") and not page.startswith(GENERATED)]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def count_words(pages: Collection[str]) -> int:
    """Return the number of words of *pages*, as ``wc -w`` counts them: code and marks included."""
    return sum(len(text_of(page).split()) for page in pages)


@pytest.mark.parametrize("page", ROOT_BUDGETS)
def test_a_root_page_is_within_its_budget(page: str) -> None:
    assert ROOT_BUDGETS[page] >= count_words([page])


def test_the_readme_and_the_changelog_are_short_enough_to_scan() -> None:
    lines = [len(text_of(page).splitlines()) for page in ("README.md", "CHANGELOG.md")]

    assert [True, True] == [README_LINES >= lines[0], CHANGELOG_LINES >= lines[1]]


def test_pages_are_within_their_budget() -> None:
    pages = [page for page in DOCUMENTATION if not page.startswith(CONTRACT)]

    assert {} == {page: words for page in pages if (words := count_words([page])) > PAGE_BUDGET}


def test_the_documentation_is_within_its_budget() -> None:
    assert TOTAL_BUDGET >= count_words(DOCUMENTATION)


def test_the_glossary_is_within_its_budget() -> None:
    assert GLOSSARY_BUDGET >= count_words(["docs/explanation/glossary.md"])


def test_the_way_to_the_first_real_call_is_read_in_ten_minutes() -> None:
    words = sum(len(prose_of(page).split()) for page in FIRST_CALL)

    assert READING_MINUTES * WORDS_PER_MINUTE >= words


def test_banned_words_are_rare() -> None:
    pages = [page for page in WRITTEN if not page.startswith(GENERATED)]
    found = {page: words for page in pages if (words := BANNED.findall(prose_of(page)))}
    allowed = BANNED_PER_10_000 * count_words(pages) / 10_000

    assert allowed >= sum(map(len, found.values())), found
