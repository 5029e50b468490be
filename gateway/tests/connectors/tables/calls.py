"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("tables.create_records", "/v0/app")
"""A write as the simulation names it, and where the request begins that carries it out."""


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing; the first of them asks the application each time."""
    place = {"base_id": known["base_id"], "table": known["table"]}
    nowhere = "rec11111111111111"
    return [
        ReadCall("GET", "/records", {**place, "limit": 5}),
        ReadCall("GET", "/records", {**place, "view": known["view"], "limit": 5}),
        ReadCall("GET", "/records", {**place, "table": "no such table"}),
        ReadCall("GET", "/tables", {"base_id": known["base_id"]}),
        ReadCall("GET", "/tables", {"base_id": known["hidden_base_id"]}),
        ReadCall("POST", "/records", {**place, "records": [{"No such field": 1}]}),
        ReadCall("PATCH", f"/records/{nowhere}", {**place, "fields": {"Name": "x"}}),
        ReadCall(
            "POST", "/attachments", {"record_id": nowhere, "field": "Files", "url": "https://files.example/a.png"}
        ),
    ]
