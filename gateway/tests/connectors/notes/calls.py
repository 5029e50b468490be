"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, Reading

WRITE = ("notes.create_page", "/v1/pages")
"""A write as the simulation names it, and where the request begins that carries it out."""

NOWHERE = "11111111111141118111111111111111"


def readings(known: Examples) -> Sequence[Reading]:
    """The calls that change nothing; the first of them asks the application each time."""
    leads = {"database_id": known["database_id"]}
    return [
        Reading("GET", "/databases", {}),
        Reading("POST", "/pages/search", {**leads, "property": "Name", "value": "Acme GmbH: pilot"}),
        Reading("POST", "/pages/search", {**leads, "property": "Name", "value": "pilot", "match": "contains"}),
        Reading("POST", "/pages/search", {"database_id": NOWHERE, "property": "Name", "value": "x"}),
        Reading("POST", "/pages", {**leads, "properties": {"No such property": 1}}),
        Reading("PATCH", f"/pages/{NOWHERE}", {"properties": {"Name": "x"}}),
        Reading("GET", "/events", {}),
    ]
