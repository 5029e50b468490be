"""The service over HTTP: decodes, encodes, and decides nothing."""

from connector_gateway.http.access import AccessLog
from connector_gateway.http.application import Application, Service, application

__all__ = ["AccessLog", "Application", "Service", "application"]
