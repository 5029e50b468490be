"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, Reading

WRITE = ("crm.create_deal", "/crm/objects/2026-09/deals")
"""A write as the simulation names it, and where the request begins that carries it out."""


def readings(known: Examples) -> Sequence[Reading]:
    """The calls that change nothing; the first of them asks the application each time."""
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
