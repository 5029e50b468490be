"""Fixtures of histories."""

from collections.abc import Iterator

import pytest

from simulation import HASH_SEED, parallel_histories
from simulation.parallel_histories import StoryRunner


@pytest.fixture(scope="module")
def runner() -> Iterator[StoryRunner]:
    """Runs a story and returns its outcome."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(HASH_SEED, "0")
        with parallel_histories.runner() as opened:
            yield opened
