"""Identifiers: each sorts after all earlier ones, and the next one is unguessable."""

import re
import time

import pytest

from connector_gateway.kit import identifiers
from connector_gateway.kit.identifiers import MAX_PER_MILLISECOND, ulid


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> identifiers.UlidGenerator:
    generator = identifiers.UlidGenerator()
    monkeypatch.setattr(identifiers, "_ulid_generator", generator)
    return generator


def freeze_clock(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: milliseconds * 1_000_000)


def test_each_identifier_sorts_after_all_earlier_ones() -> None:
    created = [ulid() for _ in range(10_000)]

    assert created == sorted(set(created))


def test_an_identifier_encodes_its_millisecond_as_specified(
    generator: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze_clock(monkeypatch, 1_469_918_176_385)
    created = ulid()

    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", created)
    assert "01ARYZ6S41" == created[:10]
    assert ulid(1_469_918_176_385 << 80)[:10] == created[:10]


def test_excess_identifiers_of_a_millisecond_use_the_next_one(
    generator: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze_clock(monkeypatch, 1_469_918_176_385)
    created = [ulid() for _ in range(2 * MAX_PER_MILLISECOND)]

    assert created == sorted(set(created))


def test_identifiers_increase_after_the_clock_was_set_back(
    generator: identifiers.UlidGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze_clock(monkeypatch, 2_000)
    before = ulid()
    freeze_clock(monkeypatch, 1_000)

    assert before < ulid()


def test_identifiers_have_different_random_parts() -> None:
    created = [ulid() for _ in range(1000)]

    assert 1000 == len({one[-identifiers.TAIL_LENGTH :] for one in created})
