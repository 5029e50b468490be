"""Download addresses: pass files of third parties on piece by piece, without holding them whole."""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from connector_gateway.http.api.responses import RawHeaders, RequestContext, common_headers, error_response
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, internal_error, last_segment
from connector_gateway.kit.context import Download
from connector_gateway.kit.errors import GatewayError

MAX_NAME = 150
"""Characters of a file name; with their encodings, the header stays far below what servers take."""

MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")
HARMFUL = re.compile(r"[<>:|?*%;]")
"""Characters that some system or browser treats as more than a part of a name."""

ATTRIBUTE = "!#$&+^_`|~"
"""What RFC 5987 leaves as it is beside letters, digits and what ``quote`` never touches."""


def download_routes(edge: ApiContext, path: str) -> list[Route]:
    """The address of downloads, below *path*."""
    endpoint = DownloadEndpoint(edge)
    return [Route(f"{path}/{{token}}", MethodDispatcher(edge, {"GET": endpoint}))]


class DownloadEndpoint:
    """Passes the file behind a download address on."""

    def __init__(self, edge: ApiContext) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the file; a failure that comes too late to be told breaks the connection."""
        exchange = RequestContext(scope, receive, keyed=False)
        begun = False
        try:
            async with self._edge.gateway.download(exchange.run, last_segment(scope)) as download:
                # Until the first piece is there, a failure can still be told.
                first = b"" if scope["method"] == "HEAD" else await anext(download.pieces, b"")
                begun = True
                await _stream(exchange, download, first, send)
        except Exception as fault:
            if begun:
                raise
            error = fault if isinstance(fault, GatewayError) else internal_error(fault)
            await exchange.send(error_response(exchange.run, None, error), send)


async def _stream(exchange: RequestContext, download: Download, first: bytes, send: Send) -> None:
    """Send the file as fast as it is taken, until the client leaves."""
    await send({"type": "http.response.start", "status": 200, "headers": _headers(exchange, download)})
    if exchange.scope["method"] == "HEAD":
        await send({"type": "http.response.body"})
        return
    there = asyncio.timeout(None)
    try:
        async with there:
            listening = asyncio.create_task(_listen(exchange.receive, there))
            try:
                await _send_pieces(exchange, first, download.pieces, send)
            finally:
                listening.cancel()
    except TimeoutError:
        if not there.expired():
            raise


async def _send_pieces(exchange: RequestContext, first: bytes, rest: AsyncIterator[bytes], send: Send) -> None:
    await send({"type": "http.response.body", "body": first, "more_body": True})
    async for piece in rest:
        await exchange.client.drain()
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})


async def _listen(receive: Receive, there: asyncio.Timeout) -> None:
    """End what goes on while the client is *there*, once it has left or was cut."""
    while (await receive())["type"] != "http.disconnect":
        pass
    there.reschedule(asyncio.get_running_loop().time())


def _headers(exchange: RequestContext, download: Download) -> RawHeaders:
    mime_type = download.mime_type if MEDIA_TYPE.fullmatch(download.mime_type) else "application/octet-stream"
    headers: RawHeaders = [
        *common_headers(exchange),
        (b"content-type", mime_type.encode()),
        (b"content-disposition", content_disposition(download.filename).encode()),
        (b"x-content-type-options", b"nosniff"),
        # A file is somebody else's: a browser that shows it in spite of all must not run it with our origin.
        (b"content-security-policy", b"sandbox"),
    ]
    if download.size_bytes is not None:
        headers.append((b"content-length", b"%d" % download.size_bytes))
    return headers


def content_disposition(filename: str) -> str:
    """The ``Content-Disposition`` header by which browsers save the file as *filename*, whatever its characters."""
    name = safe_filename(filename)
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = ascii_name.replace('"', "_").strip(" .") or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe=ATTRIBUTE)}"


def safe_filename(filename: str) -> str:
    """The last part of *filename*, without characters that are harmful or could hide its ending."""
    last = re.split(r"[/\\]", filename)[-1]
    printable = "".join(char for char in last if unicodedata.category(char)[0] != "C")
    name = HARMFUL.sub("_", printable).strip(" .")
    stem, dot, ending = name.rpartition(".")
    if len(name) > MAX_NAME and dot and len(ending) < MAX_NAME // 2:
        return f"{stem[: MAX_NAME - len(ending) - 1]}.{ending}"
    return name[:MAX_NAME] or "file"
