"""Counts calls and durations for operators, in the format that Prometheus reads.

Every call is counted, so counting uses plain numbers. They become metrics only when somebody asks (decision 15).
"""

import hmac
from collections import Counter as Counts
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily as Counter
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.core import HistogramMetricFamily as Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connector_gateway.core.keys import bearer
from connector_gateway.core.runs import Run
from connector_gateway.core.unexpected import UnexpectedAnswers
from connector_gateway.http.answers import HttpExchange, refused
from connector_gateway.http.figures import Figures, family
from connector_gateway.kit.durations import Durations
from connector_gateway.kit.errors import GatewayError, InvalidApiKey
from connector_gateway.storage.shared import Shared

MEDIA_TYPE = "text/plain; version=0.0.4"
NAMES = ("connector", "operation")


@dataclass(slots=True)
class OperationMetrics:
    """What is counted of one operation."""

    calls: Counts[int] = field(default_factory=Counts)
    """By HTTP status."""

    took: Durations = field(default_factory=Durations)
    queued: Durations = field(default_factory=Durations)

    def observe(self, status: int, run: Run) -> None:
        """Count one answered call."""
        self.calls[status] += 1
        self.took.observe(run.duration_ms / 1000)
        waited = run.trace.wait_ms
        # A turn that comes at once takes some microseconds as well, and is no queue.
        if waited >= 1:
            self.queued.observe(waited / 1000)


class MetricsEndpoint:
    """The address of the metrics: open, or for the holder of the *token*; *delay* is awaited after a wrong one."""

    def __init__(
        self,
        exposition: Callable[[], Awaitable[bytes]],
        token: str,
        delay: Callable[[HttpExchange], Awaitable[None]],
    ) -> None:
        self._exposition = exposition
        self._token = token.encode()
        self._delay = delay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with everything counted so far."""
        exchange = HttpExchange(scope, receive)
        try:
            await self._check(exchange)
        except GatewayError as error:
            await exchange.send(refused(exchange.run, None, error), send)
        else:
            await Response(await self._exposition(), media_type=MEDIA_TYPE)(scope, receive, send)

    async def _check(self, exchange: HttpExchange) -> None:
        if self._token and not hmac.compare_digest(bearer(exchange.header(b"authorization")).encode(), self._token):
            await self._delay(exchange)
            raise InvalidApiKey("This is not the token of the metrics.")


class Metrics(Collector):
    """Calls, their durations, their waits for budgets, and answers of third parties that were not understood."""

    def __init__(
        self, unexpected: UnexpectedAnswers, refused: Mapping[str, int], shared: Shared, figures: Figures
    ) -> None:
        self._unexpected = unexpected
        self._shared = shared
        self._refused = refused
        self._operations: dict[tuple[str, str], OperationMetrics] = {}
        self._figures = figures
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def of(self, connector: str, operation: str) -> OperationMetrics:
        """What is counted of one operation, whichever way it is called."""
        return self._operations.setdefault((connector, operation), OperationMetrics())

    async def exposition(self) -> bytes:
        """Everything counted so far, and what waits in the database."""
        await self._figures.refresh()
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Everything counted so far, as Prometheus's client has it."""
        operations = self._operations.items()
        yield family(
            Counter,
            "gateway_calls",
            "Calls answered.",
            [*NAMES, "status"],
            [((*names, str(status)), n) for names, one in operations for status, n in one.calls.items()],
        )
        took = [(names, *one.took.samples) for names, one in operations]
        yield family(Histogram, "gateway_call_seconds", "Time from request to answer.", NAMES, took)
        yield family(
            Histogram,
            "gateway_queue_seconds",
            "Time spent queueing for the third party's budget, where there was a queue.",
            NAMES,
            [(names, *one.queued.samples) for names, one in operations],
        )
        yield family(
            Counter,
            "gateway_upstream_unexpected",
            "Answers of third parties in another shape than is known here, by the place that differed.",
            ["connector", "place"],
            self._unexpected.counts.items(),
        )
        yield family(
            Counter,
            "gateway_protocol_refusals",
            "Requests refused and connections cut before there was a call, by the reason.",
            ["reason"],
            [([reason], count) for reason, count in self._refused.items()],
        )
        yield from self._counted_together()
        yield from self._figures.collect()

    def _counted_together(self) -> Iterator[Metric]:
        yield Gauge(
            "gateway_shared_store_away_seconds",
            "For how long the shared store has been away; 0 while it is there.",
            self._shared.away_seconds or 0.0,
        )
        yield Counter(
            "gateway_shared_store_local_counts",
            "How often this process's share was taken, since the shared store was away or its counts were lost.",
            self._shared.counted_locally,
        )
