"""Values returned by a lookup can be written back unchanged."""

from typing import Any

import pytest

from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.gateway_server import Gateway
from harness.requirement import requirement

VALUES = {
    "jobtitle": "Head of Öl & Gas",
    "nps_score": "8.50",
    "newsletter": True,
    "renewal_date": "2027-02-01",
    "last_demo_at": "2026-11-02T09:30:00.250Z",
    "tier": "gold",
    "topics": ["home", "museum"],
    "erp_id": "ERP-round-trip",
    "second_owner": "rita.poe@fjordlicht.example",
    "hubspot_owner_id": "rita.poe@fjordlicht.example",
    "lifecyclestage": "lead",
}
"""A value for a property of every writable type."""


def stored_properties(portal: VendorInspector, email: str) -> dict[str, str]:
    """Return the portal's properties of a contact, without its change times."""
    return {name: text for name, text in portal.contact(email).items() if not name.endswith("modifieddate")}


def look_up(gateway: Gateway, name: str, value: str, email: str) -> Any:
    matches = gateway.items("/crm/contacts", property=name, value=value)
    return next(item[name] for item in matches if item["email"] == email)


@requirement("crm-53")
@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_every_type_can_be_written_back(gateway: Gateway, portal: VendorInspector, name: str) -> None:
    gateway.knob("crm", search_lag_seconds=0)
    email = f"round.{name.replace('_', '.')}@acme.test"
    gateway.post("/crm/contacts", email=email, properties={name: VALUES[name]})
    before = stored_properties(portal, email)
    read = look_up(gateway, name, before[name], email)

    reply = gateway.post("/crm/contacts", email=email, properties={name: read})

    assert [name] == reply.data["properties_written"]
    assert before == stored_properties(portal, email)


@requirement("crm-53")
@pytest.mark.parametrize("owned", [True, False])
def test_a_complete_contact_can_be_written_back(gateway: Gateway, portal: VendorInspector, *, owned: bool) -> None:
    contacts = gateway.get("/crm/contacts", limit=100).data
    read = next(one for one in contacts if (one["owner_email"] is not None) == owned)
    before = stored_properties(portal, read["email"])
    properties = {name: value for name, value in read.items() if name != "contact_id"}

    reply = gateway.post("/crm/contacts", email=read["email"], properties=properties)

    assert 200 == reply.status, reply.body
    assert before == {name: text for name, text in stored_properties(portal, read["email"]).items() if text}


@requirement("common-225", "crm-4")
@pytest.mark.parametrize("name", VALUES)
def test_null_restores_the_value_of_a_new_contact(gateway: Gateway, portal: VendorInspector, name: str) -> None:
    filled, new = f"filled.{name}@acme.test", f"new.{name}@acme.test"
    value = "ERP-null" if name == "erp_id" else VALUES[name]
    assert 200 == gateway.post("/crm/contacts", email=filled, properties={name: value}).status
    gateway.post("/crm/contacts", email=new)

    reply = gateway.post("/crm/contacts", email=filled, properties={name: None})

    assert [name] == reply.data["properties_written"]
    assert portal.contact(new).get(name, "") == portal.contact(filled).get(name, "")
