"""Counts calls and durations for operators, in the format that Prometheus reads.

Every call is counted, so counting uses plain numbers. They become metrics only when somebody asks (decision 15).
"""

import hmac
from collections import Counter as Counts
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily as Counter
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.core import HistogramMetricFamily as Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connector_gateway import __version__
from connector_gateway.core.access.keys import parse_bearer
from connector_gateway.core.history.backlog import BacklogMonitor, BacklogSnapshot
from connector_gateway.core.history.runs import Run
from connector_gateway.core.history.unexpected_responses import UnexpectedResponses
from connector_gateway.core.pacing.usage import UsageTracker
from connector_gateway.http.api.responses import RequestContext, error_response
from connector_gateway.http.server.connection_limits import ClientConnections
from connector_gateway.kit.errors import GatewayError, InvalidApiKey
from connector_gateway.kit.histogram import DurationHistogram
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.interface import SharedState
from connector_gateway.storage.sql.database import Database

Results = Mapping[tuple[str, str], int]
"""How often something ended how, by connector and result."""

OF_BUDGET = ("connector", "budget")

RESULTS = {
    "gateway_hook_deliveries": "Deliveries of applications: kept, or the code of the refusal.",
    "gateway_polls": "Polls for changes: ok, events_missed, or the code of the failure.",
    "gateway_webhook_attempts": "Events sent to webhooks: accepted, refused, timed_out, unreachable, or not_allowed.",
    "gateway_token_refreshes": "Renewals of tokens: renewed, refused, or failed.",
}
"""What is counted by how it ended."""

F = TypeVar("F", Counter, Gauge, Histogram)


@dataclass(frozen=True, slots=True)
class Sources:
    """What is asked for figures."""

    usage: UsageTracker
    transport: Transport
    database: Database
    clients: ClientConnections
    backlogs: BacklogMonitor
    calls_under_way: Callable[[], int]
    results: Mapping[str, Results]
    """By their names in ``RESULTS``."""


class Figures:
    """Tells the figures of one process, and what waits for all processes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._backlog: BacklogSnapshot | None = None

    async def refresh(self) -> None:
        """Ask the database what waits."""
        self._backlog = await self._sources.backlogs.now()

    def collect(self) -> Iterator[Metric]:
        """All figures, as Prometheus's client has them."""
        yield from self._sent()
        yield from self._queued()
        yield from self._taken()
        yield from self._stored()
        yield from self._ended()
        yield from self._waiting()
        yield family(Gauge, "gateway_info", "The version that runs.", ["version"], [([__version__], 1)])

    def _sent(self) -> Iterator[Metric]:
        requests = self._sources.usage.requests
        yield family(
            Counter,
            "gateway_upstream_requests",
            "Requests to applications, by the status of the answer; none where no answer came.",
            ["connector", "status"],
            [
                ([connector, str(status or "none")], number)
                for connector, sent in requests.items()
                for status, number in sent.statuses.items()
            ],
        )
        took = [([connector], *sent.took.samples) for connector, sent in requests.items()]
        yield family(
            Histogram, "gateway_upstream_seconds", "Time from request to answer upstream.", ["connector"], took
        )

    def _queued(self) -> Iterator[Metric]:
        queues = self._sources.usage.queues.items()
        yield family(
            Counter,
            "gateway_upstream_throttled",
            "Requests that an application refused because of a budget, as with status 429.",
            OF_BUDGET,
            [(names, queue.throttled) for names, queue in queues],
        )
        yield family(
            Gauge,
            "gateway_upstream_waiting",
            "Requests that wait for their turn now.",
            OF_BUDGET,
            [(names, queue.waiting) for names, queue in queues],
        )
        yield family(
            Histogram,
            "gateway_upstream_wait_seconds",
            "Time that requests waited for their turn, where they did.",
            OF_BUDGET,
            [(names, *queue.waited.samples) for names, queue in queues],
        )

    def _taken(self) -> Iterator[Metric]:
        sources = self._sources
        yield Gauge("gateway_calls_under_way", "Calls under way.", sources.calls_under_way())
        yield Gauge("gateway_client_connections", "Connections of clients.", sources.clients.connected)
        pool = [(["under_way"], sources.transport.in_flight), (["most"], sources.transport.most)]
        told = "Requests in the pool upstream, and the most it takes."
        yield family(Gauge, "gateway_pool_requests", told, ["kind"], pool)

    def _stored(self) -> Iterator[Metric]:
        database = self._sources.database
        took = database.commits.took.samples
        yield family(Histogram, "gateway_storage_commit_seconds", "Time of a commit.", [], [((), *took)])
        told = "What was written by these commits; several share one."
        yield Counter("gateway_storage_writes", told, database.commits.served)
        yield family(
            Gauge,
            "gateway_storage_waiting",
            "Who waits to read, to look into the history or to write, and records owed since storage was away.",
            ["queue"],
            [([queue], number) for queue, number in database.queues.items()],
        )

    def _ended(self) -> Iterator[Metric]:
        for name, results in self._sources.results.items():
            yield family(Counter, name, RESULTS[name], ["connector", "result"], results.items())

    def _waiting(self) -> Iterator[Metric]:
        """What the database told; nothing but that it did not where it did not."""
        told = self._backlog
        yield Gauge("gateway_storage_up", "Whether the database told what waits.", told is not None)
        if told is None:
            return
        yield Gauge("gateway_claims_in_doubt", "Writes in doubt.", told.claims_in_doubt)
        yield Gauge(
            "gateway_claims_in_doubt_seconds",
            "For how long a repeat could have settled the oldest write in doubt.",
            told.unsettled_seconds,
        )
        lags = [([connector], lag) for connector, lag in told.watch_lag_seconds.items()]
        yield family(Gauge, "gateway_watch_lag_seconds", "How late the latest watch is.", ["connector"], lags)
        webhooks = [([status], number) for status, number in told.webhooks.items()]
        yield family(Gauge, "gateway_webhooks", "Webhooks by status.", ["status"], webhooks)
        yield Gauge(
            "gateway_webhook_lag_seconds",
            "How long the delivery to a webhook has been due that is latest.",
            told.webhook_lag_seconds,
        )
        yield Gauge(
            "gateway_webhook_failing_seconds",
            "For how long an event has been sent to an active webhook in vain, at the most.",
            told.webhook_failing_seconds,
        )
        connections = told.connections.items()
        yield family(Gauge, "gateway_connections", "Connections by status.", ["connector", "status"], connections)


def family(kind: type[F], name: str, told: str, labels: Sequence[str], samples: Iterable[Sequence[Any]]) -> F:
    """Return a family with *samples*: the values of the labels, and a number, or the buckets and sum of a histogram."""
    made = kind(name, told, labels=labels)
    for sample in samples:
        made.add_metric(*sample)
    return made


MEDIA_TYPE = "text/plain; version=0.0.4"
NAMES = ("connector", "operation")


@dataclass(slots=True)
class OperationMetrics:
    """What is counted of one operation."""

    calls: Counts[int] = field(default_factory=Counts)
    """By HTTP status."""

    took: DurationHistogram = field(default_factory=DurationHistogram)
    queued: DurationHistogram = field(default_factory=DurationHistogram)

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
        delay: Callable[[RequestContext], Awaitable[None]],
    ) -> None:
        self._exposition = exposition
        self._token = token.encode()
        self._delay = delay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with everything counted so far."""
        exchange = RequestContext(scope, receive)
        try:
            await self._check(exchange)
        except GatewayError as error:
            await exchange.send(error_response(exchange.run, None, error), send)
        else:
            await Response(await self._exposition(), media_type=MEDIA_TYPE)(scope, receive, send)

    async def _check(self, exchange: RequestContext) -> None:
        if self._token and not hmac.compare_digest(
            parse_bearer(exchange.header(b"authorization")).encode(), self._token
        ):
            await self._delay(exchange)
            raise InvalidApiKey("This is not the token of the metrics.")


class Metrics(Collector):
    """Calls, their durations, their waits for budgets, and answers of third parties that were not understood."""

    def __init__(
        self, unexpected: UnexpectedResponses, refused: Mapping[str, int], shared: SharedState, figures: Figures
    ) -> None:
        self._unexpected = unexpected
        self._shared = shared
        self._refused = refused
        self._operations: dict[tuple[str, str], OperationMetrics] = {}
        self._figures = figures
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def for_operation(self, connector: str, operation: str) -> OperationMetrics:
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
            self._shared.unavailable_seconds or 0.0,
        )
        yield Counter(
            "gateway_shared_store_local_counts",
            "How often this process's share was taken, since the shared store was away or its counts were lost.",
            self._shared.counted_locally,
        )
