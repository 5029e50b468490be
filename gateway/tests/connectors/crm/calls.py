"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("crm.create_deal", "/crm/objects/2026-09/deals")
"""A write by its name in the simulation, and the start of its request's path."""


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing. The first one always sends a request to the vendor."""
    deal = {"dealname": "x", "pipeline": known["pipeline"], "dealstage": known["stages"][0]}
    return [
        ReadCall("GET", "/contacts", {"email": known["email"]}),
        ReadCall("GET", "/contacts", {"property": "firstname", "value": "Ana", "limit": 5}),
        ReadCall("GET", "/contacts", {"limit": 3}),
        ReadCall("GET", "/properties", {"object_type": "deals"}),
        ReadCall("POST", "/contacts", {"email": "x@example.com", "properties": {"no_such_property": "x"}}),
        ReadCall("POST", "/deals", {**deal, "contact_id": "1111111"}),
        ReadCall("POST", "/deals", {**deal, "dealstage": "no such stage"}),
        ReadCall("PATCH", "/deals/1111111", {"note": "x"}),
    ]
