"""The headers that every response of the API carries."""

from collections.abc import Sequence

from connector_gateway.core.access.keys import NEUTRALISE
from connector_gateway.core.access.rate_limit import WINDOW_SECONDS
from connector_gateway.core.history.runs import Run
from connector_gateway.http.api.request_context import RequestContext

RawHeaders = list[tuple[bytes, bytes]]
MAX_REQUEST_ID = 200


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
    if b"prefer" in context.headers and (applied := _applied_preferences(context)):
        headers.append((b"preference-applied", b", ".join(applied)))
    request_id = context.headers.get(b"x-request-id")
    if request_id is not None and len(request_id) <= MAX_REQUEST_ID:
        headers.append((b"x-request-id", request_id))
    return headers


def _applied_preferences(context: RequestContext) -> list[bytes]:
    run = context.run
    possible = {
        b"dry-run": run.dry_run,
        b"lose-response": run.loses_response,
        b"mentions=neutralise": run.mentions == NEUTRALISE and b"mentions" in context.preferences,
    }
    return [preference for preference, is_applied in possible.items() if is_applied]


def _timing(run: Run) -> bytes:
    queue, upstream = run.log.wait_ms, run.log.duration_ms
    own = max(0.0, run.duration_ms - queue - upstream)
    return b"queue;dur=%.1f, upstream;dur=%.1f, gateway;dur=%.1f" % (queue, upstream, own)


def allow(methods: Sequence[str]) -> tuple[bytes, bytes]:
    """Return the ``Allow`` header with the methods of a route."""
    return b"allow", ", ".join(methods).encode()
