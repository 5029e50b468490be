"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.notes.mapping import (
    blocks,
    changes,
    databases,
    in_doubt_matching,
    inbound_hooks,
    pages,
    people,
    properties,
    searches,
)

__all__ = [
    "blocks",
    "changes",
    "databases",
    "in_doubt_matching",
    "inbound_hooks",
    "pages",
    "people",
    "properties",
    "searches",
]
