"""Download URLs: stream files from vendors, without holding them completely in memory."""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.response_headers import RawHeaders, common_headers
from connector_gateway.http.api.responses import error_response, send_response
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, internal_error, last_segment
from connector_gateway.kit.context import Download
from connector_gateway.kit.errors import GatewayError

MAX_NAME = 150
"""The maximum length of a file name in characters. Its encoded form stays below the header limits of proxies."""

MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")
HARMFUL_CHARACTERS = re.compile(r"[<>:|?*%;]")
"""Characters with a special meaning in file names on some system or browser."""

SAFE_CHARACTERS = "!#$&+^_`|~"
"""Characters that RFC 5987 leaves unencoded, in addition to those that ``quote`` never encodes."""


def download_routes(edge: ApiContext, path: str) -> list[Route]:
    """Return the route of downloads below *path*."""
    endpoint = DownloadEndpoint(edge)
    return [Route(f"{path}/{{token}}", MethodDispatcher(edge, {"GET": endpoint}))]


class DownloadEndpoint:
    """Streams the file behind a download URL."""

    def __init__(self, edge: ApiContext) -> None:
        self._edge = edge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the file. An error after the headers were sent closes the connection."""
        context = RequestContext(scope, receive, keyed=False)
        started = False
        try:
            async with self._edge.executor.download(context.run, last_segment(scope)) as download:
                # Until the first piece has arrived, an error response is still possible.
                first = b"" if scope["method"] == "HEAD" else await anext(download.pieces, b"")
                started = True
                await _stream(context, download, first, send)
        except Exception as exception:
            if started:
                raise
            error = exception if isinstance(exception, GatewayError) else internal_error(exception)
            await send_response(context, error_response(context.run, None, error), send)


async def _stream(context: RequestContext, download: Download, first: bytes, send: Send) -> None:
    """Send the file as fast as the client reads it, until the client disconnects."""
    await send({"type": "http.response.start", "status": 200, "headers": _headers(context, download)})
    if context.scope["method"] == "HEAD":
        await send({"type": "http.response.body"})
        return
    cancel_scope = asyncio.timeout(None)
    try:
        async with cancel_scope:
            watcher = asyncio.create_task(_watch_disconnect(context.receive, cancel_scope))
            try:
                await _send_pieces(context, first, download.pieces, send)
            finally:
                watcher.cancel()
    except TimeoutError:
        if not cancel_scope.expired():
            raise


async def _send_pieces(context: RequestContext, first: bytes, rest: AsyncIterator[bytes], send: Send) -> None:
    await send({"type": "http.response.body", "body": first, "more_body": True})
    async for piece in rest:
        await context.client.drain()
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body"})


async def _watch_disconnect(receive: Receive, cancel_scope: asyncio.Timeout) -> None:
    """Expire *cancel_scope* when the client disconnects or its connection is aborted."""
    while (await receive())["type"] != "http.disconnect":
        pass
    cancel_scope.reschedule(asyncio.get_running_loop().time())


def _headers(context: RequestContext, download: Download) -> RawHeaders:
    mime_type = download.mime_type if MEDIA_TYPE.fullmatch(download.mime_type) else "application/octet-stream"
    headers: RawHeaders = [
        *common_headers(context),
        (b"content-type", mime_type.encode()),
        (b"content-disposition", content_disposition(download.filename).encode()),
        (b"x-content-type-options", b"nosniff"),
        # The content is untrusted: a browser that displays it anyway must not run it with this origin.
        (b"content-security-policy", b"sandbox"),
    ]
    if download.size_bytes is not None:
        headers.append((b"content-length", b"%d" % download.size_bytes))
    return headers


def content_disposition(filename: str) -> str:
    """Return the ``Content-Disposition`` header with which browsers save the file as *filename*."""
    name = safe_filename(filename)
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = ascii_name.replace('"', "_").strip(" .") or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe=SAFE_CHARACTERS)}"


def safe_filename(filename: str) -> str:
    """Return the last part of *filename*, without characters that are harmful or could hide its extension."""
    last = re.split(r"[/\\]", filename)[-1]
    printable = "".join(char for char in last if unicodedata.category(char)[0] != "C")
    name = HARMFUL_CHARACTERS.sub("_", printable).strip(" .")
    stem, dot, extension = name.rpartition(".")
    if len(name) > MAX_NAME and dot and len(extension) < MAX_NAME // 2:
        return f"{stem[: MAX_NAME - len(extension) - 1]}.{extension}"
    return name[:MAX_NAME] or "file"
