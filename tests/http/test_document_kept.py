"""The service against its own OpenAPI document: schemathesis makes requests of every kind, good and bad."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, seed, settings
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


schema = schemathesis.openapi.from_dict(openapi([NOTES], "http://127.0.0.1"))


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


@schema.include(path_regex="^/v1/connectors/notes").parametrize()
@seed(1)
@few
def test_calls_keep_to_the_document(case: Any, house: Gateway) -> None:
    called(house, case, house.key)


@schema.include(path_regex="^/v1/(workspaces|keys|connections|runs)").parametrize()
@seed(1)
@few
def test_management_keeps_to_the_document(case: Any, house: Gateway) -> None:
    called(house, case, OPERATOR)
