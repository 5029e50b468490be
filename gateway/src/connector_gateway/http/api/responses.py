"""HTTP responses: envelopes as bodies, and the headers of every response."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from msgspec import Struct
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from connector_gateway.core.access.keys import NEUTRALISE
from connector_gateway.core.access.rate_limit import WINDOW_SECONDS
from connector_gateway.core.calls.envelope import Envelope, error_envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.server.connection_limits import LARGE_BYTES, UNTRACKED_CONNECTION, ClientConnection
from connector_gateway.kit.errors import GatewayError, MalformedRequest, ServiceFailure
from connector_gateway.kit.models import Piece
from connector_gateway.kit.operation import AnyConnector

JSON = b"application/json"
DRY_RUN = "application/vnd.connector-gateway.dry-run+json"
"""The media type of dry-run responses, which distinguishes them from the response of the write."""

CLI_USER_AGENT = b"connector-gateway-cli/"
"""The prefix of the ``User-Agent`` of ``connector-gateway call``."""

RawHeaders = list[tuple[bytes, bytes]]
MAX_REQUEST_ID = 200

log = structlog.get_logger()


class HttpResponse(Struct):
    """An HTTP response before encoding."""

    status: int
    body: bytes
    headers: Iterable[tuple[bytes, bytes]] = ()
    more: Sequence[Piece] = ()
    """Further pieces of the body, if it is too large to be copied into one buffer."""

    media_type: bytes = JSON


class RequestContext:
    """An HTTP request and the run that records it."""

    __slots__ = ("agent", "client", "headers", "keyed", "receive", "run", "scope")

    def __init__(self, scope: Scope, receive: Receive, surface: str = "http", *, keyed: bool = True) -> None:
        self.scope = scope
        self.receive = receive
        self.client = get_client(scope)
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        """Headers by lower-case name. Of repeated headers, the last value."""

        self.agent = self.headers.get(b"user-agent", b"")
        self.run = Run("cli" if surface == "http" and self.agent.startswith(CLI_USER_AGENT) else surface)
        self.keyed = keyed
        """Whether the request needs a key. If so, its response reports how many calls the key has left."""

    def header(self, name: bytes) -> str | None:
        """Return a request header as text. Raises ``MalformedRequest`` if it is repeated."""
        value = self.raw_header(name)
        return None if value is None else value.decode("latin-1")

    def raw_header(self, name: bytes) -> bytes | None:
        """Return the raw value of a request header. Raises ``MalformedRequest`` if it is repeated."""
        value = self.headers.get(name)
        if value is not None and len(self.headers) < len(self.scope["headers"]):
            self._check_single(name)
        return value

    def _check_single(self, name: bytes) -> None:
        """Reject a repeated header, which a proxy could interpret differently."""
        if [header for header, _ in self.scope["headers"]].count(name) > 1:
            text = name.decode()
            raise MalformedRequest(f"The header {text} occurs more than once.", {"header": text})

    def prefers(self, preference: bytes) -> bool:
        """Return True if a ``Prefer`` header contains *preference* (RFC 7240), in any case and with any value."""
        return preference in self._preferences()

    def preference(self, name: bytes) -> str | None:
        """Return the value of a preference: empty if it has no value, None if the preference is absent."""
        return self._preferences().get(name)

    def _preferences(self) -> Mapping[bytes, str]:
        """Return the preferences by lower-case name. Of repeated names the first counts (RFC 7240)."""
        if b"prefer" not in self.headers:
            return {}
        # The header may be repeated, and an overlooked dry-run preference would cause an unintended write.
        items = b",".join(value for name, value in self.scope["headers"] if name == b"prefer").split(b",")
        preferences: dict[bytes, str] = {}
        for item in items:
            name, _, value = item.partition(b";")[0].partition(b"=")
            preferences.setdefault(name.strip().lower(), value.strip(b' \t"').decode("latin-1").lower())
        return preferences

    @property
    def address(self) -> str:
        """The IP address of the client. Empty if the connection has none."""
        client = self.scope.get("client")
        return client[0] if client else ""

    async def send(self, response: HttpResponse, send: Send) -> None:
        """Send *response*, which ends with a newline for terminals, with the headers that every response carries."""
        size = len(response.body) + sum(map(len, response.more)) + 1
        length = (b"content-length", b"%d" % size)
        headers = [(b"content-type", response.media_type), *common_headers(self), *response.headers, length]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if size > LARGE_BYTES and self.scope["method"] != "HEAD":
            await self._send_large([response.body, *response.more, b"\n"], size, send)
            return
        if self.scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        *earlier, last = [response.body, *response.more]
        for piece in earlier:
            await send({"type": "http.response.body", "body": bytes(piece), "more_body": True})
        await send({"type": "http.response.body", "body": b"%b\n" % bytes(last)})

    async def _send_large(self, pieces: Iterable[Piece], size: int, send: Send) -> None:
        """Send a large body no faster than the client reads it, and count it as buffered until then."""
        self.client.reserve_buffer(size)
        try:
            await send_chunked(self.client, pieces, send)
        finally:
            self.client.release()


def get_client(scope: Scope) -> ClientConnection:
    """Return the client connection of a request."""
    client: ClientConnection = scope["state"]["client"] if "state" in scope else UNTRACKED_CONNECTION
    return client


async def send_chunked(client: ClientConnection, pieces: Iterable[Piece], send: Send) -> None:
    """Send a large body no faster than the client reads it, interleaved with other responses."""
    for piece in pieces:
        view = memoryview(bytes(piece))  # slices of it are not copied
        for start in range(0, len(view), LARGE_BYTES):
            await client.drain()
            await send({"type": "http.response.body", "body": view[start : start + LARGE_BYTES], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def success_response(envelope: Envelope) -> HttpResponse:
    """Return the response to a successful call."""
    headers: RawHeaders = [(b"idempotent-replayed", b"true")] if envelope.replayed else []
    headers += [(b"warning", b'199 - "%b"' % _to_quoted_text(warning)) for warning in envelope.warnings]
    body, *more = envelope.to_json()
    return HttpResponse(200, bytes(body), headers, more, DRY_RUN.encode() if envelope.dry_run else JSON)


def _to_quoted_text(text: str) -> bytes:
    """Return *text* with single quotation marks and without other characters that are invalid in a quoted value."""
    return re.sub(r"[^ !#-\[\]-~]", "?", text.replace('"', "'")).encode()


def management_response(data: Any, *, next_cursor: str | None = None, paged: bool = False) -> HttpResponse:
    """Return the response of a management route."""
    return HttpResponse(200, to_json({"data": data} | ({"next_cursor": next_cursor} if paged else {})))


def error_response(run: Run, connector: AnyConnector | None, error: GatewayError) -> HttpResponse:
    """Return the response to a call that ended with *error*, and log its private details."""
    log_private(run, error)
    headers: RawHeaders = []
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    return HttpResponse(error.status, to_json(error_envelope(run, connector, error)), headers)


def log_private(run: Run, error: GatewayError) -> None:
    """Log the private details of *error*, which responses omit."""
    if error.private or isinstance(error, ServiceFailure):
        private = run.redaction.text(error.private)
        log.warning("request failed", run_id=run.run_id, code=error.code, private=private, **_cause(run, error))


def _cause(run: Run, error: GatewayError) -> dict[str, str]:
    """Return the traceback of an internal error, as a field for the log."""
    cause = error.__cause__ if isinstance(error, ServiceFailure) else None
    return {} if cause is None else {"exception": run.redaction.traceback(cause)}


def common_headers(context: RequestContext) -> RawHeaders:
    """Return the headers of every response."""
    run = context.run
    headers: RawHeaders = [
        # Responses contain data that only this key may see, and a shared cache could serve another key.
        (b"cache-control", b"no-store"),
        (b"x-run-id", run.run_id.encode()),
        (b"server-timing", _timing(run)),
    ]
    if context.keyed:
        headers.append((b"x-service-ratelimit-remaining", b"%d" % (run.allowance.remaining if run.allowance else 0)))
    if run.allowance:
        remaining, limit = run.allowance.remaining, run.allowance.limit
        headers += [
            (b"ratelimit", b'"key";r=%d;t=%d' % (remaining, WINDOW_SECONDS)),
            (b"ratelimit-policy", b'"key";q=%d;w=%d' % (limit, WINDOW_SECONDS)),
        ]
        if run.allowance.is_local:
            headers.append((b"x-service-counting", b"local-share"))
    applied = [b"dry-run"] if run.dry_run else []
    if run.mentions == NEUTRALISE and context.prefers(b"mentions"):
        applied.append(b"mentions=neutralise")
    if applied:
        headers.append((b"preference-applied", b", ".join(applied)))
    request_id = context.headers.get(b"x-request-id")
    if request_id is not None and len(request_id) <= MAX_REQUEST_ID:
        headers.append((b"x-request-id", request_id))
    return headers


def _timing(run: Run) -> bytes:
    queue, upstream = run.log.wait_ms, run.log.duration_ms
    own = max(0.0, run.duration_ms - queue - upstream)
    return b"queue;dur=%.1f, upstream;dur=%.1f, gateway;dur=%.1f" % (queue, upstream, own)


def allow(methods: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the ``Allow`` header with the methods of a route."""
    return b"allow", ", ".join(methods).encode()
