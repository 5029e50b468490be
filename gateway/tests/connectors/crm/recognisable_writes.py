"""A caller whose writes are recognisable, and faults of its requests."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.gateway_server import Gateway, Reply

OBJECTS = "/crm/objects/2026-09"
HTML = "<html><body>Bad Gateway</body></html>"

CREATE_CONTACT = ("POST", f"{OBJECTS}/contacts")

numbers = count(1)


@dataclass(frozen=True)
class Writer:
    """A caller whose writes can be counted in the portal."""

    gateway: Gateway
    portal: VendorInspector
    mark: str
    deal_id: str

    def upsert(self, **more: Any) -> Reply:
        body: dict[str, Any] = {"email": f"{self.mark}@acme.test", "properties": {"jobtitle": self.mark}}
        return self.gateway.post("/crm/contacts", **(body | more))

    def skip(self, **more: Any) -> Reply:
        return self.upsert(on_conflict="skip", **more)

    def link(self, **more: Any) -> Reply:
        return self.upsert(associate_company="aurora-archi.example", **more)

    def upsert_with_new_company(self, **more: Any) -> Reply:
        return self.upsert(associate_company=f"{self.mark}.test", create_company=True, **more)

    def open(self, **more: Any) -> Reply:
        body: dict[str, Any] = {"dealname": self.mark, "pipeline": "default", "dealstage": "closedwon", "amount": 1.5}
        return self.gateway.post("/crm/deals", **(body | more))

    def open_for(self, **more: Any) -> Reply:
        return self.open(contact_id="50912", **more)

    def move(self, **more: Any) -> Reply:
        change: dict[str, Any] = {"dealstage": "Closed Lost", "properties": {"description": self.mark}}
        return self.gateway.patch(f"/crm/deals/{self.deal_id}", **change, **more)

    def note(self, **more: Any) -> Reply:
        return self.gateway.patch(f"/crm/deals/{self.deal_id}", note=self.mark, **more)

    def inject_fault(self, request: tuple[str, str], **injected: Any) -> None:
        """Inject a fault into the next such request to the vendor."""
        method, path = request
        if request == CREATE_CONTACT:
            # A read by email goes to a path with the same start, just before.
            self.gateway.fault("crm", method=method, path=path, fault="delay", seconds=0)
        self.gateway.fault("crm", method=method, path=path, **injected)

    def repeat_until_final(self, write: str, **more: Any) -> Reply:
        """Repeat a write until its response is neither in doubt nor a timeout, and return it."""
        reply: Reply = getattr(self, write)(**more)
        while reply.status in {502, 504}:
            reply = getattr(self, write)(**more)
        return reply

    def count_requests(self, request: tuple[str, str]) -> int:
        """Return how often such a request has reached the vendor."""
        method, path = request
        return sum((seen[0], seen[1]) == (method, path) for seen in self.gateway.journal("crm"))

    def count_writes(self) -> int:
        """Return how often the portal contains the intended write."""
        return sum(
            (
                self.portal.count("contacts", jobtitle=self.mark),
                self.portal.count("deals", dealname=self.mark),
                self.portal.count("deals", description=self.mark, dealstage="closedlost"),
                len(self.portal.notes(self.deal_id, self.mark)),
            )
        )


def new_writer(gateway: Gateway, portal: VendorInspector) -> Writer:
    """Create a writer with its own deal, and delay the search index by a minute."""
    mark = f"fault-{next(numbers)}"
    properties = {"dealname": f"of {mark}", "pipeline": "default", "dealstage": "qualifiedtobuy"}
    created = gateway.act("crm", action="create_deal", properties=properties)
    gateway.knob("crm", search_lag_seconds=60)
    return Writer(gateway, portal, mark, created["id"])


SINGLE = [
    pytest.param("upsert", ("POST", f"{OBJECTS}/contacts/batch/upsert"), id="upsert"),
    pytest.param("skip", CREATE_CONTACT, id="create or skip"),
    pytest.param("open", ("POST", f"{OBJECTS}/deals"), id="deal"),
    pytest.param("open_for", ("POST", f"{OBJECTS}/deals"), id="deal of a contact"),
    pytest.param("move", ("PATCH", f"{OBJECTS}/deals"), id="move"),
    pytest.param("note", ("POST", f"{OBJECTS}/notes"), id="note"),
]
"""Writes, with the single request that each sends."""

LINK = pytest.param("link", ("PUT", f"{OBJECTS}/contacts/"), id="link")
