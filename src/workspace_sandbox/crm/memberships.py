"""The routes of memberships: which records are in which list."""

from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import body, cursor, digits, inputs, list_in, record_body, whole
from workspace_sandbox.crm.kinds import KIND_NAMES, Kind
from workspace_sandbox.crm.lists import find
from workspace_sandbox.crm.members import members_of
from workspace_sandbox.crm.segments import ObjectList
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.values import timestamp
from workspace_sandbox.crm.wire import batch, invalid, malformed, paged
from workspace_sandbox.kit.refusals import require

USUAL_PAGE, LARGEST_PAGE = 100, 250
MOST_CHANGED = 100_000


async def list_members(portal: Portal, request: web.Request) -> web.Response:
    """The records in a list, by id."""
    found = members_of(portal, find(portal, request))
    limit, after = whole(request, "limit", USUAL_PAGE, LARGEST_PAGE), cursor(request)
    left = [number for number in found if number > after]
    return _page(request, found, left, limit)


async def list_by_joining(portal: Portal, request: web.Request) -> web.Response:
    """The records in a list, in the order in which they came in."""
    found = members_of(portal, find(portal, request))
    limit, after = whole(request, "limit", USUAL_PAGE, LARGEST_PAGE), cursor(request)
    order = sorted(found, key=lambda number: (found[number], number))
    start = order.index(after) + 1 if after in order else 0
    return _page(request, found, order[start:], limit)


async def add_members(portal: Portal, request: web.Request) -> web.Response:
    """Put records into a list."""
    return _changed(portal, find(portal, request), await _numbers(request), [])


async def remove_members(portal: Portal, request: web.Request) -> web.Response:
    """Take records out of a list."""
    return _changed(portal, find(portal, request), [], await _numbers(request))


async def change_members(portal: Portal, request: web.Request) -> web.Response:
    """Put some records into a list and take others out."""
    raw = await record_body(request)
    more, less = ([str(one) for one in list_in(raw, name)] for name in ("recordIdsToAdd", "recordIdsToRemove"))
    return _changed(portal, find(portal, request), more, less)


async def add_from(portal: Portal, request: web.Request) -> None:
    """Put all records of another list into this one."""
    asked, source = find(portal, request), find(portal, request, "source_id")
    if source.kind is not asked.kind:
        raise invalid("Both lists must be of the same object type")
    _changed(portal, asked, [str(number) for number in members_of(portal, source)], [])


async def remove_all(portal: Portal, request: web.Request) -> None:
    """Take all records out of a list."""
    _by_hand(find(portal, request)).joined.clear()


async def list_lists(portal: Portal, request: web.Request) -> web.Response:
    """The lists that a record is in."""
    kind = _kind(request.match_info["type_id"])
    record = portal.find(kind, request.match_info["id"])
    shown = _lists_of(portal, kind, record.id)
    return web.json_response({"results": shown, "total": len(shown)})


async def batch_read(portal: Portal, request: web.Request) -> web.Response:
    """The lists that each of several records is in."""
    _, given = await inputs(request)
    shown = []
    for one in given:
        kind, identifier = _kind(str(one.get("objectTypeId"))), str(one.get("recordId"))
        found = _lists_of(portal, kind, digits(identifier) or 0)
        shown.append({"recordId": identifier, "objectTypeId": kind.type_id, "recordListMemberships": found})
    return batch(portal.now, shown)


def _lists_of(portal: Portal, kind: Kind, number: int) -> list[dict[str, Any]]:
    alike = [one for one in portal.lists.values() if one.kind is kind and one.deleted is None]
    return [
        {
            "listId": str(one.id),
            "listVersion": one.version,
            "firstAddedTimestamp": timestamp(found[number]),
            "lastAddedTimestamp": timestamp(found[number]),
        }
        for one in alike
        if number in (found := members_of(portal, one))
    ]


def _kind(type_id: str) -> Kind:
    return require(KIND_NAMES.get(type_id), invalid(f"Unable to infer object type from: {type_id}"))


def _page(request: web.Request, found: dict[int, float], left: list[int], limit: int) -> web.Response:
    page = left[:limit]
    rows = [{"recordId": str(number), "membershipTimestamp": timestamp(found[number])} for number in page]
    return paged(request, rows, str(page[-1]) if len(left) > limit else None, total=len(found))


async def _numbers(request: web.Request) -> list[str]:
    raw = await body(request)
    if not isinstance(raw, list) or len(raw) > MOST_CHANGED:
        raise malformed("Cannot deserialize value of type `ArrayList`")
    return [str(one) for one in raw]


def _by_hand(asked: ObjectList) -> ObjectList:
    if asked.processing == "DYNAMIC":
        raise invalid(f"List {asked.id} is dynamic, and its memberships cannot be changed")
    return asked


def _changed(portal: Portal, asked: ObjectList, more: list[str], less: list[str]) -> web.Response:
    """Change who is in a list; records that are not there are named, and change nothing."""
    joined = _by_hand(asked).joined
    missing = [one for one in [*more, *less] if portal.find_live(asked.kind, one) is None]
    added = [int(one) for one in dict.fromkeys(more) if one not in missing and int(one) not in joined]
    removed = [int(one) for one in dict.fromkeys(less) if one not in missing and int(one) in joined]
    joined.update(dict.fromkeys(added, portal.now))
    for number in removed:
        del joined[number]
    told: dict[str, list[Any]] = {"recordsIdsAdded": added, "recordIdsRemoved": removed, "recordIdsMissing": missing}
    return web.json_response({name: [str(one) for one in numbers] for name, numbers in told.items()})
