"""The emoji of a workspace: the standard set and custom ones."""

from functools import cache
from pathlib import Path

SKIN_TONE = "::skin-tone-"
SKIN_TONES = frozenset("23456")

CUSTOM = {
    "party_parrot": "https://emoji.slack-edge.com/T04NW2K7QLM/party_parrot/0a1b2c3d4e5f.gif",
    "northwind": "https://emoji.slack-edge.com/T04NW2K7QLM/northwind/9f8e7d6c5b4a.png",
    "deploying": "https://emoji.slack-edge.com/T04NW2K7QLM/deploying/1122334455aa.gif",
    "shipit": "alias:squirrel",
}
"""Custom emoji in the format of ``emoji.list``: an image, or an alias of another emoji."""


def canonical_name(name: str) -> str | None:
    """Return the canonical name of *name* for reactions, or None if there is no such emoji."""
    plain, toned, tone = name.partition(SKIN_TONE)
    if plain in CUSTOM:
        return None if toned else plain
    entry = _standard().get(plain)
    if entry is None:
        return None
    first, has_tones = entry
    if toned and not (has_tones and tone in SKIN_TONES):
        return None
    return first + toned + tone


@cache
def _standard() -> dict[str, tuple[str, bool]]:
    """Return the standard emoji by name, each with its canonical name and whether it has skin tones.

    Each line of ``emoji.txt`` is an emoji: its names, canonical first, and a star if it has skin tones. The names are
    those of github.com/iamcal/emoji-data, which Slack uses.
    """
    entries = {}
    for line in (Path(__file__).parent / "emoji.txt").read_text("utf-8").splitlines():
        names = line.removesuffix(" *").split()
        for name in names:
            entries[name] = (names[0], line.endswith(" *"))
    return entries
