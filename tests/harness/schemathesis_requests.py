"""Requests of every kind, good and bad, made by schemathesis from an OpenAPI document.

It takes most of a second to import, which only the worker that makes the requests should spend.
"""

from collections.abc import Mapping
from typing import Any

import schemathesis
from hypothesis import HealthCheck, seed, settings
from schemathesis.checks import load_all_checks
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.specs.openapi.checks import positive_data_acceptance

from harness.gateway_server import Gateway

EXAMPLES = 8

# One check is left out: that whatever fits the schema is accepted. A schema cannot say which cursors were issued,
# which connectors there are, or that control characters are refused.

few = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def read(document: Mapping[str, Any]) -> Any:
    """What a document says, as requests are made from it."""
    load_all_checks()
    return schemathesis.openapi.from_dict(dict(document))


def call_with_examples(schema: Any, path: str, method: str, gateway: Gateway, key: str) -> None:
    """Make requests of every kind to an operation."""

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
