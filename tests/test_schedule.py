"""The order of the suite: what it begins with is there."""

from pathlib import Path

from harness.schedule import LONGEST

TESTS = Path(__file__).parent


def test_the_files_that_are_begun_first_exist() -> None:
    assert [] == [name for name in LONGEST if not (TESTS / name).is_file()]
    assert len(set(LONGEST)) == len(LONGEST)
