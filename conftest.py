"""Fixtures shared by all products."""

import gc
import os
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from structlog.dev import ConsoleRenderer, plain_traceback

from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.databases import sqlite_in, temporary_postgres
from harness.order_of_test_files import LONGEST
from harness.postgres import postgres
from harness.secret_leaks import LEAKS, listen
from harness.valkey import Server, valkey_server

os.environ["GATEWAY_ENV_FILE"] = os.devnull
"""A developer's own .env must not affect tests."""


# The library's default of five seconds is too short on a busy machine.
DEFAULT_TIMEOUT_CONFIG.connect = DEFAULT_TIMEOUT_CONFIG.read = DEFAULT_TIMEOUT_CONFIG.write = 60

# No test here uses the system's certificates, but each HTTP client would load them, which takes 20 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull

# Python 3.11 counts the depth of syntax trees for all threads together. A traceback in a gateway's thread parses source
# lines to mark the error, which would make a test that parses sources in another thread fail.
traceback._extract_caret_anchors_from_line_segment = lambda segment: None  # type: ignore[attr-defined]

ConsoleRenderer.get_active().exception_formatter = plain_traceback
"""Rich, which a test dependency installs, takes seconds to format a traceback with all its values."""


PROJECT = Path(__file__).parent

COLLECT_FROM = 10_000
"""The number of new objects that triggers a garbage collection. The default, 700, costs a third of the CPU time."""

NEVER = 1_000_000
"""Older generations are collected by ``harness.sandbox_server`` when a sandbox ends, which leaves most garbage."""


SEQUENTIAL = PROJECT / "tests" / "examples"
"""Tests of guide pages. Each continues where the one before it ended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reversed", action="store_true", help="run the tests of each file in reverse order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the slowest files first. The order within a file is unchanged, except with ``--reversed``."""
    if config.getoption("reversed"):
        sequential = [item for item in items if SEQUENTIAL in item.path.parents]
        items[:] = [*reversed([item for item in items if SEQUENTIAL not in item.path.parents]), *sequential]
    positions = {PROJECT / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: positions.get(item.path, len(positions)))


def pytest_configure() -> None:
    listen()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Fail a test in which a secret leaked."""
    outcome: Any = yield
    report: pytest.TestReport = outcome.get_result()
    for name, text in report.sections:
        LEAKS.record(name, text)
    leaks = LEAKS.collect()
    if leaks and report.passed:
        report.outcome, report.longrepr = "failed", f"Secrets leaked: {'; '.join(leaks)}."


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Disable garbage collection during collection, which would take half of its time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude imported modules and collected tests from garbage collection."""
    gc.freeze()
    gc.set_threshold(COLLECT_FROM, NEVER)
    gc.enable()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(scope="session")
def valkey_of_tests() -> Iterator[Server]:
    with TemporaryDirectory(prefix="valkey-") as folder, valkey_server(Path(folder)) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database, once for each kind."""
    return sqlite_in(tmp_path) if request.param == "sqlite" else str(request.getfixturevalue("new_postgres"))


@pytest.fixture
def new_postgres(postgres_server: str) -> Iterator[str]:
    """The URL of a new PostgreSQL database."""
    with temporary_postgres(postgres_server) as address:
        yield address


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def common_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database that the tests of a module share, once for each kind."""
    if request.param == "sqlite":
        return sqlite_in(tmp_path_factory.mktemp("common"))
    return str(request.getfixturevalue("common_postgres"))


@pytest.fixture(scope="module")
def common_postgres(postgres_server: str) -> Iterator[str]:
    """The URL of a PostgreSQL database that the tests of a module share."""
    with temporary_postgres(postgres_server) as address:
        yield address


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
