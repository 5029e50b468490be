"""Responses that contradict the facts about HubSpot."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.deliberate_deviations import Change, Exchange, FalseFact, edit, every, reply, when

OBJECTS = "/crm/objects/2026-09"
CONTACT = rf"{OBJECTS}/contacts/\d+"
SEARCH = f"POST {OBJECTS}/contacts/search"
PROPERTIES = "GET /crm/properties/2026-09/contacts"
NEW_CONTACT = f"POST {OBJECTS}/contacts"
NEW_NOTE = f"POST {OBJECTS}/notes"


def _rejected(exchange: Exchange) -> bool:
    return exchange.status == 400


def _sends(name: str) -> Any:
    return lambda exchange: name in exchange.sent.get("properties", {})


def _has_one_end(exchange: Exchange) -> bool:
    return [len(row["to"]) for row in exchange.body["results"]] == [1]


def _filters(exchange: Exchange) -> list[Any]:
    return [one for group in exchange.sent.get("filterGroups", ()) for one in group["filters"]]


def _filters_by(name: str) -> Any:
    return lambda exchange: name in {one["propertyName"] for one in _filters(exchange)}


def _property(name: str, **changes: Any) -> Change:
    def change(body: Any) -> None:
        for definition in body["results"]:
            if definition["name"] == name:
                definition.update(changes)

    return edit(change)


def _swapped(body: Any) -> None:
    body["results"].reverse()


def _unknown_property(body: Any) -> None:
    for one in body["results"]:
        one["properties"]["noSuchProperty"] = None


def _accepted(exchange: Exchange) -> None:
    exchange.status, exchange.body = 201, {"id": "", "properties": {}}


def _code(code: str) -> Change:
    return edit(lambda body: body["errors"][0].update(code=code))


FALSE_FACTS: Mapping[str, FalseFact] = {
    "dated-versions": FalseFact("GET /crm/objects/2026-03/contacts", reply(404)),
    "number-of-portal": FalseFact("GET /account-info/2026-09/details", every("portalId", str)),
    "missing-is-404": FalseFact(rf"GET {OBJECTS}/deals/\d+", when(lambda one: one.status == 404, reply(410))),
    "no-category-for-path": FalseFact("GET /crm/no-such-path/.*", reply(400)),
    "pages-of-100": FalseFact(
        f"GET {OBJECTS}/contacts", when(lambda one: one.query.get("limit") == "101", reply(200, {"results": []}))
    ),
    "after-differs": FalseFact(SEARCH, when(lambda one: "paging" in one.body, every("after", lambda _: "17"))),
    "values-in-text": FalseFact(
        f"GET {OBJECTS}/contacts", when(lambda one: one.query.get("limit") == "2", every("hs_object_id", int))
    ),
    "unknown-properties-omitted": FalseFact(
        f"GET {OBJECTS}/contacts", when(lambda one: one.query.get("limit") == "2", edit(_unknown_property))
    ),
    "search-in-order": FalseFact(SEARCH, when(_filters_by("hs_object_id"), edit(_swapped))),
    "search-ends-at-10000": FalseFact(SEARCH, when(_rejected, reply(200, {"results": []}))),
    "search-within-a-minute": FalseFact(SEARCH, when(_filters_by("email"), reply(200, {"total": 0, "results": []}))),
    "closed-stages-in-text": FalseFact(
        "GET /crm/pipelines/2026-09/deals", every("isClosed", lambda value: f"{value}".upper())
    ),
    "former-owners-on-request": FalseFact(
        "GET /crm/owners/2026-09",
        when(lambda one: "limit" not in one.query, edit(lambda body: body["results"][0].update(archived=None))),
    ),
    "own-properties-marked": FalseFact(PROPERTIES, _property("email", hubspotDefined=False)),
    "read-only-marked": FalseFact(PROPERTIES, _property("email", modificationMetadata={"readOnlyValue": True})),
    "owners-as-reference": FalseFact(PROPERTIES, _property("hubspot_owner_id", referencedObjectType=None)),
    "multi-status-batches": FalseFact(
        f"POST {OBJECTS}/contacts/batch/read", when(lambda one: one.status == 207, reply(200))
    ),
    "upsert-says-new": FalseFact(
        f"POST {OBJECTS}/contacts/batch/upsert",
        when(lambda one: one.sent["inputs"][0]["properties"], every("new", lambda _: True)),
    ),
    "duplicate-email-is-409": FalseFact(
        NEW_CONTACT, when(lambda one: one.status == 409, every("message", lambda _: "Contact already exists."))
    ),
    "email-without-lag": FalseFact(
        f"POST {OBJECTS}/contacts/batch/read",
        when(lambda one: "lastname" in one.sent["properties"], reply(200, {"results": []})),
    ),
    "app-as-creator": FalseFact(
        rf"GET {OBJECTS}/deals/\d+", every("hs_object_source_id", lambda value: value and f"{value}0")
    ),
    "two-way-associations": FalseFact(
        "POST /crm/associations/2026-09/contacts/deals/batch/read", when(_has_one_end, reply(207, {"results": []}))
    ),
    "lost-deal-is-found": FalseFact(f"POST {OBJECTS}/deals/batch/read", reply(200, {"results": []})),
    "numbers-of-associations": FalseFact(
        "POST /crm/associations/2026-09/deals/contacts/batch/read", every("typeId", lambda _: 4)
    ),
    "repeated-association": FalseFact(
        f"PUT {CONTACT}/associations/default/companies/.*", when(lambda one: not one.sent, reply(409))
    ),
    "missing-association-is-400": FalseFact(f"POST {OBJECTS}/deals", when(_rejected, _code("NOT_FOUND"))),
    "errors-in-message": FalseFact(
        NEW_CONTACT, when(_sends("no_such_property"), every("message", lambda _: "Property values were not valid"))
    ),
    "unknown-option-is-400": FalseFact(NEW_CONTACT, when(_sends("lifecyclestage"), _code("INVALID_VALUE"))),
    "computed-is-400": FalseFact(f"PATCH {CONTACT}", when(_sends("hs_email_domain"), reply(200))),
    "timestamp-required": FalseFact(NEW_NOTE, when(_rejected, _accepted)),
    "escaped-notes": FalseFact(rf"GET {OBJECTS}/notes/\d+", every("hs_note_body", lambda _: "a")),
    "milliseconds-of-notes": FalseFact(
        rf"GET {OBJECTS}/notes/\d+", every("hs_timestamp", lambda value: f"{value[:20]}000Z")
    ),
    "amounts-in-text": FalseFact(rf"GET {OBJECTS}/deals/\d+", every("amount", lambda value: value and f"{value}0")),
    "archived-is-404": FalseFact(f"GET {CONTACT}", when(lambda one: one.status == 404, reply(200))),
}
