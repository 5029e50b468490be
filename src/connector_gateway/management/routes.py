"""All management routes."""

from collections.abc import Sequence
from importlib import import_module

from connector_gateway.management import RESOURCES
from connector_gateway.management.declaration import ManagementRoute


def load_routes(resource: str) -> Sequence[ManagementRoute]:
    """Return the routes that the module of *resource* declares."""
    routes: Sequence[ManagementRoute] = import_module(f"{__package__}.{resource}").RESOURCE.routes
    return routes


MANAGEMENT: Sequence[ManagementRoute] = [route for name in RESOURCES for route in load_routes(name)]
"""All management routes, in the order of the OpenAPI document."""
