"""Where histories happen."""

from collections.abc import Iterator

import pytest

from simulation import workers
from simulation.workers import Stage


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Tells what becomes of a story."""
    with workers.stage() as opened:
        yield opened
