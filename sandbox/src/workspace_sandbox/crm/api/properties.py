"""Routes of properties."""

from dataclasses import replace
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import read_flag, read_inputs, read_kind, read_list, read_object
from workspace_sandbox.crm.data.object_types import ObjectType
from workspace_sandbox.crm.data.property_definitions import (
    ACCEPTED_FIELD_TYPES,
    FIELD_TYPES,
    Definition,
    Option,
    is_valid_custom_name,
)
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed
from workspace_sandbox.crm.page_and_batch_responses import batch_response
from workspace_sandbox.kit.clock import format_timestamp

SENSITIVITIES = ("non_sensitive", "sensitive", "highly_sensitive")
MAX_UNIQUE = 10


async def list_properties(portal: Portal, request: web.Request) -> web.Response:
    """Return all live or archived properties of an object type with one sensitivity."""
    kind, archived = read_kind(request), read_flag(request, "archived")
    sensitivity = request.query.get("dataSensitivity", SENSITIVITIES[0])
    if sensitivity not in SENSITIVITIES:
        raise invalid(f"dataSensitivity must be one of: [{', '.join(SENSITIVITIES)}], received {sensitivity}")
    results = [
        definition.to_json(portal.options(definition))
        for definition in portal.definitions[kind.plural].values()
        if (definition.archived_at is not None) == archived and definition.sensitivity == sensitivity
    ]
    return web.json_response({"results": results})


async def read_property(portal: Portal, request: web.Request) -> web.Response:
    """Return a property."""
    definition = _definition(portal, request, archived=read_flag(request, "archived"))
    return _property_response(portal, definition)


async def create_property(portal: Portal, request: web.Request) -> web.Response:
    """Create a custom property."""
    kind, raw = read_kind(request), await read_object(request)
    definition = _custom(portal, kind, raw)
    portal.define(kind, definition)
    return _property_response(portal, definition, status=201)


async def update_property(portal: Portal, request: web.Request) -> web.Response:
    """Update the label, the description or the options of a custom property."""
    definition, raw = _definition(portal, request), await read_object(request)
    if definition.built_in:
        raise invalid(f"Property {definition.name} is defined by HubSpot and cannot be changed")
    changed = replace(definition, updated=format_timestamp(portal.now), **_changes(raw))
    portal.define(read_kind(request), changed)
    return _property_response(portal, changed)


async def archive_property(portal: Portal, request: web.Request) -> None:
    """Archive a custom property. Records keep its values, but they are hidden."""
    _archive(portal, read_kind(request), _definition(portal, request))


async def batch_read(portal: Portal, request: web.Request) -> web.Response:
    """Return several properties. Missing ones are listed as errors."""
    kind, (raw, items) = read_kind(request), await read_inputs(request)
    archived, sensitivity = raw.get("archived") is True, raw.get("dataSensitivity", SENSITIVITIES[0])
    matches, missing = _named(portal, kind, items, archived=archived)
    results = [one.to_json(portal.options(one)) for one in matches if one.sensitivity == sensitivity]
    return batch_response(portal.now, results, [_missing(kind, name) for name in missing])


async def batch_create(portal: Portal, request: web.Request) -> web.Response:
    """Create several custom properties. Those that cannot be created are listed as errors."""
    kind, (_, items) = read_kind(request), await read_inputs(request)
    results, errors = [], []
    for raw in items:
        try:
            definition = _custom(portal, kind, raw)
        except ApiError as error:
            errors.append(error)
        else:
            portal.define(kind, definition)
            results.append(definition.to_json(portal.options(definition)))
    return batch_response(portal.now, results, errors, status=201)


async def batch_archive(portal: Portal, request: web.Request) -> None:
    """Archive several custom properties. Missing ones are ignored."""
    kind, (_, items) = read_kind(request), await read_inputs(request)
    definitions, _ = _named(portal, kind, items)
    for definition in definitions:
        _archive(portal, kind, definition)


def _named(
    portal: Portal, kind: ObjectType, items: list[dict[str, Any]], *, archived: bool = False
) -> tuple[list[Definition], list[str]]:
    names = [str(one.get("name")) for one in items]
    definitions = portal.definitions[kind.plural]
    existing = [
        name for name in names if name in definitions and (definitions[name].archived_at is not None) == archived
    ]
    return [definitions[name] for name in existing], [name for name in names if name not in existing]


def _archive(portal: Portal, kind: ObjectType, definition: Definition) -> None:
    if definition.built_in:
        raise invalid(f"Property {definition.name} is defined by HubSpot and cannot be archived")
    portal.define(kind, definition.archived(format_timestamp(portal.now)))


def _property_response(portal: Portal, definition: Definition, *, status: int = 200) -> web.Response:
    return web.json_response(definition.to_json(portal.options(definition)), status=status)


def _definition(portal: Portal, request: web.Request, *, archived: bool = False) -> Definition:
    kind, name = read_kind(request), request.match_info["name"]
    definition = portal.definitions[kind.plural].get(name)
    if definition is None or (definition.archived_at is not None) != archived:
        raise _missing(kind, name)
    return definition


def _missing(kind: ObjectType, name: str) -> ApiError:
    return ApiError(404, "OBJECT_NOT_FOUND", f"Property {name} does not exist for object type {kind.type_id}")


def _custom(portal: Portal, kind: ObjectType, raw: dict[str, Any]) -> Definition:
    missing = [name for name in ("name", "label", "type", "fieldType", "groupName") if not raw.get(name)]
    if missing:
        raise malformed(f"Some required fields were not set: {missing}")
    name, definitions = str(raw["name"]), portal.definitions[kind.plural]
    if not is_valid_custom_name(name):
        raise invalid(f"Property name {name} may only hold lower-case letters, digits and underscores")
    if name in definitions:
        raise ApiError(409, "OBJECT_ALREADY_EXISTS", f"A property named '{name}' already exists.")
    if raw["type"] not in FIELD_TYPES or raw["fieldType"] not in ACCEPTED_FIELD_TYPES:
        raise invalid(f"Property type {raw['type']} cannot have the field type {raw['fieldType']}")
    if raw["groupName"] not in portal.groups[kind.plural]:
        raise invalid(f"Property group {raw['groupName']} does not exist")
    unique = bool(raw.get("hasUniqueValue"))
    if unique and sum(one.unique and not one.built_in for one in definitions.values()) >= MAX_UNIQUE:
        raise invalid(f"At most {MAX_UNIQUE} properties of an object type can have unique values")
    at = format_timestamp(portal.now)
    definition = Definition(
        name, str(raw["label"]), str(raw["type"]), built_in=False, unique=unique, created=at, updated=at
    )
    return replace(definition, refers_to=raw.get("referencedObjectType"), **_changes(raw))


CHANGEABLE = {
    "label": "label",
    "description": "description",
    "groupName": "group",
    "fieldType": "field_type",
    "hidden": "hidden",
    "options": "options",
}
"""The attributes that an update can change, with their names."""


def _changes(raw: dict[str, Any]) -> dict[str, Any]:
    changes = {attribute: raw[name] for name, attribute in CHANGEABLE.items() if name in raw}
    if "options" in changes:
        changes["options"] = tuple(_option(one) for one in read_list(raw, "options"))
    return changes


def _option(raw: Any) -> Option:
    if not isinstance(raw, dict) or not isinstance(raw.get("value"), str) or not isinstance(raw.get("label"), str):
        raise malformed('Some required fields were not set: ["label", "value"]')
    return Option(raw["value"], raw["label"], bool(raw.get("hidden")))
