"""HTTP answers: the body in the shape of every answer, and the headers that every answer carries."""

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
from connector_gateway.http.server.connection_limits import LARGE_BYTES, UNTRACKED, ClientConnection
from connector_gateway.kit.errors import GatewayError, MalformedRequest, ServiceFailure
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.shapes import Piece

JSON = b"application/json"
DRY_RUN = "application/vnd.connector-gateway.dry-run+json"
"""What a dry run is answered with, so that nobody takes it for the answer of the write (decision 66)."""

COMMAND_LINE = b"connector-gateway-cli/"
"""Beginning of the ``User-Agent`` of ``connector-gateway call``."""

RawHeaders = list[tuple[bytes, bytes]]
MAX_REQUEST_ID = 200

log = structlog.get_logger()


class HttpResponse(Struct):
    """What is sent back."""

    status: int
    body: bytes
    headers: Iterable[tuple[bytes, bytes]] = ()
    more: Sequence[Piece] = ()
    """Further pieces of the body, if it is too large to be copied into one."""

    media_type: bytes = JSON


class RequestContext:
    """One HTTP request and the run it is."""

    __slots__ = ("agent", "client", "headers", "keyed", "receive", "run", "scope")

    def __init__(self, scope: Scope, receive: Receive, surface: str = "http", *, keyed: bool = True) -> None:
        self.scope = scope
        self.receive = receive
        self.client = client_of(scope)
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        """By their names in lower case; of those that stand more than once the last."""

        self.agent = self.headers.get(b"user-agent", b"")
        self.run = Run("cli" if surface == "http" and self.agent.startswith(COMMAND_LINE) else surface)
        self.keyed = keyed
        """True if the request needs a key, so that its response says how many calls the key has left."""

    def header(self, name: bytes) -> str | None:
        """A header of the request, as text; ``MalformedRequest`` where it stands more than once."""
        value = self.raw_header(name)
        return None if value is None else value.decode("latin-1")

    def raw_header(self, name: bytes) -> bytes | None:
        """A header of the request, as it came; ``MalformedRequest`` where it stands more than once."""
        value = self.headers.get(name)
        if value is not None and len(self.headers) < len(self.scope["headers"]):
            self._require_once(name)
        return value

    def _require_once(self, name: bytes) -> None:
        """Refuse what a proxy and this service could read differently."""
        if [found for found, _ in self.scope["headers"]].count(name) > 1:
            told = name.decode()
            raise MalformedRequest(f"The header {told} stands more than once.", {"header": told})

    def prefers(self, preference: bytes) -> bool:
        """Whether a ``Prefer`` header names *preference* (RFC 7240), in any case and with any value."""
        return preference in self._preferences()

    def preference(self, name: bytes) -> str | None:
        """The value of a preference; empty if it has none, None if there is no such preference."""
        return self._preferences().get(name)

    def _preferences(self) -> Mapping[bytes, str]:
        """The preferences by their names in lower case, the first of each name (RFC 7240)."""
        if b"prefer" not in self.headers:
            return {}
        # It may stand more than once, and one that is overlooked would be a write that nobody wanted.
        named = b",".join(value for name, value in self.scope["headers"] if name == b"prefer").split(b",")
        found: dict[bytes, str] = {}
        for one in named:
            name, _, value = one.partition(b";")[0].partition(b"=")
            found.setdefault(name.strip().lower(), value.strip(b' \t"').decode("latin-1").lower())
        return found

    @property
    def address(self) -> str:
        """Where the request comes from; empty for what is no network."""
        client = self.scope.get("client")
        return client[0] if client else ""

    async def send(self, answer: HttpResponse, send: Send) -> None:
        """Send *answer*, which ends with a newline for terminals, with the headers that every response carries."""
        size = len(answer.body) + sum(map(len, answer.more)) + 1
        length = (b"content-length", b"%d" % size)
        headers = [(b"content-type", answer.media_type), *common_headers(self), *answer.headers, length]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        if size > LARGE_BYTES and self.scope["method"] != "HEAD":
            await self._send_large([answer.body, *answer.more, b"\n"], size, send)
            return
        if self.scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        *earlier, last = [answer.body, *answer.more]
        for piece in earlier:
            await send({"type": "http.response.body", "body": bytes(piece), "more_body": True})
        await send({"type": "http.response.body", "body": b"%b\n" % bytes(last)})

    async def _send_large(self, pieces: Iterable[Piece], size: int, send: Send) -> None:
        """Send what is counted while it is held, no faster than it is taken."""
        self.client.reserve_buffer(size)
        try:
            await send_chunked(self.client, pieces, send)
        finally:
            self.client.release()


def client_of(scope: Scope) -> ClientConnection:
    """Who asks."""
    client: ClientConnection = scope["state"]["client"] if "state" in scope else UNTRACKED
    return client


async def send_chunked(client: ClientConnection, pieces: Iterable[Piece], send: Send) -> None:
    """Send a large body no faster than it is taken, and others in between."""
    for piece in pieces:
        view = memoryview(bytes(piece))  # its parts are no copies
        for start in range(0, len(view), LARGE_BYTES):
            await client.drain()
            await send({"type": "http.response.body", "body": view[start : start + LARGE_BYTES], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def success_response(envelope: Envelope) -> HttpResponse:
    """The answer to a call that succeeded."""
    headers: RawHeaders = [(b"idempotent-replayed", b"true")] if envelope.replayed else []
    headers += [(b"warning", b'199 - "%b"' % _quotable(warning)) for warning in envelope.warnings]
    body, *more = envelope.to_json()
    return HttpResponse(200, bytes(body), headers, more, DRY_RUN.encode() if envelope.dry_run else JSON)


def _quotable(text: str) -> bytes:
    """Return *text* with single quotation marks and without other characters that a quoted value cannot hold."""
    return re.sub(r"[^ !#-\[\]-~]", "?", text.replace('"', "'")).encode()


def management_response(data: Any, *, next_cursor: str | None = None, paged: bool = False) -> HttpResponse:
    """The answer of a management route."""
    return HttpResponse(200, to_json({"data": data} | ({"next_cursor": next_cursor} if paged else {})))


def error_response(run: Run, connector: AnyConnector | None, error: GatewayError) -> HttpResponse:
    """The answer to a call that ended with *error*; what is private goes to the log."""
    log_private(run, error)
    headers: RawHeaders = []
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    return HttpResponse(error.status, to_json(error_envelope(run, connector, error)), headers)


def log_private(run: Run, error: GatewayError) -> None:
    """Log what callers are not told of *error*."""
    if error.private or isinstance(error, ServiceFailure):
        private = run.redaction.text(error.private)
        log.warning("refused", run_id=run.run_id, code=error.code, private=private, **_cause(run, error))


def _cause(run: Run, error: GatewayError) -> dict[str, str]:
    """How a fault of ours came about, as the log has exceptions."""
    cause = error.__cause__ if isinstance(error, ServiceFailure) else None
    return {} if cause is None else {"exception": run.redaction.traceback(cause)}


def common_headers(exchange: RequestContext) -> RawHeaders:
    """The headers that every answer carries, whatever it is made of."""
    run = exchange.run
    headers: RawHeaders = [
        # Answers hold what a key may see, and the next reader of a cache may have another key.
        (b"cache-control", b"no-store"),
        (b"x-run-id", run.run_id.encode()),
        (b"server-timing", _timing(run)),
    ]
    if exchange.keyed:
        headers.append((b"x-service-ratelimit-remaining", b"%d" % (run.allowance.remaining if run.allowance else 0)))
    if run.allowance:
        left, limit = run.allowance.remaining, run.allowance.limit
        headers += [
            (b"ratelimit", b'"key";r=%d;t=%d' % (left, WINDOW_SECONDS)),
            (b"ratelimit-policy", b'"key";q=%d;w=%d' % (limit, WINDOW_SECONDS)),
        ]
        if run.allowance.local:
            headers.append((b"x-service-counting", b"local-share"))
    applied = [b"dry-run"] if run.dry_run else []
    if run.mentions == NEUTRALISE and exchange.prefers(b"mentions"):
        applied.append(b"mentions=neutralise")
    if applied:
        headers.append((b"preference-applied", b", ".join(applied)))
    request_id = exchange.headers.get(b"x-request-id")
    if request_id is not None and len(request_id) <= MAX_REQUEST_ID:
        headers.append((b"x-request-id", request_id))
    return headers


def _timing(run: Run) -> bytes:
    queue, upstream = run.trace.wait_ms, run.trace.duration_ms
    own = max(0.0, run.duration_ms - queue - upstream)
    return b"queue;dur=%.1f, upstream;dur=%.1f, gateway;dur=%.1f" % (queue, upstream, own)


def allow(methods: Sequence[str]) -> tuple[bytes, bytes]:
    """The header that names the methods of a route."""
    return b"allow", ", ".join(methods).encode()
