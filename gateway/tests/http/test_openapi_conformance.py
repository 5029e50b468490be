"""Conformance of the service to its OpenAPI document: schemathesis sends valid and invalid requests of every kind."""

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.access import wrong_token_throttle
from connector_gateway.http.openapi import openapi
from harness.gateway_server import OPERATOR, Gateway

DOCUMENT = openapi([NOTES], "http://127.0.0.1")
CALLS = "/v1/connectors/notes"
MANAGEMENT = ("/v1/workspaces", "/v1/keys", "/v1/connections", "/v1/runs")


def list_operations(*prefixes: str) -> list[tuple[str, str]]:
    """Return path and method of the operations whose paths begin with *prefix*."""
    paths = DOCUMENT["paths"].items()
    return [(path, method) for path, methods in paths if path.startswith(prefixes) for method in methods]


@pytest.fixture(scope="module")
def request_generator() -> ModuleType:
    """Import the request generator here, so that not every worker that collects these tests imports it."""
    return import_module("harness.schemathesis_requests")


@pytest.fixture(scope="module")
def schema(request_generator: ModuleType) -> Any:
    return request_generator.read(DOCUMENT)


@pytest.fixture(autouse=True)
def suppress_throttle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a wrong token with every case; the token throttle has separate tests."""
    monkeypatch.setattr(wrong_token_throttle, "DELAY_SECONDS", 0.0)


@pytest.mark.parametrize(("path", "method"), list_operations(CALLS))
def test_responses_to_calls_match_the_document(
    request_generator: ModuleType, schema: Any, path: str, method: str, module_gateway: Gateway
) -> None:
    request_generator.call_with_examples(schema, path, method, module_gateway, module_gateway.key)


@pytest.mark.parametrize(("path", "method"), list_operations(*MANAGEMENT))
def test_management_responses_match_the_document(
    request_generator: ModuleType, schema: Any, path: str, method: str, module_gateway: Gateway
) -> None:
    request_generator.call_with_examples(schema, path, method, module_gateway, OPERATOR)
