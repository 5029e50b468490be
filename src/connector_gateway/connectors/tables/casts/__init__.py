"""Values of cells, one small function per type."""

from connector_gateway.connectors.tables.casts import comparing, options, writing

__all__ = ["comparing", "options", "writing"]
