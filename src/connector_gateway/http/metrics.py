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
            "Time spent queueing for the third party's budget.",
            names,
            buckets=BUCKETS,
            registry=self.registry,
        )

    def observe(self, connector: str, operation: str, status: int, run: Run) -> None:
        """Count one answered call."""
        self._calls.labels(connector, operation, status).inc()
        self._duration.labels(connector, operation).observe(run.duration_ms / 1000)
        self._queue.labels(connector, operation).observe(run.trace.wait_ms / 1000)

    def exposition(self) -> bytes:
        """Everything counted so far."""
        return generate_latest(self.registry)
