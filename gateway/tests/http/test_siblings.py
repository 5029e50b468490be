"""The metrics of workers, where some of them do not answer as they should."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from connector_gateway.http.server.worker_metrics import END, WorkerMetrics
from harness.requirement import requirement

TOLD = b"# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 12.0\n"


@asynccontextmanager
async def telling(folder: Path, told: bytes) -> AsyncIterator[WorkerMetrics]:
    """The only worker of a supervisor, which tells *told* and ends."""

    async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(told)
        writer.close()

    async with await asyncio.start_unix_server(tell, folder / "1.sock"):
        yield WorkerMetrics(folder, 1, 1)


@pytest.mark.parametrize(
    ("told", "expected"),
    [(TOLD + END, ["1.0", "12.0"]), (TOLD, ["0.0"]), (TOLD[:-6], ["0.0"])],
    ids=["whole", "without its end", "cut in a line"],
)
@requirement("common-211")
async def test_what_a_worker_told_counts_only_where_it_is_whole(
    tmp_path: Path, told: bytes, expected: list[str]
) -> None:
    async with telling(tmp_path, told) as siblings:
        samples = [line for line in (await siblings.exposition()).decode().splitlines() if line[0] != "#"]

    assert expected == sorted(line.rpartition(" ")[2] for line in samples)
