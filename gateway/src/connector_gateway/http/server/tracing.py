"""OpenTelemetry traces: a span for each request, with a child span for each upstream request.

Imported only if an exporter is configured, because the OpenTelemetry packages are optional and slow to import.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Message, Receive, Scope, Send

from connector_gateway import __version__
from connector_gateway.http.asgi import AsgiApp
from connector_gateway.http.server.access_log import redact_path
from connector_gateway.kit.upstream.http_origin import begin_at_any_time
from connector_gateway.kit.upstream.memory_budget import ResponseMeter
from connector_gateway.kit.upstream.pool import NO_SECRETS, Transport, UpstreamResponse
from connector_gateway.kit.upstream.redaction import redact

CONTEXT = TraceContextTextMapPropagator()
STATUS = "http.response.status_code"


class Tracing:
    """The exporter of spans, which sends the remaining spans when it is closed."""

    def __init__(self, url: str) -> None:
        resource = Resource.create({"service.name": "connector-gateway", "service.version": __version__})
        # Not the global provider: libraries would add spans that may contain secrets.
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self.tracer: Tracer = self._provider.get_tracer("connector_gateway", __version__)

    def transport(self, timeout_seconds: float) -> Transport:
        """Return a transport that records a span for each request."""
        return TracedTransport(timeout_seconds, self.tracer)

    def middleware(self, served: AsgiApp) -> AsgiApp:
        """Return *served* with a span for each request."""
        return TracingMiddleware(served, self)

    @asynccontextmanager
    async def flush_on_exit(self) -> AsyncIterator[None]:
        """Send the remaining spans on exit, in a thread, since that blocks until the collector responds."""
        try:
            yield
        finally:
            await asyncio.to_thread(self._provider.shutdown)


class TracedTransport(Transport):
    """A transport that records a span for each request and sends it as ``traceparent``."""

    def __init__(self, timeout_seconds: float, tracer: Tracer) -> None:
        super().__init__(timeout_seconds)
        self._tracer = tracer

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        meter: ResponseMeter | None = None,
        *,
        begin: Callable[[], bool] = begin_at_any_time,
        secrets: Mapping[str, str] = NO_SECRETS,
    ) -> UpstreamResponse:
        """Send one request and read its complete response."""
        with self._span(method, url) as (span, traced):
            headers = {**headers, **traced}
            response = await super().send(method, url, headers, body, meter, begin=begin, secrets=secrets)
            span.set_attribute(STATUS, response.status)
            return response

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], secrets: Mapping[str, str] = NO_SECRETS
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Send one request and yield its status, headers and body in pieces."""
        with self._span(method, url) as (span, traced):
            async with super().stream(method, url, {**headers, **traced}, secrets) as (status, received, pieces):
                span.set_attribute(STATUS, status)
                yield status, received, pieces

    @contextmanager
    def _span(self, method: str, url: str) -> Iterator[tuple[Span, Mapping[str, str]]]:
        parts = urlsplit(url)
        path = redact(parts.path)
        attributes = {"http.request.method": method, "server.address": parts.hostname or "", "url.path": path}
        with _open_span(self._tracer, method, SpanKind.CLIENT, attributes) as span:
            traced: dict[str, str] = {}
            CONTEXT.inject(traced)
            yield span, traced


class TracingMiddleware:
    """ASGI middleware that records a span for each request, as a child of the caller's ``traceparent``."""

    def __init__(self, application: AsgiApp, tracing: Tracing) -> None:
        self.shutdown = application.shutdown
        self.clients = application.clients
        self.fixed_segments = application.fixed_segments
        self._application = application
        self._tracing = tracing

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the lifespan of the wrapped application, and send the remaining spans at its end."""
        async with self._tracing.flush_on_exit(), self._application.lifespan():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request inside a span."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        parent = CONTEXT.extract({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
        attributes = {
            "http.request.method": scope["method"],
            "url.path": redact_path(scope["path"], self.fixed_segments),
        }
        with _open_span(self._tracing.tracer, scope["method"], SpanKind.SERVER, attributes, parent) as span:

            async def send_traced(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _record_response(span, message)
                await send(message)

            await self._application(scope, receive, send_traced)


@contextmanager
def _open_span(
    tracer: Tracer, name: str, kind: SpanKind, attributes: Mapping[str, str], parent: Any = None
) -> Iterator[Span]:
    """Run the block inside a span. Errors only set its status, since exception texts may contain private data."""
    started = tracer.start_as_current_span(
        name, parent, kind, attributes, record_exception=False, set_status_on_exception=False
    )
    with started as span:
        try:
            yield span
        except BaseException:
            span.set_status(Status(StatusCode.ERROR))
            raise


def _record_response(span: Span, message: Message) -> None:
    """Record the status and the run of a response."""
    span.set_attribute(STATUS, message["status"])
    run_id = dict(message["headers"]).get(b"x-run-id")
    if run_id:
        span.set_attribute("gateway.run_id", run_id.decode())
    if message["status"] >= 500:
        span.set_status(Status(StatusCode.ERROR))
