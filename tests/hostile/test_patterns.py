"""No pattern of the package backtracks."""

import re

import pytest

import connector_gateway
from harness.slowing import Found, patterns_of, slow

PATTERNS = patterns_of(connector_gateway)
KIB = 1024


@pytest.mark.parametrize("found", PATTERNS, ids=lambda found: found.where)
def test_a_pattern_takes_no_longer_for_texts_that_are_made_to_be_slow(found: Found) -> None:
    assert [] == slow(found)


def test_patterns_are_looked_for_in_every_part_of_the_package() -> None:
    rooms = {found.where.split(".")[2].partition(":")[0] for found in PATTERNS if ".connectors." in found.where}

    assert {"notes", "boards", "mail", "chat", "crm", "tables"} == rooms


@pytest.mark.parametrize(
    ("pattern", "searched", "size"),
    [(r"[^\s/@]+\.[^\s/@]+(/\S*)?", False, 12 * KIB), (r"oauth_\w+=", True, 48 * KIB)],
    ids=["nested", "repeated"],
)
def test_a_pattern_that_backtracks_is_found(pattern: str, *, searched: bool, size: int) -> None:
    backtracking = Found("here", re.compile(pattern), searched)

    assert slow(backtracking, size)
