"""Traces for OpenTelemetry: a span for each request answered, and one for each request upstream below it.

Imported only where traces are sent somewhere (decision 69).
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
from connector_gateway.http.application import AsgiApp
from connector_gateway.http.server.access_log import redact_path
from connector_gateway.kit.upstream.http_origin import never
from connector_gateway.kit.upstream.memory_budget import ResponseMeter
from connector_gateway.kit.upstream.pool import NO_SECRETS, Transport, UpstreamResponse
from connector_gateway.kit.upstream.redaction import hide

CONTEXT = TraceContextTextMapPropagator()
STATUS = "http.response.status_code"


class Tracing:
    """Where spans are sent; open while inside, and what is left is sent at the end."""

    def __init__(self, url: str) -> None:
        resource = Resource.create({"service.name": "connector-gateway", "service.version": __version__})
        # Not the provider of the whole process: libraries would add spans of their own, with what only we may know.
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self.tracer: Tracer = self._provider.get_tracer("connector_gateway", __version__)

    def transport(self, timeout_seconds: float) -> Transport:
        """A pool whose requests have spans."""
        return TracedTransport(timeout_seconds, self.tracer)

    def middleware(self, served: AsgiApp) -> AsgiApp:
        """The application with a span for each answer."""
        return TracingMiddleware(served, self)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Send what is left at the end, in a thread since that takes as long as the collector does."""
        try:
            yield
        finally:
            await asyncio.to_thread(self._provider.shutdown)


class TracedTransport(Transport):
    """The pool, with a span for each request and a ``traceparent`` that names it."""

    def __init__(self, timeout_seconds: float, tracer: Tracer) -> None:
        super().__init__(timeout_seconds)
        self._tracer = tracer

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        holding: ResponseMeter | None = None,
        *,
        stale: Callable[[], bool] = never,
        secrets: Mapping[str, str] = NO_SECRETS,
    ) -> UpstreamResponse:
        """Send one request and read its whole answer."""
        with self._span(method, url) as (span, traced):
            headers = {**headers, **traced}
            answer = await super().send(method, url, headers, body, holding, stale=stale, secrets=secrets)
            span.set_attribute(STATUS, answer.status)
            return answer

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], secrets: Mapping[str, str] = NO_SECRETS
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Send one request and yield status, headers and the body in pieces."""
        with self._span(method, url) as (span, traced):
            async with super().stream(method, url, {**headers, **traced}, secrets) as (status, received, pieces):
                span.set_attribute(STATUS, status)
                yield status, received, pieces

    @contextmanager
    def _span(self, method: str, url: str) -> Iterator[tuple[Span, Mapping[str, str]]]:
        parts = urlsplit(url)
        path = hide(parts.path)
        told = {"http.request.method": method, "server.address": parts.hostname or "", "url.path": path}
        with _spanning(self._tracer, method, SpanKind.CLIENT, told) as span:
            traced: dict[str, str] = {}
            CONTEXT.inject(traced)
            yield span, traced


class TracingMiddleware:
    """Serves an application, with a span for each answer that belongs to the caller's ``traceparent``."""

    def __init__(self, application: AsgiApp, tracing: Tracing) -> None:
        self.stopping = application.stopping
        self.clients = application.clients
        self.words = application.words
        self._application = application
        self._tracing = tracing

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """The application's, and the sending of spans."""
        async with self._tracing.opened(), self._application.lifespan():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on inside of a span."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        parent = CONTEXT.extract({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
        told = {"http.request.method": scope["method"], "url.path": redact_path(scope["path"], self.words)}
        with _spanning(self._tracing.tracer, scope["method"], SpanKind.SERVER, told, parent) as span:

            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _note(span, message)
                await send(message)

            await self._application(scope, receive, sent)


@contextmanager
def _spanning(tracer: Tracer, name: str, kind: SpanKind, told: Mapping[str, str], parent: Any = None) -> Iterator[Span]:
    """A span; of what goes wrong inside only that is told, since texts of exceptions are for the log alone."""
    started = tracer.start_as_current_span(
        name, parent, kind, told, record_exception=False, set_status_on_exception=False
    )
    with started as span:
        try:
            yield span
        except BaseException:
            span.set_status(Status(StatusCode.ERROR))
            raise


def _note(span: Span, message: Message) -> None:
    """Note status and run of an answer."""
    span.set_attribute(STATUS, message["status"])
    run_id = dict(message["headers"]).get(b"x-run-id")
    if run_id:
        span.set_attribute("gateway.run_id", run_id.decode())
    if message["status"] >= 500:
        span.set_status(Status(StatusCode.ERROR))
