"""The workers of one supervisor: whichever is asked for the metrics answers with those of all."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from connector_gateway.http.server.metrics import Metrics

ANSWER_SECONDS = 1.0
"""How long is waited for the metrics of another worker, which may be starting or stuck."""

LABEL = "worker"
END = b"# EOF\n"
"""Behind what a worker told: without it, the worker ended meanwhile, and what came is cut somewhere."""


class WorkerMetrics:
    """The *count* workers of one supervisor, of which this one has the *number*; they meet in *folder*."""

    def __init__(self, folder: Path, number: int, count: int) -> None:
        self._folder = folder
        self._number = number
        self._count = count

    @asynccontextmanager
    async def serve_peers(self, metrics: Metrics) -> AsyncIterator[None]:
        """While inside, tell the others what this worker has counted."""

        async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with closing(writer):
                writer.write(await metrics.exposition() + END)

        # Who had this number before is not asked any more.
        self._path(self._number).unlink(missing_ok=True)
        async with await asyncio.start_unix_server(tell, self._path(self._number)):
            yield

    async def exposition(self) -> bytes:
        """What all workers have counted, each under its number."""
        numbers = range(1, self._count + 1)
        told = await asyncio.gather(*map(self._told, numbers))
        registry = CollectorRegistry()
        registry.register(_Gathered(zip(numbers, told, strict=True)))
        return generate_latest(registry)

    async def _told(self, number: int) -> str | None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path(number))
                with closing(writer):
                    told = await reader.read()
        except OSError:  # a time-out too
            return None
        return told.decode() if told.endswith(END) else None

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.sock"


class _Gathered(Collector):
    """The metrics of several workers; none of one that did not answer."""

    def __init__(self, told: Iterable[tuple[int, str | None]]) -> None:
        self._told = dict(told)

    def collect(self) -> Iterator[Metric]:
        """All of them by their names, and who answered."""
        found: dict[str, Metric] = {}
        for number, text in self._told.items():
            for family in text_string_to_metric_families(text or ""):
                one = found.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                one.samples.extend(
                    sample._replace(labels={**sample.labels, LABEL: str(number)}) for sample in family.samples
                )
        yield from found.values()
        up = GaugeMetricFamily("gateway_worker_up", "Whether this worker told its metrics.", labels=(LABEL,))
        for number, text in self._told.items():
            up.add_metric((str(number),), text is not None)
        yield up

    def describe(self) -> Iterable[Metric]:
        """Nothing beforehand: names are known once they were told."""
        return ()
