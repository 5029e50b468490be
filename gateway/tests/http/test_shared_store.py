"""Effects of an outage of the shared store on callers and operators."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.storage.shared import valkey
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.valkey import Server, valkey_server
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Server]:
    with valkey_server(tmp_path) as server:
        yield server


@pytest.fixture(autouse=True)
def _long_store_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeout of the store, so that a busy machine causes no outage."""
    monkeypatch.setattr(valkey, "TIMEOUT_SECONDS", 10)


@pytest.fixture
def gateway(store: Server, tmp_path: Path) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}, GATEWAY_SHARED_URL=store.url) as gateway,
    ):
        yield gateway


@requirement("common-197")
def test_readiness_reports_local_counting_until_the_store_is_back(store: Server, gateway: Gateway) -> None:
    before = gateway.get("/notes/databases", limit=1)
    store.stop()
    meanwhile, readiness = gateway.get("/notes/databases", limit=1), gateway.request("GET", "/readyz")
    figures = gateway.request("GET", "/metrics").body
    store.start()
    wait_until(lambda: "unavailable" not in gateway.request("GET", "/readyz").body["shared_store"])
    after = gateway.get("/notes/databases", limit=1)

    assert ([200, 200, 200], 200) == ([reply.status for reply in (before, meanwhile, after)], readiness.status)
    assert "local-share" == meanwhile.headers["x-service-counting"]
    assert "x-service-counting" not in before.headers
    assert readiness.body["shared_store"].startswith(f"{store.url} is unavailable; local share for another")
    assert "gateway_shared_store_local_counts_total 0.0" not in figures.decode()


@requirement("common-198")
def test_after_a_minute_calls_are_rejected_and_the_service_is_not_ready(
    store: Server, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.stop()
    monkeypatch.setattr("connector_gateway.storage.shared.unavailable_store.MAX_DEGRADED_SECONDS", 0.0)
    reply, ready = gateway.get("/notes/databases", limit=1), gateway.request("GET", "/readyz")

    assert (503, "shared_store_unavailable") == (reply.status, reply.code)
    assert str(reply.body["retry_after"]) == reply.headers["retry-after"]
    assert (503, "failed: SharedStoreUnavailable") == (ready.status, ready.body["checks"]["shared_store"])
