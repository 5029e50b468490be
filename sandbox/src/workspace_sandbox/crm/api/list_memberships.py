"""Routes of list memberships."""

from typing import Any

from aiohttp import web

from workspace_sandbox.crm.api.lists import find, list_members
from workspace_sandbox.crm.arguments import (
    parse_digits,
    positive_int,
    read_body,
    read_cursor,
    read_inputs,
    read_list,
    read_object,
)
from workspace_sandbox.crm.data.lists import ObjectList
from workspace_sandbox.crm.data.object_types import KIND_NAMES, ObjectType
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import invalid, malformed
from workspace_sandbox.crm.page_and_batch_responses import batch_response, page_response
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.error_responses import require

USUAL_PAGE, LARGEST_PAGE = 100, 250
MAX_CHANGED = 100_000


async def list_memberships(portal: Portal, request: web.Request) -> web.Response:
    """Return the records in a list in order of their IDs."""
    members = list_members(portal, find(portal, request))
    limit, after = positive_int(request, "limit", USUAL_PAGE, LARGEST_PAGE), read_cursor(request)
    remaining = [number for number in members if number > after]
    return _page(request, members, remaining, limit)


async def list_by_joining(portal: Portal, request: web.Request) -> web.Response:
    """Return the records in a list in the order in which they were added."""
    members = list_members(portal, find(portal, request))
    limit, after = positive_int(request, "limit", USUAL_PAGE, LARGEST_PAGE), read_cursor(request)
    order = sorted(members, key=lambda number: (members[number], number))
    start = order.index(after) + 1 if after in order else 0
    return _page(request, members, order[start:], limit)


async def add_members(portal: Portal, request: web.Request) -> web.Response:
    """Add records to a list."""
    return _change_members(portal, find(portal, request), await _numbers(request), [])


async def remove_members(portal: Portal, request: web.Request) -> web.Response:
    """Remove records from a list."""
    return _change_members(portal, find(portal, request), [], await _numbers(request))


async def change_members(portal: Portal, request: web.Request) -> web.Response:
    """Add records to a list and remove others."""
    raw = await read_object(request)
    to_add, to_remove = ([str(one) for one in read_list(raw, name)] for name in ("recordIdsToAdd", "recordIdsToRemove"))
    return _change_members(portal, find(portal, request), to_add, to_remove)


async def add_from(portal: Portal, request: web.Request) -> None:
    """Add all records of another list."""
    target, source = find(portal, request), find(portal, request, "source_id")
    if source.kind is not target.kind:
        raise invalid("Both lists must be of the same object type")
    _change_members(portal, target, [str(number) for number in list_members(portal, source)], [])


async def remove_all(portal: Portal, request: web.Request) -> None:
    """Remove all records from a list."""
    _check_not_dynamic(find(portal, request)).joined.clear()


async def list_lists(portal: Portal, request: web.Request) -> web.Response:
    """Return the lists that contain a record."""
    kind = _kind(request.match_info["type_id"])
    record = portal.find(kind, request.match_info["id"])
    results = _lists_of(portal, kind, record.id)
    return web.json_response({"results": results, "total": len(results)})


async def batch_read(portal: Portal, request: web.Request) -> web.Response:
    """Return the lists that contain each of several records."""
    _, items = await read_inputs(request)
    results = []
    for one in items:
        kind, identifier = _kind(str(one.get("objectTypeId"))), str(one.get("recordId"))
        memberships = _lists_of(portal, kind, parse_digits(identifier) or 0)
        results.append({"recordId": identifier, "objectTypeId": kind.type_id, "recordListMemberships": memberships})
    return batch_response(portal.now, results)


def _lists_of(portal: Portal, kind: ObjectType, number: int) -> list[dict[str, Any]]:
    alike = [one for one in portal.lists.values() if one.kind is kind and one.deleted is None]
    return [
        {
            "listId": str(one.id),
            "listVersion": one.version,
            "firstAddedTimestamp": format_timestamp(members[number]),
            "lastAddedTimestamp": format_timestamp(members[number]),
        }
        for one in alike
        if number in (members := list_members(portal, one))
    ]


def _kind(type_id: str) -> ObjectType:
    return require(KIND_NAMES.get(type_id), invalid(f"Unable to infer object type from: {type_id}"))


def _page(request: web.Request, members: dict[int, float], remaining: list[int], limit: int) -> web.Response:
    page = remaining[:limit]
    rows = [{"recordId": str(number), "membershipTimestamp": format_timestamp(members[number])} for number in page]
    return page_response(request, rows, str(page[-1]) if len(remaining) > limit else None, total=len(members))


async def _numbers(request: web.Request) -> list[str]:
    raw = await read_body(request)
    if not isinstance(raw, list) or len(raw) > MAX_CHANGED:
        raise malformed("Cannot deserialize value of type `ArrayList`")
    return [str(one) for one in raw]


def _check_not_dynamic(object_list: ObjectList) -> ObjectList:
    if object_list.processing == "DYNAMIC":
        raise invalid(f"List {object_list.id} is dynamic, and its memberships cannot be changed")
    return object_list


def _change_members(portal: Portal, object_list: ObjectList, to_add: list[str], to_remove: list[str]) -> web.Response:
    """Change the records in a list. Missing records are reported and ignored."""
    joined = _check_not_dynamic(object_list).joined
    missing = [one for one in [*to_add, *to_remove] if portal.find_live(object_list.kind, one) is None]
    added = [int(one) for one in dict.fromkeys(to_add) if one not in missing and int(one) not in joined]
    removed = [int(one) for one in dict.fromkeys(to_remove) if one not in missing and int(one) in joined]
    joined.update(dict.fromkeys(added, portal.now))
    for number in removed:
        del joined[number]
    changes: dict[str, list[Any]] = {"recordsIdsAdded": added, "recordIdsRemoved": removed, "recordIdsMissing": missing}
    return web.json_response({name: [str(one) for one in numbers] for name, numbers in changes.items()})
