"""Between the vendor's shapes and ours, by noun: pure functions."""

from connector_gateway.connectors.tables.mapping import attachments, batches, evidence, records, schemas

__all__ = ["attachments", "batches", "evidence", "records", "schemas"]
