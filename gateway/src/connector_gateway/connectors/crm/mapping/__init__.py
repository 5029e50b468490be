"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.crm.mapping import (
    companies,
    contacts,
    deals,
    notes,
    owners,
    properties,
    records,
    searches,
)

__all__ = ["companies", "contacts", "deals", "notes", "owners", "properties", "records", "searches"]
