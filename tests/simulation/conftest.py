"""Where histories happen."""

from collections.abc import Iterator

import pytest

from simulation import HASH_SEED, workers
from simulation.workers import Stage


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Tells what becomes of a story."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(HASH_SEED, "0")
        with workers.stage() as opened:
            yield opened
