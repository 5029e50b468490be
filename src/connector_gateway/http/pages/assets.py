"""The files that pages load: each is sent from here, and kept by browsers for as long as it stays the same."""

import hashlib
from functools import cache
from pathlib import Path

from starlette.responses import Response

FOLDER = Path(__file__).parent.parent / "assets"
MEDIA = {
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    "live.js": "text/javascript",
    "page.js": "text/javascript",
    "connect.js": "text/javascript",
}
ASSETS = [f"/assets/{name}" for name in MEDIA]
"""The address of each."""

HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
"""Pages ask for a file under a version that changes with it."""


def asset(name: str) -> Response:
    """The file of that name."""
    return Response(content(name), media_type=MEDIA[name], headers=HEADERS)


@cache
def version(name: str) -> str:
    """A word that is another one as soon as the file is."""
    return hashlib.sha256(content(name)).hexdigest()[:12]


@cache
def content(name: str) -> bytes:
    """What is in the file of that name."""
    return (FOLDER / name).read_bytes()
