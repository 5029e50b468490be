"""Stored state: identifiers, serialization and values of seed files."""
