"""Malformed identifiers and times, in every operation of every connector."""

from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_json

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.models import UtcDatetime, format_timestamp
from harness.requirement import requirement

MALFORMED = {
    "notes": "0b1c2d3e-4f50",
    "boards": "no-such-card",
    "mail": "<id@mail.example>",
    "chat": "17000",
    "crm": "fifty",
    "tables": "tblNoRecord",
}
NAMES = {"list_id", "attachment_id"}
"""Parameters that also accept other texts: names of lists, and attachments with two identifiers."""

IDENTIFIERS = [
    pytest.param(operation, parameter, MALFORMED[name], id=f"{name}.{operation.name}-{parameter}")
    for name, connector in CONNECTORS.items()
    for operation in connector.operations
    for parameter in operation.parameters
    if (parameter.endswith("_id") or parameter == "message_ts") and parameter not in NAMES
]
INSTANTS = [
    pytest.param(operation, parameter, id=f"{name}.{operation.name}-{parameter}")
    for name, connector in CONNECTORS.items()
    for operation in connector.operations
    for parameter in operation.parameters
    if parameter in {"due", "since", "if_unmodified_since"}
]


def violation_of(operation: Any, parameter: str, value: str) -> dict[str, Any]:
    """Return the violation of *parameter* in a call of *operation*."""
    with pytest.raises(InvalidParameters) as response:
        Arguments(path={}, body=Body(to_json({parameter: value, "no_such": 1}))).read(operation.params)
    return next(dict(detail) for detail in response.value.details if detail["parameter"] == parameter)


@requirement("common-223")
@pytest.mark.parametrize(("operation", "parameter", "value"), IDENTIFIERS)
def test_a_malformed_identifier_is_rejected_with_the_expected_form(operation: Any, parameter: str, value: str) -> None:
    violation = violation_of(operation, parameter, value)

    assert value == violation["value"]
    assert violation["message"].startswith("Should be ")


@requirement("chat-35", "common-224")
@pytest.mark.parametrize(("operation", "parameter"), INSTANTS)
def test_a_time_without_offset_is_rejected_with_the_missing_part(operation: Any, parameter: str) -> None:
    violation = violation_of(operation, parameter, "2026-11-02T09:30:00")

    assert "add Z for UTC" in violation["message"]


@requirement("common-224")
@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-02", "2026-11-02T00:00:00.000Z"),
        ("2026-11-02T09:30:00Z", "2026-11-02T09:30:00.000Z"),
        ("2026-11-02T09:30:00+01:00", "2026-11-02T08:30:00.000Z"),
    ],
)
def test_a_date_means_utc_midnight_and_a_time_uses_its_offset(text: str, instant: str) -> None:
    assert instant == format_timestamp(TypeAdapter(UtcDatetime).validate_python(text))
