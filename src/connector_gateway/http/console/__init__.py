"""The console: pages for the operator, on the same functions as the management routes."""

from connector_gateway.http.console.declared import Console
from connector_gateway.http.console.endpoint import console_routes

__all__ = ["Console", "console_routes"]
