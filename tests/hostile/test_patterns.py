"""No regular expression of the package backtracks."""

import re

import pytest

import connector_gateway
from connector_gateway import connectors
from connector_gateway.kit.identifier_urls import MAX_URL_LENGTH
from connector_gateway.kit.upstream.redaction import Redaction
from harness.slow_patterns import PatternUse, modules, patterns_of, seconds, slow, slow_texts

KIB = 1024


@pytest.fixture(scope="module")
def patterns() -> list[PatternUse]:
    """All patterns; not parameters of a test, since every worker would collect them at its start."""
    return patterns_of(connector_gateway)


def test_slow_texts_do_not_slow_any_pattern(patterns: list[PatternUse]) -> None:
    assert [] == [(use.where, text) for use in patterns for text in slow(use)]


def test_patterns_are_collected_from_every_part_of_the_package(patterns: list[PatternUse]) -> None:
    connectors = {use.where.split(".")[2].partition(":")[0] for use in patterns if ".connectors." in use.where}

    assert {"notes", "boards", "mail", "chat", "crm", "tables"} <= connectors


@pytest.mark.parametrize(
    ("pattern", "searched", "size"),
    [(r"[^\s/@]+\.[^\s/@]+(/\S*)?", False, 12 * KIB), (r"oauth_\w+=", True, 48 * KIB)],
    ids=["nested", "repeated"],
)
def test_backtracking_patterns_are_detected(pattern: str, *, searched: bool, size: int) -> None:
    backtracking = PatternUse("here", re.compile(pattern), searched)

    assert slow(backtracking, size)


# Patterns that are built at run time

URL_PATTERNS = {
    pattern
    for module in modules(connectors)
    if module.__name__.endswith(".urls")
    for value in vars(module).values()
    if isinstance(value, tuple)
    for pattern in value
}
SECRETS = ("aaaaaaaa", "%&#0 +/\\")


@pytest.mark.parametrize("pattern", sorted(URL_PATTERNS))
def test_pasted_urls_of_maximum_length_are_parsed_quickly(pattern: str) -> None:
    use = PatternUse(pattern, re.compile(pattern), searched=False)
    texts = slow_texts(use.pattern, MAX_URL_LENGTH)

    assert max(seconds(use, text) for text in texts) < 0.02


@pytest.mark.parametrize("secret", SECRETS)
def test_slow_texts_are_searched_for_secrets_without_backtracking(secret: str) -> None:
    pattern = Redaction(lambda: [secret])._pattern
    assert pattern is not None

    assert [] == slow(PatternUse(secret, pattern, searched=True))
