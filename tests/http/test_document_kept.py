"""The service against its own OpenAPI document: schemathesis makes requests of every kind, good and bad."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, seed, settings
from schemathesis.checks import load_all_checks
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.specs.openapi.checks import positive_data_acceptance

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core import guesses
from connector_gateway.http.openapi import openapi
from harness.serving import OPERATOR, Gateway

EXAMPLES = 8

# One check is left out: that whatever fits the schema is accepted. A schema cannot say which cursors were issued,
# which connectors there are, or that control characters are refused.

few = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


DOCUMENT = openapi([NOTES], "http://127.0.0.1")
CALLS = "/v1/connectors/notes"
MANAGEMENT = ("/v1/workspaces", "/v1/keys", "/v1/connections", "/v1/runs")


def below(*beginnings: str) -> list[tuple[str, str]]:
    """Path and method of the operations whose paths begin so."""
    paths = DOCUMENT["paths"].items()
    return [(path, method) for path, methods in paths if path.startswith(beginnings) for method in methods]


@pytest.fixture(scope="module")
def schema() -> Any:
    load_all_checks()
    return schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong tokens are tried with every case; what slows down who guesses has tests of its own."""
    monkeypatch.setattr(guesses, "PAUSE_SECONDS", 0.0)


def called(gateway: Gateway, case: Any, key: str) -> Any:
    """The validated answer to *case*."""
    named = case.body.get("connection_id") if isinstance(case.body, dict) else None
    if isinstance(named, str) and named:  # anything else is what is wrong with the case, and stays
        case.body["connection_id"] = gateway.connections["notes"]
    return case.call_and_validate(
        base_url=gateway.base_url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=20,
        excluded_checks=[positive_data_acceptance],
    )


def tried(schema: Any, path: str, method: str, gateway: Gateway, key: str) -> None:
    """Make requests of every kind to an operation.

    They are thought out here, and not while tests are collected: that takes a second, in each worker.
    """

    @seed(1)
    @few
    def call(case: Any) -> None:
        called(gateway, case, key)

    build_operation_test(
        config=schema.config,
        operation=schema[path][method],
        test_func=call,
        given_kwargs={},
        feedback=FeedbackSources(constants_value_source=make_constants_value_source(schema)),
    )()


@pytest.mark.parametrize(("path", "method"), below(CALLS))
def test_calls_keep_to_the_document(schema: Any, path: str, method: str, house: Gateway) -> None:
    tried(schema, path, method, house, house.key)


@pytest.mark.parametrize(("path", "method"), below(*MANAGEMENT))
def test_management_keeps_to_the_document(schema: Any, path: str, method: str, house: Gateway) -> None:
    tried(schema, path, method, house, OPERATOR)
