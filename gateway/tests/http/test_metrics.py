"""Metrics of a gateway under load."""

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connector_gateway.connectors.chat import CHAT
from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.notes import NotesEmulator

ORDER = ("connector", "budget", "operation", "queue", "kind", "place", "reason", "result", "status", "le", "version")
"""Labels in the order in which the tests name their values."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator, chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("metrics"), connectors={"notes": NOTES, "chat": CHAT}) as gateway,
    ):
        yield gateway


def read_samples(gateway: Gateway) -> dict[tuple[str, ...], float]:
    """Return every sample by its name, followed by the values of its labels."""
    text = gateway.request("GET", "/metrics").body.decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels, key=ORDER.index))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@requirement("common-131")
def test_upstream_requests_are_counted_by_status_and_rejections_by_budget(gateway: Gateway) -> None:
    gateway.fault("notes", fault="throttle", seconds=0.01, times=1)
    gateway.get("/notes/databases", limit=1)
    metrics = read_samples(gateway)

    assert 1 == metrics["gateway_upstream_requests_total", "notes", "429"]
    assert 1 <= metrics["gateway_upstream_requests_total", "notes", "200"]
    assert 1 == metrics["gateway_upstream_throttled_total", "notes", "integration"]
    assert metrics["gateway_upstream_seconds_sum", "notes"] > 0


@requirement("common-131")
def test_commits_connections_and_the_process_have_metrics(gateway: Gateway) -> None:
    gateway.get("/notes/databases", limit=1)
    metrics = read_samples(gateway)

    assert metrics["gateway_storage_commit_seconds_count",] >= 1
    assert metrics["gateway_storage_writes_total",] >= metrics["gateway_storage_commit_seconds_count",]
    assert 0 == metrics["gateway_storage_waiting", "write"]
    assert 1 <= metrics["gateway_client_connections",]
    assert (0, 1000) == (metrics["gateway_pool_requests", "under_way"], metrics["gateway_pool_requests", "most"])
    assert 1 == metrics["gateway_connections", "notes", "active"]
    assert metrics["process_resident_memory_bytes",] > 1_000_000


@requirement("common-131")
def test_deliveries_are_counted_by_outcome(gateway: Gateway) -> None:
    gateway.request("POST", "/hooks/chat", json={"type": "unsigned"})

    assert 1 == read_samples(gateway)["gateway_hook_deliveries_total", "chat", "invalid_signature"]
