"""The schedule names existing files."""

from pathlib import Path

from harness.order_of_test_files import LONGEST

PROJECT = Path(__file__).parent.parent


def test_the_files_scheduled_first_exist() -> None:
    assert [] == [name for name in LONGEST if not (PROJECT / name).is_file()]
    assert len(set(LONGEST)) == len(LONGEST)
