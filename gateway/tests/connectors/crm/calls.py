"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("crm.create_deal", "/crm/objects/2026-09/deals")
"""The name of a write in the simulation, and the start of the path of its vendor request."""


def list_reads(examples: Examples) -> Sequence[ReadCall]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    deal = {"dealname": "x", "pipeline": examples["pipeline"], "dealstage": examples["stages"][0]}
    return [
        ReadCall("GET", "/contacts", {"email": examples["email"]}),
        ReadCall("GET", "/contacts", {"property": "firstname", "value": "Ana", "limit": 5}),
        ReadCall("GET", "/contacts", {"limit": 3}),
        ReadCall("GET", "/properties", {"object_type": "deals"}),
        ReadCall("POST", "/contacts", {"email": "x@example.com", "properties": {"no_such_property": "x"}}),
        ReadCall("POST", "/deals", {**deal, "contact_id": "1111111"}),
        ReadCall("POST", "/deals", {**deal, "dealstage": "no such stage"}),
        ReadCall("PATCH", "/deals/1111111", {"note": "x"}),
    ]
