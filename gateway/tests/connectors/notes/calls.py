"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, Reading

WRITE = ("notes.create_page", "/v1/pages")
"""The name of a write in the simulation, and the start of the path of its vendor request."""

NOWHERE = "11111111111141118111111111111111"


def readings(examples: Examples) -> Sequence[Reading]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    leads = {"database_id": examples["database_id"]}
    return [
        Reading("GET", "/databases", {}),
        Reading("POST", "/pages/search", {**leads, "property": "Name", "value": "Acme GmbH: pilot"}),
        Reading("POST", "/pages/search", {**leads, "property": "Name", "value": "pilot", "match": "contains"}),
        Reading("POST", "/pages/search", {"database_id": NOWHERE, "property": "Name", "value": "x"}),
        Reading("POST", "/pages", {**leads, "properties": {"No such property": 1}}),
        Reading("PATCH", f"/pages/{NOWHERE}", {"properties": {"Name": "x"}}),
        Reading("GET", "/events", {}),
    ]
