"""The HTTP surface: decodes requests and encodes responses, without business logic."""

from connector_gateway.http.asgi import Application, AsgiApp, Service, application
from connector_gateway.http.server.access_log import AccessLogMiddleware

__all__ = ["AccessLogMiddleware", "Application", "AsgiApp", "Service", "application"]
