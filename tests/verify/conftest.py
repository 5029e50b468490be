"""A gateway with all connectors and their emulators, without waits."""

from collections.abc import Iterator

import pytest

from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from harness.all_connectors import UNTHROTTLED
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(
            sandbox,
            tmp_path_factory.mktemp("verify"),
            connectors=UNTHROTTLED,
            files=PublicFileFetcher(2, 1_000_000, is_reachable=lambda address: address == "127.0.0.1"),
            GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20",
            GATEWAY_GRACE_SECONDS="5",
            GATEWAY_QUEUE_SECONDS="2",
        ) as started,
    ):
        yield started.with_key(passthrough=True, calls_per_minute=1_000_000)


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    for name in EMULATORS:
        module_gateway.clear(name)
    module_gateway.knob("crm", search_lag_seconds=0)
    module_gateway.knob("tables", fetch_seconds=0)
    return module_gateway
