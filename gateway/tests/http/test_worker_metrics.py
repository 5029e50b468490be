"""Metrics of workers, if some workers do not respond correctly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from connector_gateway.http.server.worker_metrics import END, WorkerMetrics
from harness.requirement import requirement

METRICS_TEXT = b"# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 12.0\n"


@asynccontextmanager
async def run_worker(folder: Path, data: bytes) -> AsyncIterator[WorkerMetrics]:
    """Run the only worker of a supervisor, which sends *data* and closes the connection."""

    async def send_metrics(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        writer.close()

    async with await asyncio.start_unix_server(send_metrics, folder / "1.sock"):
        yield WorkerMetrics(folder, 1, 1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(METRICS_TEXT + END, ["1.0", "12.0"]), (METRICS_TEXT, ["0.0"]), (METRICS_TEXT[:-6], ["0.0"])],
    ids=["complete", "without end marker", "truncated"],
)
@requirement("common-211")
async def test_incomplete_metrics_of_a_worker_are_ignored(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    async with run_worker(tmp_path, data) as metrics:
        samples = [line for line in (await metrics.exposition()).decode().splitlines() if line[0] != "#"]

    assert expected == sorted(line.rpartition(" ")[2] for line in samples)
