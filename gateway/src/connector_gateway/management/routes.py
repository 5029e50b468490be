"""All management routes."""

from collections.abc import Sequence

from connector_gateway.management import RESOURCES, load_routes
from connector_gateway.management.route_declaration import ManagementRoute

MANAGEMENT: Sequence[ManagementRoute] = [route for name in RESOURCES for route in load_routes(name)]
"""All management routes, in the order of the OpenAPI document."""
