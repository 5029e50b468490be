"""Secret keys, and encryption at rest under them."""
