"""The vocabulary for writing connectors. It imports nothing else of the gateway."""

VERSION = 1
"""The version of the kit. It changes if a connector that was written for the previous version may not work."""
