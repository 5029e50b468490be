"""Management: each resource is declared once, for HTTP, OpenAPI, the command line and the console.

A module of this package declares one resource: its parameters, its records and its routes. This module loads none of
them, so that the command line starts fast.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector_gateway.management.declaration import ManagementRoute

RESOURCES: Mapping[str, str] = {
    "workspaces": "Create, list and change workspaces.",
    "keys": "Create, list and revoke API keys.",
    "connections": "Create, connect, test, list, change and remove connections.",
    "hooks": "Accept, show and delete the tokens that vendors sign their deliveries with.",
    "webhooks": "Deliver observed events to URLs of a workspace, and replay them.",
    "operators": "Create, list and revoke operators.",
    "audit": "List, export and verify the audit trail.",
    "runs": "Explain calls by their run_id.",
}
"""Summaries of all resources by the names of their modules, in the order of the OpenAPI document."""


def load_routes(resource: str) -> "Sequence[ManagementRoute]":
    """Return the routes that the module of *resource* declares."""
    routes: Sequence[ManagementRoute] = import_module(f"{__name__}.{resource}").RESOURCE.routes
    return routes
