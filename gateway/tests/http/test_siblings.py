"""The metrics of workers, where some of them do not answer as they should."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from connector_gateway.http.server.worker_metrics import END, WorkerMetrics
from harness.requirement import requirement

METRICS_TEXT = b"# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 12.0\n"


@asynccontextmanager
async def worker_metrics(folder: Path, text: bytes) -> AsyncIterator[WorkerMetrics]:
    """The only worker of a supervisor, which tells *told* and ends."""

    async def send_metrics(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        writer.close()

    async with await asyncio.start_unix_server(send_metrics, folder / "1.sock"):
        yield WorkerMetrics(folder, 1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(METRICS_TEXT + END, ["1.0", "12.0"]), (METRICS_TEXT, ["0.0"]), (METRICS_TEXT[:-6], ["0.0"])],
    ids=["whole", "without its end", "cut in a line"],
)
@requirement("common-211")
async def test_metrics_of_a_worker_count_only_when_they_are_complete(
    tmp_path: Path, text: bytes, expected: list[str]
) -> None:
    async with worker_metrics(tmp_path, text) as siblings:
        samples = [line for line in (await siblings.exposition()).decode().splitlines() if line[0] != "#"]

    assert expected == sorted(line.rpartition(" ")[2] for line in samples)
