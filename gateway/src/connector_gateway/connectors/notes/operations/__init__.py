"""The five notes operations, by topic."""

from connector_gateway.connectors.notes.operations.databases import list_databases
from connector_gateway.connectors.notes.operations.event_feed import read_events
from connector_gateway.connectors.notes.operations.pages import create_page, update_page
from connector_gateway.connectors.notes.operations.searches import search_pages

__all__ = ["create_page", "list_databases", "read_events", "search_pages", "update_page"]
