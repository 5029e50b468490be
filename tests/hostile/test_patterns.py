"""No pattern of the package backtracks."""

import re

import pytest

import connector_gateway
from harness.slowing import Found, patterns_of, slow

PATTERNS = patterns_of(connector_gateway)


@pytest.mark.parametrize("found", PATTERNS, ids=lambda found: found.where)
def test_a_pattern_takes_no_longer_for_texts_that_are_made_to_be_slow(found: Found) -> None:
    assert [] == slow(found)


def test_patterns_are_looked_for_in_every_part_of_the_package() -> None:
    rooms = {found.where.split(".")[2].partition(":")[0] for found in PATTERNS if ".connectors." in found.where}

    assert {"notes", "boards", "mail", "chat", "crm", "tables"} == rooms


def test_a_pattern_that_backtracks_is_found() -> None:
    nested = Found("here", re.compile(r"[^\s/@]+\.[^\s/@]+(/\S*)?"), searched=False)
    repeated = Found("here", re.compile(r"oauth_\w+="), searched=True)

    assert slow(nested)
    assert slow(repeated)
