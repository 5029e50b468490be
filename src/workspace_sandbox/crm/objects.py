"""The routes of records: contacts, companies, deals and notes."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from workspace_sandbox.crm import search
from workspace_sandbox.crm.arguments import cursor, flag, inputs, kind_of, list_in, names, record_body, whole
from workspace_sandbox.crm.catalogue import MADE_BY
from workspace_sandbox.crm.kinds import KIND_NAMES, Kind
from workspace_sandbox.crm.records import Record
from workspace_sandbox.crm.state import Draft, Portal
from workspace_sandbox.crm.wire import ApiError, batch, invalid, malformed, paged
from workspace_sandbox.kit.refusals import require

LARGEST_PAGE = 100


async def list_records(portal: Portal, request: web.Request) -> web.Response:
    """Records of one type, by id."""
    kind, limit = kind_of(request), whole(request, "limit", 10, LARGEST_PAGE)
    found = portal.listed(kind, cursor(request), archived=flag(request, "archived"))
    page = found[:limit]
    shown = [_read(portal, request, record) for record in page]
    return paged(request, shown, str(page[-1].id) if len(found) > limit else None)


async def create_record(portal: Portal, request: web.Request) -> web.Response:
    """Create a record, with the associations it starts with."""
    kind, raw = kind_of(request), await record_body(request)
    draft = portal.draft_new(kind, raw.get("properties"), raw.get("associations"))
    portal.commit(draft)
    # HubSpot's Python library returns nothing at all when this is a 200.
    return web.json_response(_made(portal, draft), status=201)


async def read_record(portal: Portal, request: web.Request) -> web.Response:
    """One record, by id or by a unique property."""
    id_property, archived = request.query.get("idProperty"), flag(request, "archived")
    record = portal.find(kind_of(request), request.match_info["id"], id_property, archived=archived)
    return web.json_response(_read(portal, request, record))


async def update_record(portal: Portal, request: web.Request) -> web.Response:
    """Update one record."""
    raw = await record_body(request)
    record = portal.find(kind_of(request), request.match_info["id"], request.query.get("idProperty"))
    draft = portal.draft_change(record, raw.get("properties"))
    portal.commit(draft)
    return web.json_response(_changed(portal, draft))


async def archive_record(portal: Portal, request: web.Request) -> None:
    """Archive one record; doing it again is no fault."""
    kind, identifier = kind_of(request), request.match_info["id"]
    if record := portal.find_live(kind, identifier):
        portal.archive(record)
    else:
        # Archiving again is no fault; only a record that never was there is one.
        portal.find(kind, identifier, archived=True)


async def search_records(portal: Portal, request: web.Request) -> web.Response:
    """The records a query finds, as the lagging index knows them."""
    kind = kind_of(request)
    raw = await record_body(request)
    # The limit is on the whole body, so a search with many wanted properties may pass it too.
    if len(await request.text()) > search.LONGEST_QUERY:
        raise invalid(f"The request body must not exceed {search.LONGEST_QUERY} characters.")
    cap = portal.knob("search_cap")
    query = search.parse(raw, cap)
    found = portal.search(kind, query)
    page, after = search.results(query, found)
    shown = [_described(portal, record, query.properties) for record in page]
    # The total does not count beyond what can be paged to.
    answer: dict[str, Any] = {"total": min(len(found), cap), "results": shown}
    return web.json_response(answer | ({"paging": {"next": {"after": after}}} if after else {}))


async def batch_read(portal: Portal, request: web.Request) -> web.Response:
    """Several records; those that are not there are named among the errors."""
    kind, (raw, given) = kind_of(request), await inputs(request)
    id_property, properties, archived = _id_property(raw), list_in(raw, "properties"), flag(request, "archived")
    wanted = list(dict.fromkeys(_identifier(one) for one in given))
    found: list[Record] = []
    missing: list[str] = []
    for identifier in wanted:
        try:
            found.append(portal.find(kind, identifier, id_property, archived=archived))
        except ApiError as rejection:
            if rejection.status != 404:
                raise
            missing.append(identifier)
    shown = [_described(portal, record, properties) for record in found]
    return batch(portal.now, shown, _absent(kind, "get", missing))


async def batch_create(portal: Portal, request: web.Request) -> web.Response:
    """Create several records, or none."""
    kind, (_, given) = kind_of(request), await inputs(request)
    drafts = [portal.draft_new(kind, one.get("properties"), one.get("associations")) for one in given]
    portal.commit(*drafts)
    shown = [_made(portal, draft) | _trace(one) for draft, one in zip(drafts, given, strict=True)]
    return batch(portal.now, shown, status=201)


async def batch_update(portal: Portal, request: web.Request) -> web.Response:
    """Update several records; those that are not there are named among the errors."""
    kind, (_, given) = kind_of(request), await inputs(request)
    _refuse_repeated(given)
    found = [(one, portal.find_live(kind, _identifier(one), _id_property(one))) for one in given]
    changes = [(one, portal.draft_change(record, one.get("properties"))) for one, record in found if record]
    portal.commit(*(draft for _, draft in changes))
    shown = [_changed(portal, draft) | _trace(one) for one, draft in changes]
    return batch(portal.now, shown, _absent(kind, "update", [_identifier(one) for one, record in found if not record]))


async def batch_upsert(portal: Portal, request: web.Request) -> web.Response:
    """Update or create several records by a unique property; all of them or none."""
    kind, (_, given) = kind_of(request), await inputs(request)
    _refuse_repeated(given)
    # All are checked before any is kept: the guide says that there are no partial upserts by address.
    drafts = [_upsert_draft(portal, kind, one) for one in given]
    portal.commit(*drafts)
    shown = [
        _changed(portal, draft, _id_property(one)) | {"new": draft.is_new} | _trace(one)
        for draft, one in zip(drafts, given, strict=True)
    ]
    return batch(portal.now, shown)


async def batch_archive(portal: Portal, request: web.Request) -> None:
    """Archive several records; those that are not there are passed over."""
    kind, (_, given) = kind_of(request), await inputs(request)
    for identifier in dict.fromkeys(_identifier(one) for one in given):
        if record := portal.find_live(kind, identifier):
            portal.archive(record)


def described(portal: Portal, record: Record) -> dict[str, Any]:
    """A record with the properties it has unless others are asked for."""
    return _described(portal, record, ())


def _described(portal: Portal, record: Record, wanted: Iterable[str]) -> dict[str, Any]:
    definitions = portal.definitions[record.kind.plural]
    # A wanted property that does not exist is left out of the answer without a word, not refused.
    known = [name for name in map(str, wanted) if name in definitions and definitions[name].archived_at is None]
    return record.described(known if wanted else record.kind.defaults, portal.account.portal_id)


def _read(portal: Portal, request: web.Request, record: Record) -> dict[str, Any]:
    shown = _described(portal, record, names(request, "properties"))
    associations = {}
    for name in names(request, "associations"):
        target = require(KIND_NAMES.get(name.lower()), invalid(f"Unable to infer object type from: {name}"))
        if linked := portal.linked(record, target):
            rows = [{"id": str(other), "type": kind.name} for other, kinds in linked for kind in kinds]
            associations[target.plural] = {"results": rows}
    return shown | ({"associations": associations} if associations else {})


def _made(portal: Portal, draft: Draft) -> dict[str, Any]:
    """The answer to a creation: what was sent, and the defaults that have a value, who made it among them."""
    defaults = [name for name in (*draft.record.kind.defaults, *MADE_BY) if name in draft.record.properties]
    return draft.record.described((*draft.sent, *defaults), portal.account.portal_id)


def _changed(portal: Portal, draft: Draft, *more: str) -> dict[str, Any]:
    """The answer to an update: what was sent, and what always comes."""
    return draft.record.described((*draft.sent, *more), portal.account.portal_id)


def _upsert_draft(portal: Portal, kind: Kind, raw: dict[str, Any]) -> Draft:
    identifier, id_property = _identifier(raw), _id_property(raw)
    # A missing address means a new contact. A missing identifier can only be a mistake.
    look_up = portal.find if id_property == "hs_object_id" else portal.find_live
    properties = raw.get("properties")
    if record := look_up(kind, identifier, id_property):
        return portal.draft_change(record, properties)
    if not isinstance(properties, dict):
        raise malformed('Some required fields were not set: ["properties"]')
    return portal.draft_new(kind, {id_property: identifier, **properties})


def _identifier(raw: dict[str, Any]) -> str:
    if not isinstance(raw.get("id"), str | int):
        raise malformed('Some required fields were not set: ["id"]')
    return str(raw["id"])


def _id_property(raw: dict[str, Any]) -> str:
    return str(raw.get("idProperty") or "hs_object_id")


def _trace(raw: dict[str, Any]) -> dict[str, Any]:
    return {"objectWriteTraceId": raw["objectWriteTraceId"]} if raw.get("objectWriteTraceId") else {}


def _refuse_repeated(given: list[dict[str, Any]]) -> None:
    counted = Counter(_identifier(one).strip().lower() for one in given)
    repeated = [identifier for identifier, times in counted.items() if times > 1]
    if repeated:
        raise invalid(f"Duplicate IDs found in batch input: [{', '.join(repeated)}]. IDs must be unique")


def _absent(kind: Kind, verb: str, identifiers: list[str]) -> list[ApiError]:
    if not identifiers:
        return []
    message = (
        f"Could not {verb} some {kind.singular.upper()} objects, they may be deleted or not exist. "
        "Check that ids are valid."
    )
    return [ApiError(404, "OBJECT_NOT_FOUND", message, context={"ids": identifiers})]
