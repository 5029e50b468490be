"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("notes.create_page", "/v1/pages")
"""A write as the simulation names it, and where the request begins that carries it out."""

NOWHERE = "11111111111141118111111111111111"


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing; the first of them asks the application each time."""
    leads = {"database_id": known["database_id"]}
    return [
        ReadCall("GET", "/databases", {}),
        ReadCall("POST", "/pages/search", {**leads, "property": "Name", "value": "Acme GmbH: pilot"}),
        ReadCall("POST", "/pages/search", {**leads, "property": "Name", "value": "pilot", "match": "contains"}),
        ReadCall("POST", "/pages/search", {"database_id": NOWHERE, "property": "Name", "value": "x"}),
        ReadCall("POST", "/pages", {**leads, "properties": {"No such property": 1}}),
        ReadCall("PATCH", f"/pages/{NOWHERE}", {"properties": {"Name": "x"}}),
        ReadCall("GET", "/events", {}),
    ]
