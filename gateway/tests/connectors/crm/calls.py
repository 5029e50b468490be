"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, Reading

WRITE = ("crm.create_deal", "/crm/objects/2026-09/deals")
"""A write by its name in the simulation, and the start of its request's path."""


def readings(known: Examples) -> Sequence[Reading]:
    """The calls that change nothing. The first one always sends a request to the vendor."""
    deal = {"dealname": "x", "pipeline": known["pipeline"], "dealstage": known["stages"][0]}
    return [
        Reading("GET", "/contacts", {"email": known["email"]}),
        Reading("GET", "/contacts", {"property": "firstname", "value": "Ana", "limit": 5}),
        Reading("GET", "/contacts", {"limit": 3}),
        Reading("GET", "/properties", {"object_type": "deals"}),
        Reading("POST", "/contacts", {"email": "x@example.com", "properties": {"no_such_property": "x"}}),
        Reading("POST", "/deals", {**deal, "contact_id": "1111111"}),
        Reading("POST", "/deals", {**deal, "dealstage": "no such stage"}),
        Reading("PATCH", "/deals/1111111", {"note": "x"}),
    ]
