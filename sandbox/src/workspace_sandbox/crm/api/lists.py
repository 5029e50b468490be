"""Routes of lists."""

from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import parse_digits, read_flag, read_integer, read_list, read_names, read_object
from workspace_sandbox.crm.data.lists import PROCESSING, ObjectList, build_test
from workspace_sandbox.crm.data.object_types import KIND_NAMES
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed

FIRST_ID = 1
USUAL_COUNT, MAX_PAGE_SIZE = 20, 500


async def create_list(portal: Portal, request: web.Request) -> web.Response:
    """Create a list. If it has a filter and is not dynamic, it is filled with the current matches."""
    raw = await read_object(request)
    missing = [name for name in ("name", "objectTypeId", "processingType") if not isinstance(raw.get(name), str)]
    if missing:
        raise malformed(f"Some required fields were not set: {missing}")
    kind = KIND_NAMES.get(raw["objectTypeId"])
    if kind is None:
        raise invalid(f"Unable to infer object type from: {raw['objectTypeId']}")
    processing, branch = raw["processingType"], raw.get("filterBranch")
    if processing not in PROCESSING:
        raise invalid(f"processingType must be one of: [{', '.join(PROCESSING)}], received {processing}")
    if (branch is None) == (processing == "DYNAMIC") or (branch is not None and processing == "MANUAL"):
        raise invalid(f"A list of the type {processing} cannot have such a filterBranch")
    _check_name_unused(portal, kind.type_id, raw["name"])
    number = max(portal.lists, default=FIRST_ID - 1) + 1
    created = ObjectList(number, raw["name"], kind, processing, branch, portal.account.user_id, portal.now, portal.now)
    if branch is not None:
        test = build_test(branch)
        if processing == "SNAPSHOT":
            created.joined = {one.id: portal.now for one in portal.list_records(kind, 0, archived=False) if test(one)}
    portal.lists[number] = created
    return _list_response(portal, created, with_filters=True)


async def get_list(portal: Portal, request: web.Request) -> web.Response:
    """Return a list."""
    return _list_response(portal, find(portal, request), with_filters=read_flag(request, "includeFilters"))


async def read_list_by_name(portal: Portal, request: web.Request) -> web.Response:
    """Return the list with a name and an object type."""
    for one in portal.lists.values():
        key = (request.match_info["type_id"], request.match_info["name"])
        if one.deleted is None and (one.kind.type_id, one.name) == key:
            return _list_response(portal, one, with_filters=read_flag(request, "includeFilters"))
    raise missing_list(request.match_info["name"])


async def read_lists(portal: Portal, request: web.Request) -> web.Response:
    """Return several lists. Missing ones are omitted."""
    selected = [portal.lists.get(parse_digits(number) or 0) for number in read_names(request, "listIds")]
    filters = read_flag(request, "includeFilters")
    results = [_describe(portal, one, with_filters=filters) for one in selected if one and one.deleted is None]
    return web.json_response({"lists": results})


async def search_lists(portal: Portal, request: web.Request) -> web.Response:
    """Return a page of the lists whose names contain a text."""
    raw = await read_object(request)
    query, list_ids = str(raw.get("query") or "").lower(), set(map(str, read_list(raw, "listIds")))
    processing = set(map(str, read_list(raw, "processingTypes")))
    kind = KIND_NAMES.get(str(raw.get("objectTypeId")))
    matches = [
        one
        for one in portal.lists.values()
        if one.deleted is None
        and query in one.name.lower()
        and (not list_ids or str(one.id) in list_ids)
        and (not processing or one.processing in processing)
        and kind in {None, one.kind}
    ]
    offset, count = (
        read_integer(raw, "offset", 0, least=0),
        min(read_integer(raw, "count", USUAL_COUNT, least=0), MAX_PAGE_SIZE),
    )
    page = matches[offset : offset + count]
    end = offset + len(page)
    response = {"offset": end, "hasMore": end < len(matches), "total": len(matches)}
    return web.json_response({"lists": [_search_result(portal, one) for one in page], **response})


async def rename_list(portal: Portal, request: web.Request) -> web.Response:
    """Rename a list."""
    match, name = find(portal, request), request.query.get("listName", "")
    if not name:
        raise invalid("listName is required")
    _check_name_unused(portal, match.kind.type_id, name)
    match.name, match.updated, match.version = name, portal.now, match.version + 1
    return web.json_response(
        {"updatedList": _describe(portal, match, with_filters=read_flag(request, "includeFilters"))}
    )


async def refilter_list(portal: Portal, request: web.Request) -> web.Response:
    """Change the filter of a dynamic list."""
    match, raw = find(portal, request), await read_object(request)
    if match.processing != "DYNAMIC":
        raise invalid(f"List {match.id} is not dynamic, and its filters cannot be updated")
    build_test(raw.get("filterBranch"))
    match.branch, match.updated, match.version = raw["filterBranch"], portal.now, match.version + 1
    return web.json_response({"updatedList": _describe(portal, match, with_filters=True)})


async def delete_list(portal: Portal, request: web.Request) -> None:
    """Delete a list, which can be restored."""
    find(portal, request).deleted = portal.now


async def restore_list(portal: Portal, request: web.Request) -> None:
    """Restore a deleted list."""
    match = portal.lists.get(parse_digits(request.match_info["list_id"]) or 0)
    if match is None:
        raise missing_list(request.match_info["list_id"])
    match.deleted = None


def list_members(portal: Portal, object_list: ObjectList) -> dict[int, float]:
    """Return the live records of a list by ID, with the time when each was added.

    In a dynamic list, it is the last change.
    """
    if object_list.branch is not None and object_list.processing == "DYNAMIC":
        test = build_test(object_list.branch)
        return {one.id: one.updated_at for one in portal.list_records(object_list.kind, 0, archived=False) if test(one)}
    records = portal.records[object_list.kind.plural]
    return {number: at for number, at in sorted(object_list.joined.items()) if records[number].archived_at is None}


def find(portal: Portal, request: web.Request, name: str = "list_id") -> ObjectList:
    """Return the list in the path."""
    match = portal.lists.get(parse_digits(request.match_info[name]) or 0)
    if match is None or match.deleted is not None:
        raise missing_list(request.match_info[name])
    return match


def missing_list(named: str) -> ApiError:
    """Return the error for a list that does not exist."""
    return ApiError(404, "OBJECT_NOT_FOUND", f"List does not exist with ID {named}.")


def _check_name_unused(portal: Portal, type_id: str, name: str) -> None:
    taken = ((one.kind.type_id, one.name) for one in portal.lists.values() if one.deleted is None)
    if (type_id, name) in taken:
        raise invalid(f"A list named '{name}' already exists", subCategory="ILS.DUPLICATE_LIST_NAMES")


def _describe(portal: Portal, object_list: ObjectList, *, with_filters: bool) -> dict[str, Any]:
    return object_list.to_json(len(list_members(portal, object_list)), with_filters=with_filters)


def _list_response(portal: Portal, object_list: ObjectList, *, with_filters: bool) -> web.Response:
    return web.json_response({"list": _describe(portal, object_list, with_filters=with_filters)})


def _search_result(portal: Portal, object_list: ObjectList) -> dict[str, Any]:
    raw = object_list.to_json(0)
    del raw["size"]
    return raw | {"additionalProperties": {"hs_list_size": str(len(list_members(portal, object_list)))}}
