"""Routes of association labels, both built-in and custom ones."""

from dataclasses import replace
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import parse_digits, read_kind, read_object
from workspace_sandbox.crm.data.associations import USER_DEFINED, AssociationType, pair
from workspace_sandbox.crm.data.property_definitions import is_valid_custom_name
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed, resource_not_found

FIRST_CUSTOM_TYPE_ID = 101
"""Custom labels have a separate range of IDs."""


async def list_labels(portal: Portal, request: web.Request) -> web.Response:
    """Return the association types between two object types."""
    kinds = portal.edges.types.between(read_kind(request).plural, read_kind(request, "to_type").plural)
    return web.json_response({"results": [kind.labelled for kind in kinds]})


async def create_label(portal: Portal, request: web.Request) -> web.Response:
    """Create a label, and a label for the opposite direction if there is an ``inverseLabel``."""
    source, target, raw = read_kind(request).plural, read_kind(request, "to_type").plural, await read_object(request)
    name, label = raw.get("name"), raw.get("label")
    back_label = raw.get("inverseLabel") or label
    if not isinstance(name, str) or not isinstance(label, str) or not label or not isinstance(back_label, str):
        raise malformed('Some required fields were not set: ["label", "name"]')
    if not is_valid_custom_name(name):
        raise invalid(f"Name {name} may only hold lower-case letters, digits and underscores")
    if portal.edges.types.unlabelled(source, target) is None:
        raise invalid(f"Objects of type {source} cannot be associated with {target}")
    if any(label == kind.label or name == kind.name for kind in portal.edges.types.between(source, target)):
        raise ApiError(400, "VALIDATION_ERROR", f"A label '{label}' already exists")
    number = FIRST_CUSTOM_TYPE_ID + len(portal.edges.types.list_all())
    forward, inverse = pair(
        number, number + 1, source, target, name, f"{name}_inverse", label=label, category=USER_DEFINED
    )
    inverse = replace(inverse, label=back_label)
    portal.edges.types.add(forward, inverse)
    return web.json_response({"results": [forward.labelled, inverse.labelled]})


async def update_label(portal: Portal, request: web.Request) -> None:
    """Rename a label. Existing associations use the new name."""
    raw = await read_object(request)
    if not isinstance(raw.get("label"), str):
        raise malformed('Some required fields were not set: ["label"]')
    label = _own(portal, request, raw.get("associationTypeId"))
    portal.edges.relabel(label, replace(label, label=raw["label"]))
    if isinstance(raw.get("inverseLabel"), str):
        inverse = portal.edges.types.inverse(label)
        portal.edges.relabel(inverse, replace(inverse, label=raw["inverseLabel"]))


async def delete_label(portal: Portal, request: web.Request) -> None:
    """Delete a label, and remove it from all associations."""
    label = _own(portal, request, request.match_info["type_id"])
    inverse = portal.edges.types.inverse(label)
    for kind in (label, inverse):
        portal.edges.remove_all_of_type(kind)
    portal.edges.types.remove(label, inverse)


def _own(portal: Portal, request: web.Request, number: Any) -> AssociationType:
    source, target = read_kind(request).plural, read_kind(request, "to_type").plural
    match = portal.edges.types.find(source, target, USER_DEFINED, parse_digits(str(number)) or 0)
    if match is None:
        raise resource_not_found()
    return match
