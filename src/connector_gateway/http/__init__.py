"""The service over HTTP: decodes, encodes, and decides nothing."""

from connector_gateway.http.application import Application, Served, Service, application
from connector_gateway.http.server.access_log import AccessLog

__all__ = ["AccessLog", "Application", "Served", "Service", "application"]
