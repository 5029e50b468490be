"""The pages of the vendors and of the emulators have one layout each."""

import re

import pytest

from connector_gateway.connectors import CONNECTORS
from examples.code_blocks import ROOT

HEADINGS = {
    "docs/vendors": ["Operations", "Limits", "Peculiarities", "Events", "See also"],
    "docs/guide/sandbox": ["Python", "JavaScript", "See also"],
}


@pytest.mark.parametrize("folder", HEADINGS)
@pytest.mark.parametrize("connector", sorted(CONNECTORS))
def test_every_page_has_the_same_headings(folder: str, connector: str) -> None:
    text = (ROOT / folder / f"{connector}.md").read_text(encoding="utf-8")

    assert HEADINGS[folder] == re.findall(r"^## (.*)$", text, re.MULTILINE)
