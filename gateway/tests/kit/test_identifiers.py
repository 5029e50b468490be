"""Identifiers: each sorts behind those before it, and nobody can tell the next."""

import re
import time

import pytest

from connector_gateway.kit import identifiers
from connector_gateway.kit.identifiers import MAX_PER_MILLISECOND, ulid


@pytest.fixture
def mint(monkeypatch: pytest.MonkeyPatch) -> identifiers.UlidGenerator:
    minted = identifiers.UlidGenerator()
    monkeypatch.setattr(identifiers, "_ulid_generator", minted)
    return minted


def stand_still(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: milliseconds * 1_000_000)


def test_each_identifier_sorts_behind_those_before_it() -> None:
    made = [ulid() for _ in range(10_000)]

    assert made == sorted(set(made))


def test_an_identifier_tells_its_millisecond_as_the_specification_has_it(
    mint: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, 1_469_918_176_385)
    made = ulid()

    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", made)
    assert "01ARYZ6S41" == made[:10]
    assert ulid(1_469_918_176_385 << 80)[:10] == made[:10]


def test_more_identifiers_than_a_millisecond_holds_go_on_in_the_next(
    mint: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, 1_469_918_176_385)
    made = [ulid() for _ in range(2 * MAX_PER_MILLISECOND)]

    assert made == sorted(set(made))


def test_identifiers_go_on_growing_when_the_clock_is_set_back(
    mint: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, 2_000)
    before = ulid()
    stand_still(monkeypatch, 1_000)

    assert before < ulid()


def test_what_is_random_differs_in_each() -> None:
    made = [ulid() for _ in range(1000)]

    assert 1000 == len({one[-identifiers.TAIL_LENGTH :] for one in made})
