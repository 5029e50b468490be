"""Every code block in the documentation is run by a test, or has a reason why not."""

import re

import pytest

from examples.code_blocks import ROOT, blocks_of
from examples.page_coverage import PAGES, RUN_BY, counted

LANGUAGES = {"", "sh", "python", "json", "text", "js", "typescript"}
"""The first language is for drawings."""

MARKED = {page: [block.not_run for block in blocks_of(page) if block.not_run is not None] for page in PAGES}


@pytest.mark.parametrize("page", RUN_BY)
def test_page_tests_run_as_many_blocks_as_the_page_has(page: str) -> None:
    module, blocks = RUN_BY[page]

    assert (ROOT / module).exists()
    assert dict(blocks) == dict(counted(page))


@pytest.mark.parametrize("page", [page for page in MARKED if MARKED[page]])
def test_blocks_that_are_not_run_give_a_reason(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")

    assert len(MARKED[page]) == len(re.findall(r"<!-- not run", text))
    assert [] == [reason for reason in MARKED[page] if len(reason.split()) < 3]


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_is_a_block_in_a_runnable_language(page: str) -> None:
    fences = re.findall(r"^ *```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)

    assert len(fences) == 2 * len(blocks_of(page))
    assert LANGUAGES >= {block.language for block in blocks_of(page)}
