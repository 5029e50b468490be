"""Management resources, declared once for HTTP, OpenAPI, the command line and the console.

Each module of this package declares one resource: its parameters, its records and its routes. The first line of the
module is its summary. This module reads only those lines, so that the command line starts fast.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector_gateway.management.route_declaration import ManagementRoute

NOT_RESOURCES = frozenset(
    {"__init__", "field_descriptions", "list_parameters", "request", "route_declaration", "routes"}
)
"""Modules of this package without a resource."""

MODULES = {"hooks": "inbound_hooks", "webhooks": "outbound_webhooks"}
"""The modules of resources whose public name does not say the direction. Others are named after their resource."""

FIRST = ("workspaces", "keys", "connections", "hooks", "webhooks", "operators", "audit", "runs")
"""The resources that the OpenAPI document and the help list first. Others follow by name."""


def _read_summaries() -> Mapping[str, str]:
    names = {module: resource for resource, module in MODULES.items()}
    summaries: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in NOT_RESOURCES:
            with path.open(encoding="utf-8") as source:
                summaries[names.get(path.stem, path.stem)] = source.readline().strip().strip('"')
    return {name: summaries.pop(name) for name in FIRST} | summaries


RESOURCES = _read_summaries()
"""Summaries of all resources by name, in the order of the OpenAPI document."""


def load_routes(resource: str) -> "Sequence[ManagementRoute]":
    """Return the routes of *resource*."""
    routes: Sequence[ManagementRoute] = import_module(f"{__name__}.{MODULES.get(resource, resource)}").RESOURCE.routes
    return routes
