"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.tables.mapping import attachments, batches, in_doubt_matching, records, schemas

__all__ = ["attachments", "batches", "in_doubt_matching", "records", "schemas"]
