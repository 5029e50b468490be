"""Conversions of cell values, one small function per type."""

from connector_gateway.connectors.tables.value_casts import select_options, to_vendor, write_comparison

__all__ = ["select_options", "to_vendor", "write_comparison"]
