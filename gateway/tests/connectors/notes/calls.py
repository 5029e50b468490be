"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("notes.create_page", "/v1/pages")
"""The name of a write in the simulation, and the start of the path of its vendor request."""

NOWHERE = "11111111111141118111111111111111"


def list_reads(examples: Examples) -> Sequence[ReadCall]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    leads = {"database_id": examples["database_id"]}
    return [
        ReadCall("GET", "/databases", {}),
        ReadCall("POST", "/pages/search", {**leads, "property": "Name", "value": "Acme GmbH: pilot"}),
        ReadCall("POST", "/pages/search", {**leads, "property": "Name", "value": "pilot", "match": "contains"}),
        ReadCall("POST", "/pages/search", {"database_id": NOWHERE, "property": "Name", "value": "x"}),
        ReadCall("POST", "/pages", {**leads, "properties": {"No such property": 1}}),
        ReadCall("PATCH", f"/pages/{NOWHERE}", {"properties": {"Name": "x"}}),
        ReadCall("GET", "/events", {}),
    ]
