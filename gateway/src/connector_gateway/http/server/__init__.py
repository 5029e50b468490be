"""The HTTP server: protocol, connection limits, access log, metrics and tracing."""
