"""The HTTP client for upstream services: pacing, retries, redaction and recording."""
