"""Metrics of all workers of one supervisor, served by whichever worker handles the scrape."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from connector_gateway.http.server.metrics import Metrics

TIMEOUT_SECONDS = 1.0
"""Seconds to wait for the metrics of another worker, which may be starting or stuck."""

LABEL = "worker"
END = b"# EOF\n"
"""The end marker of a worker's metrics. If it is missing, the worker exited and its output is truncated."""


class WorkerMetrics:
    """The metrics of *count* workers, of which this process is the *number*. Their sockets are in *folder*."""

    def __init__(self, folder: Path, number: int, count: int) -> None:
        self._folder = folder
        self._number = number
        self._count = count

    @asynccontextmanager
    async def serve_peers(self, metrics: Metrics) -> AsyncIterator[None]:
        """Serve this worker's metrics to the other workers while the context is open."""

        async def respond(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with closing(writer):
                writer.write(await metrics.exposition() + END)

        # The socket of an earlier worker with this number is stale.
        self._path(self._number).unlink(missing_ok=True)
        async with await asyncio.start_unix_server(respond, self._path(self._number)):
            yield

    async def exposition(self) -> bytes:
        """Return the metrics of all workers, labelled with their numbers."""
        numbers = range(1, self._count + 1)
        texts = await asyncio.gather(*map(self._fetch, numbers))
        registry = CollectorRegistry()
        registry.register(_MergedMetrics(zip(numbers, texts, strict=True)))
        return generate_latest(registry)

    async def _fetch(self, number: int) -> str | None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path(number))
                with closing(writer):
                    data = await reader.read()
        except OSError:  # including TimeoutError
            return None
        return data.decode() if data.endswith(END) else None

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.sock"


class _MergedMetrics(Collector):
    """The metrics of several workers. A worker that did not respond has none."""

    def __init__(self, texts: Iterable[tuple[int, str | None]]) -> None:
        self._texts = dict(texts)

    def collect(self) -> Iterator[Metric]:
        """Yield the merged metric families, and which workers responded."""
        families: dict[str, Metric] = {}
        for number, text in self._texts.items():
            for family in text_string_to_metric_families(text or ""):
                merged = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                merged.samples.extend(
                    sample._replace(labels={**sample.labels, LABEL: str(number)}) for sample in family.samples
                )
        yield from families.values()
        up = GaugeMetricFamily("gateway_worker_up", "Whether this worker reported its metrics.", labels=(LABEL,))
        for number, text in self._texts.items():
            up.add_metric((str(number),), text is not None)
        yield up

    def describe(self) -> Iterable[Metric]:
        """Return no metrics: their names are known only after they were fetched."""
        return ()
