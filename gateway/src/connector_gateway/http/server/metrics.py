"""Metrics for operators, in the Prometheus text format.

Counting is part of every call and uses plain numbers. They are converted to metrics only when they are scraped.
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
from connector_gateway.core.backlog_metrics import BacklogMonitor, BacklogSnapshot
from connector_gateway.core.history.runs import Run
from connector_gateway.core.history.vendor_api_change_counts import ChangeKey, VendorChanges
from connector_gateway.core.pacing.budget_usage import UsageTracker
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.responses import error_response, send_response
from connector_gateway.http.server.connection_limits import ClientConnections
from connector_gateway.kit.errors import GatewayError, InvalidApiKey
from connector_gateway.kit.histogram import DurationHistogram
from connector_gateway.kit.upstream.pool import Transport
from connector_gateway.storage.shared.interface import SharedState
from connector_gateway.storage.sql.database import Database

Results = Mapping[tuple[str, str], int]
"""The number of attempts by connector and result."""

BUDGET_LABELS = ("connector", "budget")

RESULTS = {
    "gateway_hook_deliveries": "Hooks that vendors sent: kept, or the error code.",
    "gateway_polls": "Polls for changes: ok, events_missed, or the error code.",
    "gateway_webhook_attempts": "Webhook delivery attempts: accepted, refused, timed_out, unreachable, or not_allowed.",
    "gateway_token_refreshes": "Token refreshes: renewed, refused, or failed.",
}
"""Help texts of the metrics that are counted by result."""

F = TypeVar("F", Counter, Gauge, Histogram)


@dataclass(frozen=True, slots=True)
class MetricSources:
    """The components whose metrics a process reports."""

    usage: UsageTracker
    transport: Transport
    database: Database
    clients: ClientConnections
    backlogs: BacklogMonitor
    calls_in_progress: Callable[[], int]
    results: Mapping[str, Results]
    """The results by metric name, as in ``RESULTS``."""


class ProcessMetrics:
    """The metrics of one process, and those of the shared database."""

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources
        self._backlog: BacklogSnapshot | None = None

    async def refresh(self) -> None:
        """Read the backlog from the database."""
        self._backlog = await self._sources.backlogs.now()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, as a Prometheus collector."""
        yield from self._sent()
        yield from self._queued()
        yield from self._in_use()
        yield from self._stored()
        yield from self._results()
        yield from self._backlog_metrics()
        yield family(Gauge, "gateway_info", "The running version.", ["version"], [([__version__], 1)])

    def _sent(self) -> Iterator[Metric]:
        requests = self._sources.usage.requests
        yield family(
            Counter,
            "gateway_upstream_requests",
            "Vendor requests by the status of the response; none if there was no response.",
            ["connector", "status"],
            [
                ([connector, str(status or "none")], number)
                for connector, sent in requests.items()
                for status, number in sent.statuses.items()
            ],
        )
        took = [([connector], *sent.durations.samples) for connector, sent in requests.items()]
        yield family(Histogram, "gateway_upstream_seconds", "Response time of vendors in seconds.", ["connector"], took)

    def _queued(self) -> Iterator[Metric]:
        queues = self._sources.usage.queues.items()
        yield family(
            Counter,
            "gateway_upstream_throttled",
            "Vendor requests that were throttled, for example with status 429.",
            BUDGET_LABELS,
            [(names, queue.throttled) for names, queue in queues],
        )
        yield family(
            Gauge,
            "gateway_upstream_waiting",
            "Vendor requests in the queue for a budget.",
            BUDGET_LABELS,
            [(names, queue.waiting) for names, queue in queues],
        )
        yield family(
            Histogram,
            "gateway_upstream_wait_seconds",
            "Queueing time of the vendor requests that had to wait, in seconds.",
            BUDGET_LABELS,
            [(names, *queue.wait_durations.samples) for names, queue in queues],
        )

    def _in_use(self) -> Iterator[Metric]:
        sources = self._sources
        yield Gauge("gateway_calls_under_way", "Calls in progress.", sources.calls_in_progress())
        yield Gauge("gateway_client_connections", "Open client connections.", sources.clients.connected)
        pool = [(["under_way"], sources.transport.in_flight), (["most"], sources.transport.max_in_flight)]
        documentation = "Vendor requests in progress, and the maximum."
        yield family(Gauge, "gateway_pool_requests", documentation, ["kind"], pool)

    def _stored(self) -> Iterator[Metric]:
        database = self._sources.database
        took = database.commits.durations.samples
        yield family(Histogram, "gateway_storage_commit_seconds", "Duration of a commit in seconds.", [], [((), *took)])
        documentation = "Writes by these commits. Several writes share a commit."
        yield Counter("gateway_storage_writes", documentation, database.commits.writers_served)
        yield family(
            Gauge,
            "gateway_storage_waiting",
            "Waiting reads, history reads and writes, and records to be written since an outage of storage.",
            ["queue"],
            [([queue], number) for queue, number in database.queues.items()],
        )

    def _results(self) -> Iterator[Metric]:
        for name, results in self._sources.results.items():
            yield family(Counter, name, RESULTS[name], ["connector", "result"], results.items())

    def _backlog_metrics(self) -> Iterator[Metric]:
        """Yield the metrics from the database, or only that it is down if the backlog could not be read."""
        backlog = self._backlog
        yield Gauge("gateway_storage_up", "Whether the database responded.", backlog is not None)
        if backlog is None:
            return
        yield Gauge("gateway_claims_in_doubt", "Writes whose outcome is unknown.", backlog.claims_in_doubt)
        yield Gauge(
            "gateway_claims_in_doubt_seconds",
            "Seconds for which a retry could have settled the oldest in-doubt write.",
            backlog.unsettled_seconds,
        )
        lags = [([connector], lag) for connector, lag in backlog.watch_lag_seconds.items()]
        yield family(
            Gauge, "gateway_watch_lag_seconds", "Seconds by which the latest poll is overdue.", ["connector"], lags
        )
        webhooks = [([status], number) for status, number in backlog.webhooks.items()]
        yield family(Gauge, "gateway_webhooks", "Webhooks by status.", ["status"], webhooks)
        yield Gauge(
            "gateway_webhook_lag_seconds",
            "Seconds by which the most overdue webhook delivery is late.",
            backlog.webhook_lag_seconds,
        )
        yield Gauge(
            "gateway_webhook_failing_seconds",
            "Seconds since the longest failing delivery to an active webhook first failed.",
            backlog.webhook_failing_seconds,
        )
        connections = backlog.connections.items()
        yield family(Gauge, "gateway_connections", "Connections by status.", ["connector", "status"], connections)


def family(kind: type[F], name: str, documentation: str, labels: Sequence[str], samples: Iterable[Sequence[Any]]) -> F:
    """Return a metric family with *samples*: label values followed by a number, or by a histogram's buckets and sum."""
    metric = kind(name, documentation, labels=labels)
    for sample in samples:
        metric.add_metric(*sample)
    return metric


MEDIA_TYPE = "text/plain; version=0.0.4"
OPERATION_LABELS = ("connector", "operation")


@dataclass(slots=True)
class OperationMetrics:
    """Call counts and durations of one operation."""

    calls: Counts[int] = field(default_factory=Counts)
    """The number of calls by HTTP status."""

    took: DurationHistogram = field(default_factory=DurationHistogram)
    queued: DurationHistogram = field(default_factory=DurationHistogram)

    def observe(self, status: int, run: Run) -> None:
        """Count one completed call."""
        self.calls[status] += 1
        self.took.observe(run.duration_ms / 1000)
        waited = run.log.wait_ms
        # A reservation that is granted immediately also takes some microseconds, which is not queueing.
        if waited >= 1:
            self.queued.observe(waited / 1000)


class MetricsEndpoint:
    """The metrics endpoint.

    It is public if *token* is empty. *delay* is awaited after a wrong token.
    """

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
        """Respond with all metrics."""
        context = RequestContext(scope, receive)
        try:
            await self._check(context)
        except GatewayError as error:
            await send_response(context, error_response(context.run, None, error), send)
        else:
            await Response(await self._exposition(), media_type=MEDIA_TYPE)(scope, receive, send)

    async def _check(self, context: RequestContext) -> None:
        if self._token and not hmac.compare_digest(
            parse_bearer(context.header(b"authorization")).encode(), self._token
        ):
            await self._delay(context)
            raise InvalidApiKey("This is not the metrics token.")


class Metrics(Collector):
    """Calls, their durations, their queueing times, and unexpected vendor responses."""

    def __init__(
        self,
        vendor_changes: VendorChanges,
        rejections: Mapping[str, int],
        shared: SharedState,
        process_metrics: ProcessMetrics,
    ) -> None:
        self._vendor_changes = vendor_changes
        self._shared = shared
        self._rejections = rejections
        self._operations: dict[tuple[str, str], OperationMetrics] = {}
        self._process_metrics = process_metrics
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def for_operation(self, connector: str, operation: str) -> OperationMetrics:
        """Return the metrics of one operation, which all surfaces share."""
        return self._operations.setdefault((connector, operation), OperationMetrics())

    async def exposition(self) -> bytes:
        """Return all metrics in the Prometheus text format, after reading the backlog from the database."""
        await self._process_metrics.refresh()
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, as a Prometheus collector."""
        operations = self._operations.items()
        yield family(
            Counter,
            "gateway_calls",
            "Completed calls.",
            [*OPERATION_LABELS, "status"],
            [((*names, str(status)), n) for names, one in operations for status, n in one.calls.items()],
        )
        took = [(names, *one.took.samples) for names, one in operations]
        yield family(Histogram, "gateway_call_seconds", "Duration of calls in seconds.", OPERATION_LABELS, took)
        yield family(
            Histogram,
            "gateway_queue_seconds",
            "Queueing time of the calls that had to wait for a vendor's budget, in seconds.",
            OPERATION_LABELS,
            [(names, *one.queued.samples) for names, one in operations],
        )
        yield family(
            Counter,
            "gateway_upstream_unexpected",
            "Signs in vendor responses that an API changes, by their kind and place.",
            ChangeKey._fields,
            [(key, counted.count) for key, counted in self._vendor_changes.counted.items()],
        )
        yield family(
            Counter,
            "gateway_protocol_refusals",
            "Requests rejected and connections aborted before a call, by reason.",
            ["reason"],
            [([reason], count) for reason, count in self._rejections.items()],
        )
        yield from self._shared_store()
        yield from self._process_metrics.collect()

    def _shared_store(self) -> Iterator[Metric]:
        yield Gauge(
            "gateway_shared_store_away_seconds",
            "Seconds since the shared store became unavailable; 0 while it is available.",
            self._shared.unavailable_seconds or 0.0,
        )
        yield Counter(
            "gateway_shared_store_local_counts",
            "Requests within this process's share, because the shared store was unavailable or had lost its counts.",
            self._shared.counted_locally,
        )
