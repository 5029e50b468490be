"""The service over HTTP: decodes, encodes, and decides nothing."""

from connector_gateway.http.access import AccessLog
from connector_gateway.http.application import Application, Served, Service, application

__all__ = ["AccessLog", "Application", "Served", "Service", "application"]
