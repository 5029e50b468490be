"""Conversions of property values, one small function per type."""

from connector_gateway.connectors.notes.value_casts import comparison, event_text, from_vendor, to_vendor

__all__ = ["comparison", "event_text", "from_vendor", "to_vendor"]
