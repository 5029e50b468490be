"""Routes of records of all object types."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import (
    positive_int,
    read_cursor,
    read_flag,
    read_inputs,
    read_kind,
    read_list,
    read_names,
    read_object,
)
from workspace_sandbox.crm.data import search
from workspace_sandbox.crm.data.built_in_properties import CREATOR_PROPERTIES
from workspace_sandbox.crm.data.object_types import KIND_NAMES, ObjectType
from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.crm.data.state import PendingRecord, Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed
from workspace_sandbox.crm.page_and_batch_responses import batch_response, page_response
from workspace_sandbox.kit.error_responses import require

LARGEST_PAGE = 100


async def list_records(portal: Portal, request: web.Request) -> web.Response:
    """Return the records of a type in order of their IDs."""
    kind, limit = read_kind(request), positive_int(request, "limit", 10, LARGEST_PAGE)
    records = portal.list_records(kind, read_cursor(request), archived=read_flag(request, "archived"))
    page = records[:limit]
    results = [_read(portal, request, record) for record in page]
    return page_response(request, results, str(page[-1].id) if len(records) > limit else None)


async def create_record(portal: Portal, request: web.Request) -> web.Response:
    """Create a record with its initial associations."""
    kind, raw = read_kind(request), await read_object(request)
    draft = portal.validate_new(kind, raw.get("properties"), raw.get("associations"))
    portal.commit(draft)
    # HubSpot's Python library returns None if the status is 200.
    return web.json_response(_created_json(portal, draft), status=201)


async def read_record(portal: Portal, request: web.Request) -> web.Response:
    """Return a record by ID or by a unique property."""
    id_property, archived = request.query.get("idProperty"), read_flag(request, "archived")
    record = portal.find(read_kind(request), request.match_info["id"], id_property, archived=archived)
    return web.json_response(_read(portal, request, record))


async def update_record(portal: Portal, request: web.Request) -> web.Response:
    """Update a record."""
    raw = await read_object(request)
    record = portal.find(read_kind(request), request.match_info["id"], request.query.get("idProperty"))
    draft = portal.validate_change(record, raw.get("properties"))
    portal.commit(draft)
    return web.json_response(_updated_json(portal, draft))


async def archive_record(portal: Portal, request: web.Request) -> None:
    """Archive a record. Repeating it is not an error."""
    kind, identifier = read_kind(request), request.match_info["id"]
    if record := portal.find_live(kind, identifier):
        portal.archive(record)
    else:
        # Archiving again is not an error, unless the record never existed.
        portal.find(kind, identifier, archived=True)


async def search_records(portal: Portal, request: web.Request) -> web.Response:
    """Return the records that match a query, as of the delayed index."""
    kind = read_kind(request)
    raw = await read_object(request)
    # The limit applies to the complete body, so many requested properties can exceed it too.
    if len(await request.text()) > search.MAX_QUERY_LENGTH:
        raise invalid(f"The request body must not exceed {search.MAX_QUERY_LENGTH} characters.")
    cap = portal.knob("search_cap")
    query = search.parse(raw, cap)
    matches = portal.search(kind, query)
    page, after = search.paginate(query, matches)
    results = [_to_json(portal, record, query.properties) for record in page]
    # The total is limited to the number of records that can be paged to.
    response: dict[str, Any] = {"total": min(len(matches), cap), "results": results}
    return web.json_response(response | ({"paging": {"next": {"after": after}}} if after else {}))


async def batch_read(portal: Portal, request: web.Request) -> web.Response:
    """Return several records. Missing ones are listed as errors."""
    kind, (raw, items) = read_kind(request), await read_inputs(request)
    id_property, properties, archived = _id_property(raw), read_list(raw, "properties"), read_flag(request, "archived")
    identifiers = list(dict.fromkeys(_identifier(one) for one in items))
    records: list[Record] = []
    missing: list[str] = []
    for identifier in identifiers:
        try:
            records.append(portal.find(kind, identifier, id_property, archived=archived))
        except ApiError as error:
            if error.status != 404:
                raise
            missing.append(identifier)
    results = [_to_json(portal, record, properties) for record in records]
    return batch_response(portal.now, results, _absent(kind, "get", missing))


async def batch_create(portal: Portal, request: web.Request) -> web.Response:
    """Create several records atomically."""
    kind, (_, items) = read_kind(request), await read_inputs(request)
    drafts = [portal.validate_new(kind, one.get("properties"), one.get("associations")) for one in items]
    portal.commit(*drafts)
    results = [_created_json(portal, draft) | _trace(one) for draft, one in zip(drafts, items, strict=True)]
    return batch_response(portal.now, results, status=201)


async def batch_update(portal: Portal, request: web.Request) -> web.Response:
    """Update several records. Missing ones are listed as errors."""
    kind, (_, items) = read_kind(request), await read_inputs(request)
    _check_unique(items)
    matches = [(one, portal.find_live(kind, _identifier(one), _id_property(one))) for one in items]
    changes = [(one, portal.validate_change(record, one.get("properties"))) for one, record in matches if record]
    portal.commit(*(draft for _, draft in changes))
    results = [_updated_json(portal, draft) | _trace(one) for one, draft in changes]
    return batch_response(
        portal.now, results, _absent(kind, "update", [_identifier(one) for one, record in matches if not record])
    )


async def batch_upsert(portal: Portal, request: web.Request) -> web.Response:
    """Update or create several records by a unique property, atomically."""
    kind, (_, items) = read_kind(request), await read_inputs(request)
    _check_unique(items)
    # All are checked before any is stored: according to the guide, there are no partial upserts by email address.
    drafts = [_upsert_draft(portal, kind, one) for one in items]
    portal.commit(*drafts)
    results = [
        _updated_json(portal, draft, _id_property(one)) | {"new": draft.is_new} | _trace(one)
        for draft, one in zip(drafts, items, strict=True)
    ]
    return batch_response(portal.now, results)


async def batch_archive(portal: Portal, request: web.Request) -> None:
    """Archive several records. Missing ones are ignored."""
    kind, (_, items) = read_kind(request), await read_inputs(request)
    for identifier in dict.fromkeys(_identifier(one) for one in items):
        if record := portal.find_live(kind, identifier):
            portal.archive(record)


def default_json(portal: Portal, record: Record) -> dict[str, Any]:
    """Return a record with its default properties."""
    return _to_json(portal, record, ())


def _to_json(portal: Portal, record: Record, properties: Iterable[str]) -> dict[str, Any]:
    definitions = portal.definitions[record.kind.plural]
    # A requested property that does not exist is omitted from the response without an error.
    existing = [name for name in map(str, properties) if name in definitions and definitions[name].archived_at is None]
    return record.to_json(existing if properties else record.kind.defaults, portal.account.portal_id)


def _read(portal: Portal, request: web.Request, record: Record) -> dict[str, Any]:
    raw = _to_json(portal, record, read_names(request, "properties"))
    associations = {}
    for name in read_names(request, "associations"):
        target = require(KIND_NAMES.get(name.lower()), invalid(f"Unable to infer object type from: {name}"))
        if linked := portal.associated_records(record, target):
            rows = [{"id": str(other), "type": kind.name} for other, kinds in linked for kind in kinds]
            associations[target.plural] = {"results": rows}
    return raw | ({"associations": associations} if associations else {})


def _created_json(portal: Portal, draft: PendingRecord) -> dict[str, Any]:
    """Return the response to a creation, with the sent properties and all defaults that have a value."""
    defaults = [name for name in (*draft.record.kind.defaults, *CREATOR_PROPERTIES) if name in draft.record.properties]
    return draft.record.to_json((*draft.sent, *defaults), portal.account.portal_id)


def _updated_json(portal: Portal, draft: PendingRecord, *more: str) -> dict[str, Any]:
    """Return the response to an update, with the sent properties and those of every response."""
    return draft.record.to_json((*draft.sent, *more), portal.account.portal_id)


def _upsert_draft(portal: Portal, kind: ObjectType, raw: dict[str, Any]) -> PendingRecord:
    identifier, id_property = _identifier(raw), _id_property(raw)
    # An unknown email address creates a contact. An unknown ID can only be an error.
    look_up = portal.find if id_property == "hs_object_id" else portal.find_live
    properties = raw.get("properties")
    if record := look_up(kind, identifier, id_property):
        return portal.validate_change(record, properties)
    if not isinstance(properties, dict):
        raise malformed('Some required fields were not set: ["properties"]')
    return portal.validate_new(kind, {id_property: identifier, **properties})


def _identifier(raw: dict[str, Any]) -> str:
    if not isinstance(raw.get("id"), str | int):
        raise malformed('Some required fields were not set: ["id"]')
    return str(raw["id"])


def _id_property(raw: dict[str, Any]) -> str:
    return str(raw.get("idProperty") or "hs_object_id")


def _trace(raw: dict[str, Any]) -> dict[str, Any]:
    return {"objectWriteTraceId": raw["objectWriteTraceId"]} if raw.get("objectWriteTraceId") else {}


def _check_unique(items: list[dict[str, Any]]) -> None:
    counted = Counter(_identifier(one).strip().lower() for one in items)
    repeated = [identifier for identifier, times in counted.items() if times > 1]
    if repeated:
        raise invalid(f"Duplicate IDs found in batch input: [{', '.join(repeated)}]. IDs must be unique")


def _absent(kind: ObjectType, verb: str, identifiers: list[str]) -> list[ApiError]:
    if not identifiers:
        return []
    message = (
        f"Could not {verb} some {kind.singular.upper()} objects, they may be deleted or not exist. "
        "Check that ids are valid."
    )
    return [ApiError(404, "OBJECT_NOT_FOUND", message, context={"ids": identifiers})]
