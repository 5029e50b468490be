"""Vendor requests of every operation, as documented in docs/reference/vendor-requests.md."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from harness.all_connectors import UNTHROTTLED
from harness.example_calls import arguments, called
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "vendor-requests.md"
ROW = re.compile(r"(?m)^\| `(\w+)` \| (\d+) \| (\d+) \| .+ \|$")
CHANGED = ("name", "text", "dealname", "subject")
"""Parameters that differ in the second call, so that it is another write."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("requests")
    files = PublicFileFetcher(2, 1_000_000, is_reachable=lambda address: address == "127.0.0.1")
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(
            sandbox, folder, connectors=UNTHROTTLED, files=files, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="30"
        ) as started,
    ):
        for connector in EMULATORS:
            started.clear(connector)
        yield started


def count_requests(gateway: Gateway, name: str, params: Mapping[str, Any]) -> int:
    """Return the number of vendor requests of one call."""
    connector = name.partition("_")[0]
    gateway.sandbox.emulators[connector].context.request_log.clear()
    called(gateway, name, params)
    return len(gateway.journal(connector))


def measure(gateway: Gateway, name: str, params: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return an operation with its requests on a new connection, and those of a similar call after it."""
    connector = name.partition("_")[0]
    credentials = gateway.sandbox.emulators[connector].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": connector, "credentials": credentials}
    connection_id = gateway.operator("POST", "/v1/connections", json=body).data["connection_id"]
    caller = replace(gateway, connections={connector: connection_id})
    cold = count_requests(caller, name, params)
    other = {key: f"{value} again" if key in CHANGED else value for key, value in params.items()}
    return name, str(cold), str(count_requests(caller, name, other))


@pytest.fixture(scope="module")
def measured(gateway: Gateway) -> set[tuple[str, str, str]]:
    """Call every operation twice."""
    crm, tables = gateway.examples("crm"), gateway.examples("tables")
    calls = {name: {**params, "idempotency_key": None} for name, params in arguments(gateway).items()}
    calls["crm_create_or_update_contact"]["associate_company"] = crm["company_domain"]
    with serve_files({"/brief.txt": scripted_response(b"What they need", "text/plain")}) as site:
        calls["tables_attach_file"] = {
            "record_id": tables["record_id"],
            "field": tables["attachment_field"],
            "url": f"{site}/brief.txt",
        }
        return {
            measure(gateway, name, {key: value for key, value in params.items() if value is not None})
            for name, params in calls.items()
        }


def test_the_page_states_the_vendor_requests_of_every_operation(measured: set[tuple[str, str, str]]) -> None:
    assert measured == set(ROW.findall(PAGE.read_text(encoding="utf-8")))
    assert {name for name, _, _ in measured} == {
        f"{connector}_{operation.name}" for connector, one in CONNECTORS.items() for operation in one.operations
    }


@pytest.mark.usefixtures("measured")
def test_unchanged_vendors_show_no_signs_of_change(gateway: Gateway) -> None:
    metrics = gateway.request("GET", "/metrics").body.decode()

    assert [] == [line for line in metrics.splitlines() if line.startswith("gateway_upstream_unexpected_total{")]
