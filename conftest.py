"""Fixtures that several folders share."""

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
from harness.postgres import postgres
from harness.schedule import LONGEST
from harness.secret_leaks import LEAKS, listen
from harness.valkey import Server, valkey_server

os.environ["GATEWAY_ENV_FILE"] = os.devnull
"""Whatever the folder's own .env says is for whoever works there, not for tests."""


# The library's own five seconds are too few for an answer where the machine is busy with something else.
DEFAULT_TIMEOUT_CONFIG.connect = DEFAULT_TIMEOUT_CONFIG.read = DEFAULT_TIMEOUT_CONFIG.write = 60

# Nothing here speaks TLS, but each client of HTTP reads whatever certificates there are, which takes 20 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull

# Python 3.11 counts the depth of a syntax tree for all threads together. Where a gateway in one thread tells of an
# error, and parses a line to mark the place in it, a test that parses sources in another would fail.
traceback._extract_caret_anchors_from_line_segment = lambda segment: None  # type: ignore[attr-defined]

ConsoleRenderer.get_active().exception_formatter = plain_traceback
"""Beside Rich, which a tool of the tests brings along, a traceback with all its values takes seconds to draw."""


PROJECT = Path(__file__).parent

COLLECT_FROM = 10_000
"""New objects from which on garbage is looked for among them; Python's 700 costs a third of the processor's time."""

NEVER = 1_000_000
"""``harness.sandbox_server`` collects older objects when a sandbox ends, which is what leaves most garbage."""


SEQUENTIAL = PROJECT / "tests" / "examples"
"""Pages of the guides, whose lines go on from those before."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reversed", action="store_true", help="the last test of each file first: none needs another one")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first; the order within a file stays, unless ``--reversed`` is given."""
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
        report.outcome, report.longrepr = "failed", f"Told: {'; '.join(leaks)}."


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Look for no garbage while modules are imported and tests are made, which is half of the time that takes."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collection."""
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
    """A new database of each kind in turn."""
    return sqlite_in(tmp_path) if request.param == "sqlite" else str(request.getfixturevalue("new_postgres"))


@pytest.fixture
def new_postgres(postgres_server: str) -> Iterator[str]:
    """A new database of PostgreSQL."""
    with temporary_postgres(postgres_server) as address:
        yield address


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def common_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database of each kind in turn, which the tests of a module share."""
    if request.param == "sqlite":
        return sqlite_in(tmp_path_factory.mktemp("common"))
    return str(request.getfixturevalue("common_postgres"))


@pytest.fixture(scope="module")
def common_postgres(postgres_server: str) -> Iterator[str]:
    """A database of PostgreSQL that the tests of a module share."""
    with temporary_postgres(postgres_server) as address:
        yield address


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database(database_url) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
