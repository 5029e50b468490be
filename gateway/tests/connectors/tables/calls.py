"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("tables.create_records", "/v0/app")
"""The name of a write in the simulation, and the start of the path of its vendor request."""


def list_reads(examples: Examples) -> Sequence[ReadCall]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    target = {"base_id": examples["base_id"], "table": examples["table"]}
    nowhere = "rec11111111111111"
    return [
        ReadCall("GET", "/records", {**target, "limit": 5}),
        ReadCall("GET", "/records", {**target, "view": examples["view"], "limit": 5}),
        ReadCall("GET", "/records", {**target, "table": "no such table"}),
        ReadCall("GET", "/tables", {"base_id": examples["base_id"]}),
        ReadCall("GET", "/tables", {"base_id": examples["hidden_base_id"]}),
        ReadCall("POST", "/records", {**target, "records": [{"No such field": 1}]}),
        ReadCall("PATCH", f"/records/{nowhere}", {**target, "fields": {"Name": "x"}}),
        ReadCall(
            "POST", "/attachments", {"record_id": nowhere, "field": "Files", "url": "https://files.example/a.png"}
        ),
    ]
