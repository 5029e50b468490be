"""Vendor requests of every operation, as declared. The reference lists the same declarations."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.pacing.call_costs import CallCost, CallCosts
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from harness.all_connectors import UNTHROTTLED
from harness.example_calls import arguments, called
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

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


Used = tuple[int, Mapping[str, float]]
"""The number of requests of a call, and the units of each budget that they used."""


def send_call(gateway: Gateway, costs: list[CallCost], name: str, params: Mapping[str, Any]) -> Used:
    """Send one call, and return its use."""
    connector = name.partition("_")[0]
    gateway.sandbox.emulators[connector].context.request_log.clear()
    called(gateway, name, params)
    return len(gateway.journal(connector)), costs[-1].used


def measure(gateway: Gateway, costs: list[CallCost], name: str, params: Mapping[str, Any]) -> tuple[Used, Used]:
    """Return the use of a call on a new connection, and of a similar call after it."""
    connector = name.partition("_")[0]
    credentials = gateway.sandbox.emulators[connector].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": connector, "credentials": credentials}
    connection_id = gateway.operator("POST", "/v1/connections", json=body).data["connection_id"]
    caller = replace(gateway, connections={connector: connection_id})
    cold = send_call(caller, costs, name, params)
    other = {key: f"{value} again" if key in CHANGED else value for key, value in params.items()}
    return cold, send_call(caller, costs, name, other)


@pytest.fixture(scope="module")
def measured(gateway: Gateway) -> Mapping[str, tuple[Used, Used]]:
    """The use of every operation, each called twice."""
    costs: list[CallCost] = []
    crm, tables = gateway.examples("crm"), gateway.examples("tables")
    calls = {name: {**params, "idempotency_key": None} for name, params in arguments(gateway).items()}
    calls["crm_create_or_update_contact"]["associate_company"] = crm["company_domain"]
    with (
        pytest.MonkeyPatch.context() as patches,
        serve_files({"/brief.txt": scripted_response(b"What they need", "text/plain")}) as site,
    ):
        patches.setattr(CallCosts, "record", lambda _, cost: costs.append(cost))
        calls["tables_attach_file"] = {
            "record_id": tables["record_id"],
            "field": tables["attachment_field"],
            "url": f"{site}/brief.txt",
        }
        return {
            name: measure(gateway, costs, name, {key: value for key, value in params.items() if value is not None})
            for name, params in calls.items()
        }


def test_every_operation_uses_the_vendor_requests_that_it_declares(
    measured: Mapping[str, tuple[Used, Used]],
) -> None:
    declared = {
        f"{connector}_{operation.name}": operation.requests
        for connector, one in CONNECTORS.items()
        for operation in one.operations
    }
    assert measured == {
        name: ((len(requests.cold), requests.cold_units), (len(requests.warm), requests.warm_units))
        for name, requests in declared.items()
    }


@pytest.mark.usefixtures("measured")
def test_unchanged_vendors_show_no_signs_of_change(gateway: Gateway) -> None:
    metrics = gateway.request("GET", "/metrics").body.decode()

    assert [] == [line for line in metrics.splitlines() if line.startswith("gateway_upstream_unexpected_total{")]
