"""Texts of callers do not change the paths of vendor requests."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from connector_gateway.connectors import CONNECTORS
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.operation_calls import ReadCall, read
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from hostile.hostile_texts import answers
from workspace_sandbox import EMULATORS

TRICKS = ("..", ".", "../..", "a/../b", "%2e%2e", "?x=1", "#x", "//", "\\..", "..;", "\u2025", "x/")
ASTRAY = re.compile(r"/\.{0,2}(?=/|$)|/%2e|[?#].*[?#]", re.IGNORECASE)
"""Segments that change a path, and a second query or fragment."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_all_connectors(sandbox, tmp_path_factory.mktemp("paths")) as started,
    ):
        yield started


@requirement("common-162")
@pytest.mark.parametrize("connector", CONNECTORS)
def test_hostile_texts_do_not_change_the_requested_path(started: AllConnectors, connector: str) -> None:
    parameter = list(answers(started, connector, TRICKS))
    paths = {path for _, path, _ in started.gateway.journal(connector)}

    assert [] == [path for path in sorted(paths) if ASTRAY.search(path)]
    assert [] == [(str(placed), text, reply.code) for placed, text, reply in parameter if reply.status >= 500]


@requirement("common-162")
@pytest.mark.parametrize("trick", ["..", ".", "../..", "%2e%2e", "a/b", "?x=1", " ", "//"])
@pytest.mark.parametrize(
    ("connector", "path"),
    [
        (connector.name, operation.path)
        for connector in CONNECTORS.values()
        for operation in connector.operations
        if operation.method == "GET" and operation.path_names
    ],
)
def test_hostile_url_parts_do_not_change_the_requested_path(
    started: AllConnectors, connector: str, path: str, trick: str
) -> None:
    started.gateway.clear(connector)
    address = re.sub(r"\{\w+\}", quote(trick, safe=""), path)
    reply = read(started.gateway, connector, ReadCall("GET", address, {}))

    assert reply.status in {404, 422}
    assert [] == started.gateway.journal(connector)
