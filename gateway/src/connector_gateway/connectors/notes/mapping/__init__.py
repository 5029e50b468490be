"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.notes.mapping import (
    blocks,
    databases,
    in_doubt_matching,
    pages,
    people,
    properties,
    property_changes,
    searches,
)

__all__ = [
    "blocks",
    "databases",
    "in_doubt_matching",
    "pages",
    "people",
    "properties",
    "property_changes",
    "searches",
]
