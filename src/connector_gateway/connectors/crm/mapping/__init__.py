"""Between the vendor's shapes and ours, by noun: pure functions."""

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
