"""The service over HTTP: decodes, encodes, and decides nothing."""

from connector_gateway.http.application import Service, application

__all__ = ["Service", "application"]
