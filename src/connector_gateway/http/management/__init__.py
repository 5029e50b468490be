"""Management: workspaces, keys, connections, hooks and the history of runs."""

from connector_gateway.http.management.declared import Management, ManagementRoute
from connector_gateway.http.management.endpoint import management_routes
from connector_gateway.http.management.routes import MANAGEMENT

__all__ = ["MANAGEMENT", "Management", "ManagementRoute", "management_routes"]
