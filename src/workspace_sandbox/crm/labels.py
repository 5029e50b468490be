"""The routes of association labels: the types that there are, and those that a portal makes for itself."""

from dataclasses import replace
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import digits, kind_of, record_body
from workspace_sandbox.crm.definitions import custom_name_is_legal
from workspace_sandbox.crm.edges import USER_DEFINED, AssociationType, pair
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import ApiError, invalid, malformed, resource_not_found

FIRST_OWN = 101
"""Labels of a portal are numbered apart from those of the vendor."""


async def list_labels(portal: Portal, request: web.Request) -> web.Response:
    """The types of association from one object type to another."""
    kinds = portal.edges.types.between(kind_of(request).plural, kind_of(request, "to_type").plural)
    return web.json_response({"results": [kind.labelled for kind in kinds]})


async def create_label(portal: Portal, request: web.Request) -> web.Response:
    """Make a label, with one of its own for the way back if there is an ``inverseLabel``."""
    source, target, raw = kind_of(request).plural, kind_of(request, "to_type").plural, await record_body(request)
    name, label = raw.get("name"), raw.get("label")
    back_label = raw.get("inverseLabel") or label
    if not isinstance(name, str) or not isinstance(label, str) or not label or not isinstance(back_label, str):
        raise malformed('Some required fields were not set: ["label", "name"]')
    if not custom_name_is_legal(name):
        raise invalid(f"Name {name} may only hold lower-case letters, digits and underscores")
    if portal.edges.types.plain(source, target) is None:
        raise invalid(f"Objects of type {source} cannot be associated with {target}")
    if any(label == kind.label or name == kind.name for kind in portal.edges.types.between(source, target)):
        raise ApiError(400, "VALIDATION_ERROR", f"A label '{label}' already exists")
    number = FIRST_OWN + len(portal.edges.types.everything())
    there, back = pair(number, number + 1, source, target, name, f"{name}_inverse", label=label, category=USER_DEFINED)
    back = replace(back, label=back_label)
    portal.edges.types.add(there, back)
    return web.json_response({"results": [there.labelled, back.labelled]})


async def update_label(portal: Portal, request: web.Request) -> None:
    """Call a label something else; associations keep it."""
    raw = await record_body(request)
    if not isinstance(raw.get("label"), str):
        raise malformed('Some required fields were not set: ["label"]')
    found = _own(portal, request, raw.get("associationTypeId"))
    portal.edges.relabel(found, replace(found, label=raw["label"]))
    if isinstance(raw.get("inverseLabel"), str):
        back = portal.edges.types.inverse(found)
        portal.edges.relabel(back, replace(back, label=raw["inverseLabel"]))


async def delete_label(portal: Portal, request: web.Request) -> None:
    """Delete a label, and take it off whatever has it."""
    found = _own(portal, request, request.match_info["type_id"])
    back = portal.edges.types.inverse(found)
    for kind in (found, back):
        portal.edges.forget(kind)
    portal.edges.types.remove(found, back)


def _own(portal: Portal, request: web.Request, number: Any) -> AssociationType:
    source, target = kind_of(request).plural, kind_of(request, "to_type").plural
    found = portal.edges.types.named(source, target, USER_DEFINED, digits(str(number)) or 0)
    if found is None:
        raise resource_not_found()
    return found
