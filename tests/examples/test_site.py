"""The documentation site contains every page, and every link resolves."""

import re
from os.path import normpath
from pathlib import Path

from examples.code_blocks import ROOT, WRITTEN, prose_of

LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
NAVIGATION = (ROOT / "zensical.toml").read_text(encoding="utf-8")


def links(page: str) -> set[str]:
    """Return the files and folders of the project that a page links to."""
    return {normpath(Path(page).parent / target) for target in LINK.findall(prose_of(page))}


def test_every_page_is_in_the_navigation_or_linked() -> None:
    reached = set(re.findall(r'"([^"]+\.md)"', NAVIGATION)).union(*map(links, WRITTEN))

    assert [] == [page for page in WRITTEN if not reached & {page, str(Path(page).parent)}]


def test_every_link_resolves() -> None:
    missing = [(page, link) for page in WRITTEN for link in links(page) if not (ROOT / link).exists()]

    assert [] == missing
