"""The API reference: a viewer of the OpenAPI document, served by the gateway itself so that it works offline."""

import asyncio
import gzip
from collections.abc import Mapping
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from connector_gateway.http.api.cached_documents import ChunkedResponse
from connector_gateway.http.pages import Pages
from connector_gateway.http.pages.assets import content

Described = Mapping[str, Any]

VIEWER = "stopments"
"""The package that ships Scalar as one script. It is read as a file and never imported."""

SCRIPT = "stopments/static/scalar-api-reference.js"

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only resources of this origin may be loaded. The viewer generates its styles at runtime."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
IMMUTABLE_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
"""Headers of files whose URL contains the version of the viewer."""


def reference(pages: Pages, document: Described) -> Response:
    """Return the page that displays *document*. Without scripts it lists the operations."""
    operations = [
        (method.upper(), path, operation["summary"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    template = pages.template("reference.html")
    page = template.render(info=document["info"], operations=operations, version=version())
    return HTMLResponse(page, headers=HEADERS)


def viewer_script() -> Response:
    """Return the script that starts the viewer."""
    return Response(
        content("reference.js"), media_type="text/javascript", headers={"X-Content-Type-Options": "nosniff"}
    )


async def viewer(request: Request) -> Response:
    """Return the viewer script, compressed if the client accepts gzip."""
    headers = IMMUTABLE_HEADERS | {"Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(_script(), media_type="text/javascript", headers=headers)
    content = await asyncio.to_thread(_compressed)
    return ChunkedResponse(content, media_type="text/javascript", headers=headers | {"Content-Encoding": "gzip"})


def version() -> str:
    """Return the version of the viewer."""
    return distribution(VIEWER).version


def _script() -> Path:
    return Path(str(distribution(VIEWER).locate_file(SCRIPT)))


@cache
def _compressed() -> bytes:
    return gzip.compress(_script().read_bytes())
