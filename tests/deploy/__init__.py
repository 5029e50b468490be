"""The files that run the gateway elsewhere."""
