"""Property values, one small function per type."""

from connector_gateway.connectors.notes.casts import comparing, observing, reading, writing

__all__ = ["comparing", "observing", "reading", "writing"]
