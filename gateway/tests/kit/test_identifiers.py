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
    identifiers_created = [ulid() for _ in range(10_000)]

    assert identifiers_created == sorted(set(identifiers_created))


def test_an_identifier_encodes_its_millisecond_as_specified(
    mint: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, 1_469_918_176_385)
    identifiers_created = ulid()

    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", identifiers_created)
    assert "01ARYZ6S41" == identifiers_created[:10]
    assert ulid(1_469_918_176_385 << 80)[:10] == identifiers_created[:10]


def test_more_identifiers_than_a_millisecond_holds_go_on_in_the_next(
    mint: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, 1_469_918_176_385)
    identifiers_created = [ulid() for _ in range(2 * MAX_PER_MILLISECOND)]

    assert identifiers_created == sorted(set(identifiers_created))


def test_identifiers_go_on_growing_when_the_clock_is_set_back(
    mint: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_still(monkeypatch, 2_000)
    before = ulid()
    stand_still(monkeypatch, 1_000)

    assert before < ulid()


def test_the_random_part_differs_in_each() -> None:
    identifiers_created = [ulid() for _ in range(1000)]

    assert 1000 == len({one[-identifiers.TAIL_LENGTH :] for one in identifiers_created})
