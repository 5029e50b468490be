"""Management routes over HTTP."""

from connector_gateway.http.management.endpoint import management_routes

__all__ = ["management_routes"]
