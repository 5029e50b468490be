"""Routes of property groups."""

from dataclasses import replace

from aiohttp import web

from workspace_sandbox.crm.arguments import read_integer, read_kind, read_object
from workspace_sandbox.crm.data.property_definitions import Group, is_valid_custom_name
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed, resource_not_found
from workspace_sandbox.kit.error_responses import require


async def list_groups(portal: Portal, request: web.Request) -> web.Response:
    """Return all groups of an object type."""
    return web.json_response({"results": [one.to_json() for one in portal.groups[read_kind(request).plural].values()]})


async def read_group(portal: Portal, request: web.Request) -> web.Response:
    """Return a group."""
    return web.json_response(_group(portal, request).to_json())


async def create_group(portal: Portal, request: web.Request) -> web.Response:
    """Create a group."""
    groups, raw = portal.groups[read_kind(request).plural], await read_object(request)
    name, label = raw.get("name"), raw.get("label")
    if not isinstance(name, str) or not isinstance(label, str):
        raise malformed('Some required fields were not set: ["name", "label"]')
    if not is_valid_custom_name(name):
        raise invalid(f"Group name {name} may only hold lower-case letters, digits and underscores")
    if name in groups:
        raise ApiError(409, "OBJECT_ALREADY_EXISTS", f"A property group named '{name}' already exists.")
    groups[name] = Group(name, label, read_integer(raw, "displayOrder", -1))
    return web.json_response(groups[name].to_json(), status=201)


async def update_group(portal: Portal, request: web.Request) -> web.Response:
    """Update the label or the position of a group."""
    group, raw = _group(portal, request), await read_object(request)
    changed = replace(
        group, label=str(raw.get("label", group.label)), order=read_integer(raw, "displayOrder", group.order)
    )
    portal.groups[read_kind(request).plural][group.name] = changed
    return web.json_response(changed.to_json())


async def archive_group(portal: Portal, request: web.Request) -> None:
    """Archive an empty group."""
    kind, group = read_kind(request), _group(portal, request)
    if any(one.group == group.name for one in portal.live_definitions(kind).values()):
        raise invalid(f"Property group {group.name} still has properties")
    del portal.groups[kind.plural][group.name]


def _group(portal: Portal, request: web.Request) -> Group:
    return require(portal.groups[read_kind(request).plural].get(request.match_info["name"]), resource_not_found())
