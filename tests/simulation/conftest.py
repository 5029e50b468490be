"""Fixtures of histories."""

from collections.abc import Iterator

import pytest

from simulation import HASH_SEED, workers
from simulation.workers import Stage


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Runs a story and returns its outcome."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(HASH_SEED, "0")
        with workers.stage() as opened:
            yield opened
