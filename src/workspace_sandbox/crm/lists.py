"""The routes of lists: made, found, renamed and put away."""

from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import digits, flag, integer_in, list_in, names, record_body
from workspace_sandbox.crm.kinds import KIND_NAMES
from workspace_sandbox.crm.members import members_of
from workspace_sandbox.crm.segments import PROCESSING, ObjectList, tested
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import ApiError, invalid, malformed

FIRST_ID = 1
USUAL_COUNT, MOST = 20, 500


async def create_list(portal: Portal, request: web.Request) -> web.Response:
    """Make a list; one that is not dynamic and has a filter is filled with what it finds now."""
    raw = await record_body(request)
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
    _refuse_taken(portal, kind.type_id, raw["name"])
    number = max(portal.lists, default=FIRST_ID - 1) + 1
    made = ObjectList(number, raw["name"], kind, processing, branch, portal.account.user_id, portal.now, portal.now)
    if branch is not None:
        found = tested(branch)
        if processing == "SNAPSHOT":
            made.joined = {one.id: portal.now for one in portal.listed(kind, 0, archived=False) if found(one)}
    portal.lists[number] = made
    return _shown(portal, made, with_filters=True)


async def read_list(portal: Portal, request: web.Request) -> web.Response:
    """One list."""
    return _shown(portal, find(portal, request), with_filters=flag(request, "includeFilters"))


async def read_list_by_name(portal: Portal, request: web.Request) -> web.Response:
    """The list of that name and object type."""
    for one in portal.lists.values():
        asked = (request.match_info["type_id"], request.match_info["name"])
        if one.deleted is None and (one.kind.type_id, one.name) == asked:
            return _shown(portal, one, with_filters=flag(request, "includeFilters"))
    raise missing_list(request.match_info["name"])


async def read_lists(portal: Portal, request: web.Request) -> web.Response:
    """Several lists; those that are not there are left out."""
    wanted = [portal.lists.get(digits(number) or 0) for number in names(request, "listIds")]
    filters = flag(request, "includeFilters")
    found = [_described(portal, one, with_filters=filters) for one in wanted if one and one.deleted is None]
    return web.json_response({"lists": found})


async def search_lists(portal: Portal, request: web.Request) -> web.Response:
    """The lists whose names have a text, by pages that are counted in lists."""
    raw = await record_body(request)
    query, wanted = str(raw.get("query") or "").lower(), set(map(str, list_in(raw, "listIds")))
    processing = set(map(str, list_in(raw, "processingTypes")))
    kind = KIND_NAMES.get(str(raw.get("objectTypeId")))
    found = [
        one
        for one in portal.lists.values()
        if one.deleted is None
        and query in one.name.lower()
        and (not wanted or str(one.id) in wanted)
        and (not processing or one.processing in processing)
        and kind in {None, one.kind}
    ]
    offset, count = integer_in(raw, "offset", 0, least=0), min(integer_in(raw, "count", USUAL_COUNT, least=0), MOST)
    page = found[offset : offset + count]
    end = offset + len(page)
    answer = {"offset": end, "hasMore": end < len(found), "total": len(found)}
    return web.json_response({"lists": [_hit(portal, one) for one in page], **answer})


async def rename_list(portal: Portal, request: web.Request) -> web.Response:
    """Call a list something else."""
    found, name = find(portal, request), request.query.get("listName", "")
    if not name:
        raise invalid("listName is required")
    _refuse_taken(portal, found.kind.type_id, name)
    found.name, found.updated, found.version = name, portal.now, found.version + 1
    return web.json_response({"updatedList": _described(portal, found, with_filters=flag(request, "includeFilters"))})


async def refilter_list(portal: Portal, request: web.Request) -> web.Response:
    """Give a dynamic list another filter."""
    found, raw = find(portal, request), await record_body(request)
    if found.processing != "DYNAMIC":
        raise invalid(f"List {found.id} is not dynamic, and its filters cannot be updated")
    tested(raw.get("filterBranch"))
    found.branch, found.updated, found.version = raw["filterBranch"], portal.now, found.version + 1
    return web.json_response({"updatedList": _described(portal, found, with_filters=True)})


async def delete_list(portal: Portal, request: web.Request) -> None:
    """Put a list away; it can be restored."""
    find(portal, request).deleted = portal.now


async def restore_list(portal: Portal, request: web.Request) -> None:
    """Have a list again that was put away."""
    found = portal.lists.get(digits(request.match_info["list_id"]) or 0)
    if found is None:
        raise missing_list(request.match_info["list_id"])
    found.deleted = None


def find(portal: Portal, request: web.Request, name: str = "list_id") -> ObjectList:
    """The list of the path."""
    found = portal.lists.get(digits(request.match_info[name]) or 0)
    if found is None or found.deleted is not None:
        raise missing_list(request.match_info[name])
    return found


def missing_list(named: str) -> ApiError:
    """The refusal of a list that is not there."""
    return ApiError(404, "OBJECT_NOT_FOUND", f"List does not exist with ID {named}.")


def _refuse_taken(portal: Portal, type_id: str, name: str) -> None:
    taken = ((one.kind.type_id, one.name) for one in portal.lists.values() if one.deleted is None)
    if (type_id, name) in taken:
        raise invalid(f"A list named '{name}' already exists", subCategory="ILS.DUPLICATE_LIST_NAMES")


def _described(portal: Portal, shown: ObjectList, *, with_filters: bool) -> dict[str, Any]:
    return shown.described(len(members_of(portal, shown)), with_filters=with_filters)


def _shown(portal: Portal, shown: ObjectList, *, with_filters: bool) -> web.Response:
    return web.json_response({"list": _described(portal, shown, with_filters=with_filters)})


def _hit(portal: Portal, shown: ObjectList) -> dict[str, Any]:
    about = shown.described(0)
    del about["size"]
    return about | {"additionalProperties": {"hs_list_size": str(len(members_of(portal, shown)))}}
