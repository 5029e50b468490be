"""Companies."""

from typing import Any

from connector_gateway.connectors.crm import wire
from connector_gateway.connectors.crm.mapping.contacts import lowered
from connector_gateway.connectors.crm.mapping.records import Kept
from connector_gateway.connectors.crm.mapping.searches import search_body


def company_domain(reference: str) -> str | None:
    """The domain that *reference* says, bare; None where it is an identifier."""
    bare = reference.strip().lower()
    bare = bare.rpartition("://")[2].partition("/")[0].removeprefix("www.").rstrip(".")
    return bare if "." in bare else None


def domain_search(domain: str) -> dict[str, Any]:
    """A search for the company with a domain; of several, the one with the lowest id."""
    # The vendor lets several companies have one domain. The oldest is the same one each time.
    return search_body([{"propertyName": "domain", "operator": "EQ", "value": domain}], ["domain"], 1)


def told_company(kept: Kept) -> Kept:
    """What callers are told of a company that was made, when something else fails."""
    return {"company_id": kept["id"]}


def domain_of(record: wire.Record) -> str:
    """A company's domain, as it is compared."""
    return lowered(record.properties.get("domain"))
