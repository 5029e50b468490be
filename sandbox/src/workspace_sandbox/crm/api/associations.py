"""Routes of associations."""

from typing import Any

from aiohttp import web

from workspace_sandbox.crm.api.objects import default_json
from workspace_sandbox.crm.arguments import (
    parse_cursor,
    positive_int,
    read_body,
    read_cursor,
    read_inputs,
    read_kind,
    read_list,
)
from workspace_sandbox.crm.data.associations import AssociationType
from workspace_sandbox.crm.data.object_types import ObjectType
from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, invalid_associations, malformed
from workspace_sandbox.crm.page_and_batch_responses import batch_response, page_response

LARGEST_PAGE = 500
MAX_READ = 1_000
MAX_WRITTEN = 2_000


async def associate_default(portal: Portal, request: web.Request) -> web.Response:
    """Associate two records without a label. Repeating it has no effect."""
    source, target = _ends(portal, request)
    return batch_response(portal.now, _default(portal, source, target))


async def associate(portal: Portal, request: web.Request) -> web.Response:
    """Associate two records with the types in the body."""
    source, target = _ends(portal, request)
    kinds = _types(portal, await read_body(request), source.kind, target.kind)
    for kind in kinds:
        portal.associate(source, target, kind)
    return web.json_response(_labels(source, target, kinds), status=201)


async def dissociate(portal: Portal, request: web.Request) -> None:
    """Remove all associations between two records."""
    source, target = _ends(portal, request)
    portal.dissociate(source, target)


async def associate_by_type(portal: Portal, request: web.Request) -> web.Response:
    """Associate two records with the older route, whose path ends with the type. Returns the record."""
    source, target = _ends(portal, request)
    portal.associate(source, target, _path_type(portal, request, source.kind, target.kind))
    return web.json_response(default_json(portal, source))


async def dissociate_by_type(portal: Portal, request: web.Request) -> None:
    """Remove an association between two records."""
    source, target = _ends(portal, request)
    portal.dissociate(source, target, _path_type(portal, request, source.kind, target.kind))


async def list_associations(portal: Portal, request: web.Request) -> web.Response:
    """Return the records of a type that a record is associated with."""
    source = portal.find(read_kind(request), request.match_info["id"])
    limit, after = positive_int(request, "limit", LARGEST_PAGE, LARGEST_PAGE), read_cursor(request)
    rows, following = _rows(portal, source, read_kind(request, "to_type"), after, limit)
    return page_response(request, rows, following)


async def batch_read(portal: Portal, request: web.Request) -> web.Response:
    """Return the associations of many records. Records without associations are listed as errors."""
    kind, target = read_kind(request), read_kind(request, "to_type")
    _, items = await read_inputs(request, MAX_READ)
    results: list[dict[str, Any]] = []
    errors: list[ApiError] = []
    for one in items:
        identifier, after = str(one.get("id")), parse_cursor(one.get("after"))
        source = portal.find_live(kind, identifier)
        rows, following = _rows(portal, source, target, after, LARGEST_PAGE) if source else ([], None)
        if rows:
            paging = {"paging": {"next": {"after": following}}} if following else {}
            results.append({"from": {"id": identifier}, "to": rows, **paging})
        else:
            # The absence of associations is reported as an error of that input.
            errors.append(_no_associations(kind, target, identifier))
    return batch_response(portal.now, results, errors)


async def batch_create(portal: Portal, request: web.Request) -> web.Response:
    """Associate pairs of records with the types in each input."""
    _, items = await read_inputs(request, MAX_WRITTEN)
    labelled = _labelled_pairs(portal, request, items)
    for source, target, kinds in labelled:
        for kind in kinds:
            portal.associate(source, target, kind)
    return batch_response(portal.now, [_labels(*pair) for pair in labelled], status=201)


async def batch_associate_default(portal: Portal, request: web.Request) -> web.Response:
    """Associate pairs of records without a label."""
    _, items = await read_inputs(request, MAX_WRITTEN)
    pairs = _pairs(portal, request, items)
    return batch_response(portal.now, [row for source, target in pairs for row in _default(portal, source, target)])


async def batch_archive(portal: Portal, request: web.Request) -> None:
    """Remove all associations between the records in each input."""
    kind, target = read_kind(request), read_kind(request, "to_type")
    _, items = await read_inputs(request, MAX_WRITTEN)
    for one in items:
        source = portal.find_live(kind, _end(one.get("from")))
        others = [portal.find_live(target, _end(other)) for other in read_list(one, "to")]
        for other in others:
            if source and other:
                portal.dissociate(source, other)


async def batch_archive_labels(portal: Portal, request: web.Request) -> None:
    """Remove the associations of the types in each input."""
    _, items = await read_inputs(request, MAX_WRITTEN)
    for source, target, kinds in _labelled_pairs(portal, request, items):
        for kind in kinds:
            portal.dissociate(source, target, kind)


def _ends(portal: Portal, request: web.Request) -> tuple[Record, Record]:
    source = portal.find(read_kind(request), request.match_info["id"])
    return source, portal.find(read_kind(request, "to_type"), request.match_info["to_id"])


def _pairs(portal: Portal, request: web.Request, items: list[dict[str, Any]]) -> list[tuple[Record, Record]]:
    kinds = read_kind(request), read_kind(request, "to_type")
    pairs = []
    missing = []
    for one in items:
        ids = _end(one.get("from")), _end(one.get("to"))
        source, target = (portal.find_live(kind, end) for kind, end in zip(kinds, ids, strict=True))
        if source and target:
            pairs.append((source, target))
        ends = zip(kinds, ids, (source, target), strict=True)
        missing += [f"{kind.singular.upper()}={end} is not valid" for kind, end, record in ends if not record]
    if missing:
        raise invalid_associations(missing)
    return pairs


def _labelled_pairs(
    portal: Portal, request: web.Request, items: list[dict[str, Any]]
) -> list[tuple[Record, Record, list[AssociationType]]]:
    return [
        (source, target, _types(portal, one.get("types"), source.kind, target.kind))
        for one, (source, target) in zip(items, _pairs(portal, request, items), strict=True)
    ]


def _end(raw: Any) -> str:
    if not isinstance(raw, dict) or "id" not in raw:
        raise malformed('Some required fields were not set: ["from", "to"]')
    return str(raw["id"])


def _types(portal: Portal, raw: Any, source: ObjectType, target: ObjectType) -> list[AssociationType]:
    if not isinstance(raw, list) or not raw:
        raise malformed("Cannot deserialize value of type `ArrayList<AssociationSpec>`")
    return [_type(portal, one, source, target) for one in raw]


def _type(portal: Portal, raw: Any, source: ObjectType, target: ObjectType) -> AssociationType:
    try:
        category, type_id = str(raw["associationCategory"]), int(raw["associationTypeId"])
    except (KeyError, TypeError, ValueError):
        raise malformed("Cannot deserialize value of type `AssociationSpec`") from None
    kind = portal.edges.types.find(source.plural, target.plural, category, type_id)
    if kind is None:
        raise _no_type(f"{type_id} ({category})", source, target)
    return kind


def _path_type(portal: Portal, request: web.Request, source: ObjectType, target: ObjectType) -> AssociationType:
    word = request.match_info["association_type"]
    for kind in portal.edges.types.between(source.plural, target.plural):
        if word in {str(kind.type_id), kind.name}:
            return kind
    raise _no_type(word, source, target)


def _no_type(word: str, source: ObjectType, target: ObjectType) -> ApiError:
    return invalid(f"Association type {word} is not valid from {source.type_id} to {target.type_id}")


# Each direction has its own type ID, and the type ID of the other direction is rejected.
def _default(portal: Portal, source: Record, target: Record) -> list[dict[str, Any]]:
    """Return both directions of a new unlabelled association."""
    if portal.edges.types.unlabelled(source.kind.plural, target.kind.plural) is None:
        raise _no_type("default", source.kind, target.kind)
    forward = portal.associate(source, target)
    return [_direction(source, target, forward), _direction(target, source, portal.edges.types.inverse(forward))]


def _direction(source: Record, target: Record, kind: AssociationType) -> dict[str, Any]:
    return {"from": {"id": str(source.id)}, "to": {"id": str(target.id)}, "associationSpec": kind.spec}


def _labels(source: Record, target: Record, kinds: list[AssociationType]) -> dict[str, Any]:
    return {
        "fromObjectTypeId": source.kind.type_id,
        # A number here and a string in all other responses, as in HubSpot's published document.
        "fromObjectId": source.id,
        "toObjectTypeId": target.kind.type_id,
        "toObjectId": target.id,
        "labels": [kind.label for kind in kinds if kind.label],
    }


def _rows(
    portal: Portal, source: Record, target: ObjectType, after: int, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    linked = [(other, kinds) for other, kinds in portal.associated_records(source, target) if other > after]
    rows = [
        {"toObjectId": other, "associationTypes": [kind.labelled for kind in kinds]} for other, kinds in linked[:limit]
    ]
    return rows, str(linked[limit - 1][0]) if len(linked) > limit else None


def _no_associations(source: ObjectType, target: ObjectType, identifier: str) -> ApiError:
    return ApiError(
        404,
        "OBJECT_NOT_FOUND",
        f"No {target.singular} is associated with {source.singular} {identifier}.",
        subCategory="crm.associations.NO_ASSOCIATIONS_FOUND",
        context={
            "fromObjectId": [identifier],
            "fromObjectType": [source.singular],
            "toObjectType": [target.singular],
        },
    )
