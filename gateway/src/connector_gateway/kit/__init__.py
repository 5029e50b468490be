"""The vocabulary for writing connectors. It imports nothing else of the gateway."""
