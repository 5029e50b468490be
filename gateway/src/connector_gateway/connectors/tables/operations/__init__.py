"""The five tables operations, by topic."""

from connector_gateway.connectors.tables.operations.attachments import attach_file
from connector_gateway.connectors.tables.operations.bases import list_tables
from connector_gateway.connectors.tables.operations.batches import create_records
from connector_gateway.connectors.tables.operations.records import read_records, update_record

__all__ = ["attach_file", "create_records", "list_tables", "read_records", "update_record"]
