"""Companies."""

from typing import Any

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.connectors.crm.mapping.contacts import to_lower
from connector_gateway.connectors.crm.mapping.records import StoredData
from connector_gateway.connectors.crm.mapping.searches import search_body


def company_domain(reference: str) -> str | None:
    """Return the bare domain in *reference*, or None if it is an identifier."""
    bare = reference.strip().lower()
    bare = bare.rpartition("://")[2].partition("/")[0].removeprefix("www.").rstrip(".")
    return bare if "." in bare else None


def domain_search(domain: str) -> dict[str, Any]:
    """Return a search for the company with a domain. Of several, the lowest id comes first."""
    # The vendor allows several companies with one domain. The oldest is a stable choice.
    return search_body([{"propertyName": "domain", "operator": "EQ", "value": domain}], ["domain"], 1)


def public_company(stored: StoredData) -> StoredData:
    """Return the part of a created company that is included in the error when a later step fails."""
    return {"company_id": stored["id"]}


def get_domain(record: vendor_models.Record) -> str:
    """Return a company's domain in comparable form."""
    return to_lower(record.properties.get("domain"))
