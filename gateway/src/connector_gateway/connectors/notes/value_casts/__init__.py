"""Conversions of property values, one small function per type."""

from connector_gateway.connectors.notes.value_casts import event_text, from_vendor, to_vendor, write_comparison

__all__ = ["event_text", "from_vendor", "to_vendor", "write_comparison"]
