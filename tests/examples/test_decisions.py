"""Decision records are few and short, have one form, and are in the index."""

import re

import pytest

from examples.code_blocks import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
RECORDS = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")
MAX_RECORDS = 42
MAX_WORDS = 320
MAX_AVERAGE_WORDS = 200
SECTIONS = ["Context", "Decision", "Consequences"]


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def test_records_are_few_and_numbered_without_gaps() -> None:
    assert len(RECORDS) <= MAX_RECORDS
    assert [f"{number:02}" for number in range(1, len(RECORDS) + 1)] == [name.partition("-")[0] for name in RECORDS]


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_short_and_has_three_sections(name: str) -> None:
    text = read(name)

    assert re.match(rf"# {int(name.partition('-')[0])}\. \S", text)
    assert SECTIONS == re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert len(text.split()) <= MAX_WORDS


def test_records_are_short_on_average() -> None:
    assert sum(len(read(name).split()) for name in RECORDS) <= MAX_AVERAGE_WORDS * len(RECORDS)


def test_the_index_lists_every_record_once_by_its_title() -> None:
    titles = {name: read(name).partition("\n")[0].removeprefix("# ") for name in RECORDS}
    listed = re.findall(r"^(\d+\.) \[(.*)\]\((.*)\)$", INDEX, re.MULTILINE)

    assert sorted(titles.items()) == sorted((file, f"{number} {title}") for number, title, file in listed)
