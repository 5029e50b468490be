"""Routes of property groups."""

from dataclasses import replace

from aiohttp import web

from workspace_sandbox.crm.arguments import integer_in, kind_of, record_body
from workspace_sandbox.crm.definitions import Group, custom_name_is_legal
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import ApiError, invalid, malformed, resource_not_found
from workspace_sandbox.kit.refusals import require


async def list_groups(portal: Portal, request: web.Request) -> web.Response:
    """Return all groups of an object type."""
    return web.json_response({"results": [one.described() for one in portal.groups[kind_of(request).plural].values()]})


async def read_group(portal: Portal, request: web.Request) -> web.Response:
    """Return a group."""
    return web.json_response(_group(portal, request).described())


async def create_group(portal: Portal, request: web.Request) -> web.Response:
    """Create a group."""
    groups, raw = portal.groups[kind_of(request).plural], await record_body(request)
    name, label = raw.get("name"), raw.get("label")
    if not isinstance(name, str) or not isinstance(label, str):
        raise malformed('Some required fields were not set: ["name", "label"]')
    if not custom_name_is_legal(name):
        raise invalid(f"Group name {name} may only hold lower-case letters, digits and underscores")
    if name in groups:
        raise ApiError(409, "OBJECT_ALREADY_EXISTS", f"A property group named '{name}' already exists.")
    groups[name] = Group(name, label, integer_in(raw, "displayOrder", -1))
    return web.json_response(groups[name].described(), status=201)


async def update_group(portal: Portal, request: web.Request) -> web.Response:
    """Update the label or the position of a group."""
    group, raw = _group(portal, request), await record_body(request)
    changed = replace(
        group, label=str(raw.get("label", group.label)), order=integer_in(raw, "displayOrder", group.order)
    )
    portal.groups[kind_of(request).plural][group.name] = changed
    return web.json_response(changed.described())


async def archive_group(portal: Portal, request: web.Request) -> None:
    """Archive an empty group."""
    kind, group = kind_of(request), _group(portal, request)
    if any(one.group == group.name for one in portal.live_definitions(kind).values()):
        raise invalid(f"Property group {group.name} still has properties")
    del portal.groups[kind.plural][group.name]


def _group(portal: Portal, request: web.Request) -> Group:
    return require(portal.groups[kind_of(request).plural].get(request.match_info["name"]), resource_not_found())
