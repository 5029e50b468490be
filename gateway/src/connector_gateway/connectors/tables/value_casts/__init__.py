"""Conversions of cell values, one small function per type."""

from connector_gateway.connectors.tables.value_casts import comparison, options, to_vendor

__all__ = ["comparison", "options", "to_vendor"]
