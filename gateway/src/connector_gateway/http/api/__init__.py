"""Routes of operations: request bodies, responses, downloads and inbound hooks."""
