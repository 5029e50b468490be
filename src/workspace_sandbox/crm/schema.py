"""The routes of what a portal has beside records: properties, pipelines, owners and the account."""

from dataclasses import replace
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.catalogue import DEALS, GROUPS, Kind
from workspace_sandbox.crm.definitions import (
    ACCEPTED_FIELD_TYPES,
    FIELD_TYPES,
    Definition,
    Option,
    custom_name_is_legal,
)
from workspace_sandbox.crm.directory import Pipeline
from workspace_sandbox.crm.reading import cursor, flag, kind_of, paged, record_body, whole
from workspace_sandbox.crm.rejections import (
    Rejection,
    invalid,
    malformed,
    resource_not_found,
)
from workspace_sandbox.crm.shapes import list_in
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.values import timestamp

MOST_OWNERS = 500
SENSITIVITIES = ("non_sensitive", "sensitive", "highly_sensitive")
MOST_UNIQUE = 10


async def read_account(portal: Portal, request: web.Request) -> web.Response:
    """The account, with the portal id."""
    del request
    return web.json_response(portal.account.described())


async def list_owners(portal: Portal, request: web.Request) -> web.Response:
    """Active owners, or archived ones, by id; perhaps only those with an address."""
    limit, after = whole(request, "limit", 100, MOST_OWNERS), cursor(request)
    email, archived = request.query.get("email", "").lower(), flag(request, "archived")
    found = [
        owner
        for owner in portal.owners.values()
        if owner.id > after and owner.archived == archived and email in {"", (owner.email or "").lower()}
    ]
    page = found[:limit]
    following = str(page[-1].id) if len(found) > limit else None
    return paged(request, [owner.described() for owner in page], following)


async def read_owner(portal: Portal, request: web.Request) -> web.Response:
    """One owner, by its own id or that of its user."""
    wanted, archived = request.match_info["id"], flag(request, "archived")
    id_property = request.query.get("idProperty", "id")
    if id_property not in {"id", "userId"}:
        raise invalid(f"idProperty must be one of: [id, userId], received {id_property}")
    for owner in portal.owners.values():
        if str(owner.user_id if id_property == "userId" else owner.id) == wanted and owner.archived == archived:
            return web.json_response(owner.described())
    raise resource_not_found()


async def list_pipelines(portal: Portal, request: web.Request) -> web.Response:
    """Every pipeline of an object type with its stages; only deals have any here."""
    return web.json_response({"results": _pipelines(portal, kind_of(request))})


async def read_pipeline(portal: Portal, request: web.Request) -> web.Response:
    """One pipeline with its stages."""
    return web.json_response(_pipeline(portal, request))


async def list_stages(portal: Portal, request: web.Request) -> web.Response:
    """The stages of one pipeline."""
    return web.json_response({"results": _pipeline(portal, request)["stages"]})


async def read_stage(portal: Portal, request: web.Request) -> web.Response:
    """One stage of one pipeline."""
    for stage in _pipeline(portal, request)["stages"]:
        if stage["id"] == request.match_info["stage_id"]:
            return web.json_response(stage)
    raise resource_not_found()


async def list_properties(portal: Portal, request: web.Request) -> web.Response:
    """Every property of an object type, live or archived ones, of one sensitivity."""
    kind, archived = kind_of(request), flag(request, "archived")
    sensitivity = request.query.get("dataSensitivity", SENSITIVITIES[0])
    if sensitivity not in SENSITIVITIES:
        raise invalid(f"dataSensitivity must be one of: [{', '.join(SENSITIVITIES)}], received {sensitivity}")
    shown = [
        definition.described(portal.options(definition))
        for definition in portal.definitions[kind.plural].values()
        if (definition.archived_at is not None) == archived and definition.sensitivity == sensitivity
    ]
    return web.json_response({"results": shown})


async def read_property(portal: Portal, request: web.Request) -> web.Response:
    """One property."""
    definition = _definition(portal, request, archived=flag(request, "archived"))
    return _shown(portal, definition)


async def create_property(portal: Portal, request: web.Request) -> web.Response:
    """A new custom property."""
    kind, raw = kind_of(request), await record_body(request)
    definition = _custom(portal, kind, raw)
    portal.define(kind, definition)
    return _shown(portal, definition, status=201)


async def update_property(portal: Portal, request: web.Request) -> web.Response:
    """Another label, description or set of options for a custom property."""
    definition, raw = _definition(portal, request), await record_body(request)
    if definition.built_in:
        raise invalid(f"Property {definition.name} is defined by HubSpot and cannot be changed")
    changed = replace(definition, updated=timestamp(portal.now), **_changes(raw))
    portal.define(kind_of(request), changed)
    return _shown(portal, changed)


async def archive_property(portal: Portal, request: web.Request) -> web.Response:
    """A custom property put away; records keep their values, but nobody sees them."""
    definition = _definition(portal, request)
    if definition.built_in:
        raise invalid(f"Property {definition.name} is defined by HubSpot and cannot be archived")
    portal.define(kind_of(request), definition.archived(timestamp(portal.now)))
    return web.Response(status=204)


def _shown(portal: Portal, definition: Definition, *, status: int = 200) -> web.Response:
    return web.json_response(definition.described(portal.options(definition)), status=status)


def _definition(portal: Portal, request: web.Request, *, archived: bool = False) -> Definition:
    kind, name = kind_of(request), request.match_info["name"]
    definition = portal.definitions[kind.plural].get(name)
    if definition is None or (definition.archived_at is not None) != archived:
        raise Rejection(404, "OBJECT_NOT_FOUND", f"Property {name} does not exist for object type {kind.type_id}")
    return definition


def _custom(portal: Portal, kind: Kind, raw: dict[str, Any]) -> Definition:
    missing = [name for name in ("name", "label", "type", "fieldType", "groupName") if not raw.get(name)]
    if missing:
        raise malformed(f"Some required fields were not set: {missing}")
    name, definitions = str(raw["name"]), portal.definitions[kind.plural]
    if not custom_name_is_legal(name):
        raise invalid(f"Property name {name} may only hold lower-case letters, digits and underscores")
    if name in definitions:
        raise Rejection(409, "OBJECT_ALREADY_EXISTS", f"A property named '{name}' already exists.")
    if raw["type"] not in FIELD_TYPES or raw["fieldType"] not in ACCEPTED_FIELD_TYPES:
        raise invalid(f"Property type {raw['type']} cannot have the field type {raw['fieldType']}")
    if raw["groupName"] != GROUPS[kind.plural]:
        raise invalid(f"Property group {raw['groupName']} does not exist")
    unique = bool(raw.get("hasUniqueValue"))
    if unique and sum(one.unique and not one.built_in for one in definitions.values()) >= MOST_UNIQUE:
        raise invalid(f"At most {MOST_UNIQUE} properties of an object type can have unique values")
    at = timestamp(portal.now)
    made = Definition(name, str(raw["label"]), str(raw["type"]), built_in=False, unique=unique, created=at, updated=at)
    return replace(made, refers_to=raw.get("referencedObjectType"), **_changes(raw))


CHANGEABLE = {
    "label": "label",
    "description": "description",
    "groupName": "group",
    "fieldType": "field_type",
    "hidden": "hidden",
    "options": "options",
}
"""What a change may hold, and where it is kept."""


def _changes(raw: dict[str, Any]) -> dict[str, Any]:
    changes = {kept: raw[name] for name, kept in CHANGEABLE.items() if name in raw}
    if "options" in changes:
        changes["options"] = tuple(_option(one) for one in list_in(raw, "options"))
    return changes


def _option(raw: Any) -> Option:
    if not isinstance(raw, dict) or not isinstance(raw.get("value"), str) or not isinstance(raw.get("label"), str):
        raise malformed('Some required fields were not set: ["label", "value"]')
    return Option(raw["value"], raw["label"], bool(raw.get("hidden")))


def _pipelines(portal: Portal, kind: Kind) -> list[dict[str, Any]]:
    pipelines: list[Pipeline] = list(portal.pipelines.values()) if kind is DEALS else []
    return [pipeline.described(position) for position, pipeline in enumerate(pipelines)]


def _pipeline(portal: Portal, request: web.Request) -> dict[str, Any]:
    for pipeline in _pipelines(portal, kind_of(request)):
        if pipeline["id"] == request.match_info["pipeline_id"]:
            return pipeline
    raise resource_not_found()
