"""The static files of pages, which browsers cache until they change."""

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
"""The paths of all assets."""

HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
"""Headers for permanent caching. The URLs in pages contain a version that changes with the file."""


def asset(name: str) -> Response:
    """Return the asset *name* as a response."""
    return Response(content(name), media_type=MEDIA[name], headers=HEADERS)


@cache
def version(name: str) -> str:
    """Return a version of the file *name*, derived from its content."""
    return hashlib.sha256(content(name)).hexdigest()[:12]


@cache
def content(name: str) -> bytes:
    """Return the content of the file *name*."""
    return (FOLDER / name).read_bytes()
