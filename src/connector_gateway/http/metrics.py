"""What is counted for operators, in the format that Prometheus reads."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from connector_gateway.core.runs import Run

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Calls, their durations, and their waits for third parties' budgets."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names = ("connector", "operation")
        self._calls = Counter("gateway_calls", "Calls answered.", (*names, "status"), registry=self.registry)
        self._duration = Histogram(
            "gateway_call_seconds", "Time from request to answer.", names, buckets=BUCKETS, registry=self.registry
        )
        self._queue = Histogram(
            "gateway_queue_seconds",
            "Time spent queueing for the third party's budget, where there was a queue.",
            names,
            buckets=BUCKETS,
            registry=self.registry,
        )

    def of(self, connector: str, operation: str) -> "OperationMetrics":
        """What is counted of one operation."""
        names = (connector, operation)
        return OperationMetrics(self._calls, names, self._duration.labels(*names), self._queue.labels(*names))

    def exposition(self) -> bytes:
        """Everything counted so far."""
        return generate_latest(self.registry)


class OperationMetrics:
    """What is counted of one operation, looked up once."""

    def __init__(self, calls: Counter, names: tuple[str, str], duration: Histogram, queue: Histogram) -> None:
        self._calls: dict[int, Counter] = {}
        self._counter = calls
        self._names = names
        self._duration = duration
        self._queue = queue

    def observe(self, status: int, run: Run) -> None:
        """Count one answered call."""
        calls = self._calls.get(status)
        if calls is None:
            calls = self._calls[status] = self._counter.labels(*self._names, status)
        calls.inc()
        self._duration.observe(run.duration_ms / 1000)
        waited = run.trace.wait_ms
        if waited >= 1:
            self._queue.observe(waited / 1000)
