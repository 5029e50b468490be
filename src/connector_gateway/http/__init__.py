"""The service over HTTP: decodes, encodes, and decides nothing."""

from connector_gateway.http.application import Application, Service, application

__all__ = ["Application", "Service", "application"]
