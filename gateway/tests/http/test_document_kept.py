"""The service against its own OpenAPI document: schemathesis makes requests of every kind, good and bad."""

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.access import token_throttle
from connector_gateway.http.openapi import openapi
from harness.gateway_server import OPERATOR, Gateway

DOCUMENT = openapi([NOTES], "http://127.0.0.1")
CALLS = "/v1/connectors/notes"
MANAGEMENT = ("/v1/workspaces", "/v1/keys", "/v1/connections", "/v1/runs")


def below(*beginnings: str) -> list[tuple[str, str]]:
    """Path and method of the operations whose paths begin so."""
    paths = DOCUMENT["paths"].items()
    return [(path, method) for path, methods in paths if path.startswith(beginnings) for method in methods]


@pytest.fixture(scope="module")
def documented() -> ModuleType:
    """What makes the requests; it is imported here, and not by every worker that collects these tests."""
    return import_module("harness.schemathesis_requests")


@pytest.fixture(scope="module")
def schema(documented: ModuleType) -> Any:
    return documented.read(DOCUMENT)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a wrong token with every case; the throttle of wrong tokens has tests of its own."""
    monkeypatch.setattr(token_throttle, "DELAY_SECONDS", 0.0)


@pytest.mark.parametrize(("path", "method"), below(CALLS))
def test_calls_keep_to_the_document(
    documented: ModuleType, schema: Any, path: str, method: str, house: Gateway
) -> None:
    documented.call_with_examples(schema, path, method, house, house.key)


@pytest.mark.parametrize(("path", "method"), below(*MANAGEMENT))
def test_management_responses_follow_the_document(
    documented: ModuleType, schema: Any, path: str, method: str, house: Gateway
) -> None:
    documented.call_with_examples(schema, path, method, house, OPERATOR)
