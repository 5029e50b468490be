"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("tables.create_records", "/v0/app")
"""A write by its name in the simulation, and the start of its request's path."""


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing. The first one always sends a request to the vendor."""
    target = {"base_id": known["base_id"], "table": known["table"]}
    nowhere = "rec11111111111111"
    return [
        ReadCall("GET", "/records", {**target, "limit": 5}),
        ReadCall("GET", "/records", {**target, "view": known["view"], "limit": 5}),
        ReadCall("GET", "/records", {**target, "table": "no such table"}),
        ReadCall("GET", "/tables", {"base_id": known["base_id"]}),
        ReadCall("GET", "/tables", {"base_id": known["hidden_base_id"]}),
        ReadCall("POST", "/records", {**target, "records": [{"No such field": 1}]}),
        ReadCall("PATCH", f"/records/{nowhere}", {**target, "fields": {"Name": "x"}}),
        ReadCall(
            "POST", "/attachments", {"record_id": nowhere, "field": "Files", "url": "https://files.example/a.png"}
        ),
    ]
