"""The emoji a workspace knows: the standard ones, and those its people added."""

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
"""As ``emoji.list`` shows them: an image, or another emoji by name."""


def canonical(name: str) -> str | None:
    """The one name that reactions of *name* are kept under; none if there is no such emoji."""
    plain, toned, tone = name.partition(SKIN_TONE)
    if plain in CUSTOM:
        return None if toned else plain
    known = _standard().get(plain)
    if known is None:
        return None
    first, has_tones = known
    if toned and not (has_tones and tone in SKIN_TONES):
        return None
    return first + toned + tone


@cache
def _standard() -> dict[str, tuple[str, bool]]:
    """Every standard name with its canonical one and whether it comes in skin tones.

    A line of ``emoji.txt`` is one emoji: its names, canonical first, and a star if it has skin tones; the names are
    those of github.com/iamcal/emoji-data, which the vendor uses.
    """
    found = {}
    for line in (Path(__file__).parent / "emoji.txt").read_text("utf-8").splitlines():
        names = line.removesuffix(" *").split()
        for name in names:
            found[name] = (names[0], line.endswith(" *"))
    return found
