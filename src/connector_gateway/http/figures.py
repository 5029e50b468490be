"""Figures beyond calls: requests upstream, queues, storage, what is observed and renewed, and what waits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from connector_gateway import __version__
from connector_gateway.core.backlog import Backlog, Backlogs
from connector_gateway.core.usage import Usage
from connector_gateway.http.clients import Clients
from connector_gateway.kit.durations import Durations
from connector_gateway.kit.transport import Transport
from connector_gateway.storage.database import Database

Results = Mapping[tuple[str, str], int]
"""How often something ended how, by connector and result."""

OF_BUDGET = ("connector", "budget")
OF_RESULT = ("connector", "result")


@dataclass(frozen=True, slots=True)
class Sources:
    """What is asked for figures."""

    usage: Usage
    transport: Transport
    database: Database
    clients: Clients
    backlogs: Backlogs
    calls_under_way: Callable[[], int]
    deliveries: Results
    polls: Results
    refreshes: Results
    webhook_attempts: Results


class Figures:
    """Tells the figures of one process, and what waits for all processes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._backlog: Backlog | None = None

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
        yield from self._waiting(self._backlog)
        yield _gauge("gateway_info", "The version that runs.", ["version"], [([__version__], 1)])

    def _sent(self) -> Iterator[Metric]:
        requests = self._sources.usage.requests
        statuses = [
            ([connector, str(status or "none")], number)
            for connector, sent in requests.items()
            for status, number in sent.statuses.items()
        ]
        took = [([connector], sent.took) for connector, sent in requests.items()]
        yield _counter(
            "gateway_upstream_requests",
            "Requests to applications, by the status of the answer; none where no answer came.",
            ["connector", "status"],
            statuses,
        )
        yield _histogram("gateway_upstream_seconds", "Time from request to answer upstream.", ["connector"], took)

    def _queued(self) -> Iterator[Metric]:
        queues = self._sources.usage.queues.items()
        yield _counter(
            "gateway_upstream_throttled",
            "Requests that an application refused because of a budget, as with status 429.",
            OF_BUDGET,
            [(names, queue.throttled) for names, queue in queues],
        )
        yield _gauge(
            "gateway_upstream_waiting",
            "Requests that wait for their turn now.",
            OF_BUDGET,
            [(names, queue.waiting) for names, queue in queues],
        )
        yield _histogram(
            "gateway_upstream_wait_seconds",
            "Time that requests waited for their turn, where they did.",
            OF_BUDGET,
            [(names, queue.waited) for names, queue in queues],
        )

    def _taken(self) -> Iterator[Metric]:
        sources = self._sources
        yield GaugeMetricFamily("gateway_calls_under_way", "Calls under way.", sources.calls_under_way())
        yield GaugeMetricFamily("gateway_client_connections", "Connections of clients.", sources.clients.connected)
        pool = [(["under_way"], sources.transport.under_way), (["most"], sources.transport.most)]
        yield _gauge("gateway_pool_requests", "Requests in the pool upstream, and the most it takes.", ["kind"], pool)

    def _stored(self) -> Iterator[Metric]:
        database = self._sources.database
        yield _histogram("gateway_storage_commit_seconds", "Time of a commit.", [], [([], database.commits.took)])
        yield CounterMetricFamily(
            "gateway_storage_writes", "What was written by these commits; several share one.", database.commits.served
        )
        yield _gauge(
            "gateway_storage_waiting",
            "Who waits to read, to look into the history or to write, and records owed since storage was away.",
            ["queue"],
            [([queue], number) for queue, number in database.queues.items()],
        )

    def _ended(self) -> Iterator[Metric]:
        sources = self._sources
        for name, told, results in (
            (
                "gateway_hook_deliveries",
                "Deliveries of applications: kept, or the code of the refusal.",
                sources.deliveries,
            ),
            ("gateway_polls", "Polls for changes: ok, events_missed, or the code of the failure.", sources.polls),
            (
                "gateway_webhook_attempts",
                "Events sent to webhooks: accepted, refused, timed_out, unreachable, or not_allowed.",
                sources.webhook_attempts,
            ),
            ("gateway_token_refreshes", "Renewals of tokens: renewed, refused, or failed.", sources.refreshes),
        ):
            yield _counter(name, told, OF_RESULT, results.items())

    def _waiting(self, backlog: Backlog | None) -> Iterator[Metric]:
        """What the database told; nothing but that it did not where it did not."""
        yield GaugeMetricFamily("gateway_storage_up", "Whether the database told what waits.", backlog is not None)
        told = backlog or Backlog()
        none = backlog is None
        yield _gauge("gateway_claims_in_doubt", "Writes in doubt.", [], [] if none else [([], told.claims_in_doubt)])
        yield _gauge(
            "gateway_claims_in_doubt_seconds",
            "For how long a repeat could have settled the oldest write in doubt.",
            [],
            [] if none else [([], told.unsettled_seconds)],
        )
        lags = [([connector], lag) for connector, lag in told.watch_lag_seconds.items()]
        yield _gauge("gateway_watch_lag_seconds", "How late the latest watch is.", ["connector"], lags)
        yield _gauge("gateway_webhooks", "Webhooks by status.", ["status"], _labelled(told.webhooks))
        yield _gauge(
            "gateway_webhook_lag_seconds",
            "How long the delivery to a webhook has been due that is latest.",
            [],
            [] if none else [([], told.webhook_lag_seconds)],
        )
        yield _gauge(
            "gateway_webhook_failing_seconds",
            "For how long an event has been sent to an active webhook in vain, at the most.",
            [],
            [] if none else [([], told.webhook_failing_seconds)],
        )
        yield _gauge("gateway_connections", "Connections by status.", ["connector", "status"], told.connections.items())


def _labelled(numbers: Mapping[str, float]) -> Iterable[tuple[Sequence[str], float]]:
    return [([label], number) for label, number in numbers.items()]


def _counter(name: str, told: str, labels: Sequence[str], counted: Iterable[tuple[Sequence[str], float]]) -> Metric:
    family = CounterMetricFamily(name, told, labels=labels)
    for values, number in counted:
        family.add_metric(values, number)
    return family


def _gauge(name: str, told: str, labels: Sequence[str], counted: Iterable[tuple[Sequence[str], float]]) -> Metric:
    family = GaugeMetricFamily(name, told, labels=labels)
    for values, number in counted:
        family.add_metric(values, number)
    return family


def _histogram(
    name: str, told: str, labels: Sequence[str], counted: Iterable[tuple[Sequence[str], Durations]]
) -> Metric:
    family = HistogramMetricFamily(name, told, labels=labels)
    for values, durations in counted:
        family.add_metric(values, durations.buckets, durations.seconds)
    return family
