"""The vendor's wire: one method per request, version 2026-09."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from pydantic_core import from_json

from connector_gateway.kit.budget import Budget, Charge
from connector_gateway.kit.errors import (
    CompanyNotFound,
    ConnectionRevoked,
    ConnectionScopeMissing,
    ContactNotFound,
    DealNotFound,
    Detail,
    GatewayError,
    OptionMissing,
    PropertyNotFound,
    ReadOnlyField,
    UpstreamConflict,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.transport import Answer
from connector_gateway.kit.upstream import Upstream, retry_after
from connector_gateway.kit.walking import Pages, walk

ADDRESS = "https://api.hubapi.com"
VERSION = "2026-09"
"""A segment of every path; versions come out in March and September and are served for eighteen months."""

PORTAL_BUDGET = Budget(100, per_seconds=10)
"""What the smallest plans allow an application per portal; OAuth applications have 110.

Source: developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines, read 2026-11.
"""

SEARCH_BUDGET = Budget(4, per_seconds=1)
"""Searches have five a second per portal, shared with every other application, and do not count as other requests.

Source: developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm, read 2026-11.
"""

EDGE_SECONDS = 100.0
"""The vendor's edge answers 524 after that long; nothing is known to work on a request for longer.

Source: developers.hubspot.com/docs/api-reference/error-handling, read 2026-11.
"""

INDEX_LAG_SECONDS = 60.0
"""After that long, the search knows what was made; ten to thirty seconds are usual, and no bound is documented.

Source: integrators' reports, read 2026-11.
"""

SETTLE_SECONDS = EDGE_SECONDS + INDEX_LAG_SECONDS
"""What was made in the last moment is found only by the search, where it belongs to no contact."""

PORTAL = Charge("portal")
SEARCH = Charge("search")

PAGE_SIZE = 100
MAX_PAGES = 200
"""Upstream pages of one listing before it is given up as endless."""

PAGES_BEHIND = 5
"""Pages of the latest records that are read, where the search decides and they only tell it sooner."""

PAUSES: Mapping[str, float] = {"TEN_SECONDLY_ROLLING": 10.0, "SECONDLY": 1.0, "DAILY": 3600.0}
"""Seconds to rest by the policy that was broken; a day ends at a midnight that is not told, so it is asked hourly."""

LOCK_SECONDS = 2.0
"""How long records stay locked while others write them (423)."""

MOVING_SECONDS = 60.0
"""How long to rest when a portal is being moved (477) and it is not told for how long."""

Raw = dict[str, Any]

REFUSALS: Mapping[int, type[GatewayError]] = {
    400: UpstreamRefused,
    401: ConnectionRevoked,
    403: UpstreamForbidden,
    409: UpstreamConflict,
    414: UpstreamRefused,
}
"""What a refusal means; 404 depends on what was asked for, and a 400 is told apart by its codes where it has any."""

CODES: Mapping[str, type[GatewayError]] = {
    "PROPERTY_DOESNT_EXIST": PropertyNotFound,
    "INVALID_OPTION": OptionMissing,
    "READ_ONLY_VALUE": ReadOnlyField,
}
"""What the code of one fault within a 400 means; others are refused values."""

DANGLING = "INVALID_OBJECT_IDS"
"""The code of an association with a record that is not there."""

MESSAGES: Mapping[type[GatewayError], str] = {
    CompanyNotFound: "The portal has no such company.",
    ConnectionRevoked: "The authorisation of this connection was withdrawn.",
    ConnectionScopeMissing: "The connection was authorised without a permission that this needs.",
    ContactNotFound: "The portal has no such contact.",
    DealNotFound: "The portal has no such deal.",
    OptionMissing: "The application does not know one of the options.",
    PropertyNotFound: "The application does not know one of the properties.",
    ReadOnlyField: "The application computes one of the properties itself.",
    UpstreamConflict: "The application refused because of another record or another change.",
    UpstreamForbidden: "The application does not allow this connection to do that.",
    UpstreamRefused: "The application refused the values.",
    UpstreamUnexpected: "The application refused in an unknown way.",
}

MISSING: Mapping[str, type[GatewayError]] = {
    "contacts": ContactNotFound,
    "companies": CompanyNotFound,
    "deals": DealNotFound,
}

DEAL_TO_CONTACT = 3
NOTE_TO_DEAL = 214
"""Association types have a direction; these are the vendor's own, without a label."""

HOLDER = re.compile(r"Existing ID:\s*(\d+)")
"""The only place where the vendor tells which contact has an address."""


class ContactExists(UpstreamConflict):
    """The address belongs to a contact already, perhaps as a second one."""

    def __init__(self, contact_id: str, private: str) -> None:
        super().__init__("Another contact has this address.", {"contact_id": contact_id}, private=private)


def authorise(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """The headers of every request."""
    return {"Authorization": f"Bearer {credentials['token']}"}


def throttled(answer: Answer) -> float | None:
    """Seconds to wait when a budget is spent (429), records are locked (423) or the portal is being moved (477)."""
    if answer.status == 423:
        return retry_after(answer, LOCK_SECONDS)
    if answer.status == 477:
        return retry_after(answer, MOVING_SECONDS)
    if answer.status != 429:
        return None
    policy = answer.raw.get("policyName") if isinstance(answer.raw, dict) else None
    return retry_after(answer, PAUSES.get(str(policy), 1.0))


def unwrap(answer: Answer, missing: type[GatewayError] = UpstreamUnexpected, sought: str = "") -> Raw:
    """The JSON of an accepted request; a refused one raises its catalogue error, *missing* if *sought* is not there."""
    if answer.accepted:
        raw: Raw = answer.json()
        return raw
    said = answer.raw if isinstance(answer.raw, dict) else {}
    raise _refusal(answer.status, said, missing, sought, answer.text)


def next_page(raw: Mapping[str, Any]) -> str | None:
    """Where the next page starts; None after the last."""
    after: str | None = ((raw.get("paging") or {}).get("next") or {}).get("after")
    return after


class CrmClient:
    """The vendor's requests that the operations are made of."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def read_object(self, kind: str, object_id: str, properties: Iterable[str]) -> Raw:
        """A record by its id.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/deals/guide, read 2026-11.
        """
        query = {"properties": ",".join(properties)}
        answer = await self._read(f"/crm/objects/{VERSION}/{kind}/{quote(object_id, safe='')}", query)
        return unwrap(answer, MISSING[kind], object_id)

    async def batch_read_objects(
        self, kind: str, ids: Sequence[str], properties: Iterable[str], id_property: str | None = None
    ) -> list[Raw]:
        """Those records that exist, by id or by a unique property; never from the lagging index.

        A record that is missing is no refusal here, of which the vendor tolerates only a share.
        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/guide, read 2026-11.
        """
        found: list[Raw] = []
        for start in range(0, len(ids), PAGE_SIZE):
            body: Raw = {
                "inputs": [{"id": one} for one in ids[start : start + PAGE_SIZE]],
                "properties": list(properties),
            }
            if id_property is not None:
                body["idProperty"] = id_property
            path = f"/crm/objects/{VERSION}/{kind}/batch/read"
            answer = await self._upstream.send("POST", path, PORTAL, writes=False, json=body)
            found += unwrap(answer)["results"]
        return found

    async def list_objects(self, kind: str, properties: Iterable[str], limit: int, after: str | None) -> Raw:
        """A page of records behind the id *after*, in order of their ids.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/guide, read 2026-11.
        """
        query = {"limit": limit, "properties": ",".join(properties)} | _behind(after)
        return unwrap(await self._read(f"/crm/objects/{VERSION}/{kind}", query))

    async def objects_behind(self, kind: str, properties: Sequence[str], after: str | None) -> list[Raw]:
        """The next records behind the id *after*, some hundreds at most: nothing is concluded from what is not there.

        Source: as of ``list_objects``.
        """

        async def fetch(cursor: str | None) -> tuple[list[Raw], str | None]:
            raw = await self.list_objects(kind, properties, PAGE_SIZE, cursor)
            return raw["results"], next_page(raw)

        return [raw async for page in Pages(fetch, most=PAGES_BEHIND, start=after) for raw in page]

    async def search_every(self, kind: str, search: Callable[[str | None], Mapping[str, Any]]) -> list[Raw]:
        """Every record that a search finds which goes on behind an id. Source: as of ``search_objects``."""

        async def fetch(cursor: str | None) -> tuple[list[Raw], str | None]:
            raw = await self.search_objects(kind, search(cursor))
            return raw["results"], raw["results"][-1]["id"] if next_page(raw) else None

        return [raw async for raw in walk(fetch, most=MAX_PAGES)]

    async def search_objects(self, kind: str, body: Mapping[str, Any]) -> Raw:
        """A page of records that a filter finds; new and changed ones are found only after a while.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm, read 2026-11.
        """
        path = f"/crm/objects/{VERSION}/{kind}/search"
        return unwrap(await self._upstream.send("POST", path, SEARCH, writes=False, json=body))

    async def upsert_contact(self, email: str, properties: Mapping[str, str]) -> Raw:
        """The contact of that address with other values, or a ``new`` one; ``ContactExists`` for a second address.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/batch/upsert-contacts, 2026-11.
        """
        body = {"inputs": [{"idProperty": "email", "id": email, "properties": properties}]}
        answer = await self._write("POST", f"/crm/objects/{VERSION}/contacts/batch/upsert", body)
        _refuse_taken(answer)
        raw = unwrap(answer)
        if not raw["results"]:
            raise _refusal(400, next(iter(raw.get("errors") or [{}])), UpstreamRefused, email, answer.text)
        contact: Raw = raw["results"][0]
        return contact

    async def create_contact(self, email: str, properties: Mapping[str, str]) -> Raw:
        """A new contact; ``ContactExists`` if the address is taken.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/guide, read 2026-11.
        """
        body = {"properties": {"email": email, **properties}, "associations": []}
        answer = await self._write("POST", f"/crm/objects/{VERSION}/contacts", body)
        _refuse_taken(answer)
        return unwrap(answer)

    async def create_company(self, domain: str) -> Raw:
        """A new company.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/companies/guide, read 2026-11.
        """
        body = {"properties": {"domain": domain, "name": domain}, "associations": []}
        return unwrap(await self._write("POST", f"/crm/objects/{VERSION}/companies", body))

    async def create_deal(self, properties: Mapping[str, str], contact_id: str | None) -> Raw:
        """A new deal, associated from the start.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/deals/guide, read 2026-11.
        """
        links = [] if contact_id is None else [_link(contact_id, DEAL_TO_CONTACT)]
        body = {"properties": properties, "associations": links}
        return unwrap(
            await self._write("POST", f"/crm/objects/{VERSION}/deals", body), ContactNotFound, contact_id or ""
        )

    async def create_note(self, properties: Mapping[str, str], deal_id: str) -> Raw:
        """A note on a deal's timeline.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/activities/notes/guide, read 2026-11.
        """
        body = {"properties": properties, "associations": [_link(deal_id, NOTE_TO_DEAL)]}
        return unwrap(await self._write("POST", f"/crm/objects/{VERSION}/notes", body), DealNotFound, deal_id)

    async def update_object(self, kind: str, object_id: str, properties: Mapping[str, str]) -> Raw:
        """A record after a change.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/objects/deals/guide, read 2026-11.
        """
        path = f"/crm/objects/{VERSION}/{kind}/{quote(object_id, safe='')}"
        return unwrap(await self._write("PATCH", path, {"properties": properties}), MISSING[kind], object_id)

    async def associate_with_company(self, contact_id: str, company_id: str) -> None:
        """Associate without a label; doing it again changes nothing.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/associations/associate-records/guide, read 2026-11.
        """
        path = f"/crm/objects/{VERSION}/contacts/{contact_id}/associations/default/companies/{company_id}"
        unwrap(await self._write("PUT", path, None), CompanyNotFound, company_id)

    async def read_associations(self, kind: str, object_id: str, other: str) -> list[str]:
        """The ids of the *other* records that a record is associated with.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/associations/associate-records/guide, read 2026-11.
        """
        path = f"/crm/associations/{VERSION}/{kind}/{other}/batch/read"

        async def fetch(after: str | None) -> tuple[list[str], str | None]:
            body = {"inputs": [{"id": object_id} | _behind(after)]}
            rows = unwrap(await self._upstream.send("POST", path, PORTAL, writes=False, json=body))["results"]
            ids = [str(far["toObjectId"]) for row in rows for far in row["to"]]
            return ids, next((next_page(row) for row in rows), None)

        return [one async for one in walk(fetch, most=MAX_PAGES)]

    async def list_pipelines(self) -> list[Raw]:
        """Every pipeline of deals, with its stages.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/pipelines/guide, read 2026-11.
        """
        pipelines: list[Raw] = unwrap(await self._read(f"/crm/pipelines/{VERSION}/deals"))["results"]
        return pipelines

    async def list_properties(self, kind: str) -> list[Raw]:
        """Every property of an object type.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/properties/guide, read 2026-11.
        """
        definitions: list[Raw] = unwrap(await self._read(f"/crm/properties/{VERSION}/{kind}"))["results"]
        return definitions

    async def list_owners(self) -> AsyncIterator[Raw]:
        """Everybody who owns records, those who have left last.

        Source: developers.hubspot.com/docs/api-reference/latest/crm/owners/guide, read 2026-11.
        """

        async def fetch(archived: str, after: str | None) -> tuple[list[Raw], str | None]:
            query = {"limit": PAGE_SIZE, "archived": archived} | _behind(after)
            raw = unwrap(await self._read(f"/crm/owners/{VERSION}", query))
            return raw["results"], next_page(raw)

        for archived in ("false", "true"):
            async for owner in walk(partial(fetch, archived), most=MAX_PAGES):
                yield owner

    async def read_account(self) -> Raw:
        """The portal itself. Source: developers.hubspot.com/docs/api-reference, account information, read 2026-11."""
        return unwrap(await self._read(f"/account-info/{VERSION}/details"))

    async def _read(self, path: str, query: Mapping[str, Any] | None = None) -> Answer:
        return await self._upstream.send("GET", path, PORTAL, writes=False, query=query or {})

    async def _write(self, method: str, path: str, body: Mapping[str, Any] | None) -> Answer:
        return await self._upstream.send(method, path, PORTAL, writes=True, json=body)


def _behind(after: str | None) -> Raw:
    """Where a page of a list begins."""
    return {"after": after} if after else {}


def _link(object_id: str, type_id: int) -> Raw:
    """An association that a new record comes with."""
    kind = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": type_id}
    return {"to": {"id": object_id}, "types": [kind]}


def _refuse_taken(answer: Answer) -> None:
    """Raise ``ContactExists`` if that is why the write was refused."""
    holder = HOLDER.search(answer.text) if answer.status == 409 else None
    if holder:
        raise ContactExists(holder[1], answer.text)


def _refusal(
    status: int, said: Mapping[str, Any], missing: type[GatewayError], sought: str, private: str
) -> GatewayError:
    """What a refusal means; a 404 that is not in the vendor's words comes from a wrong path."""
    refusal, details = REFUSALS.get(status, UpstreamUnexpected), list[Detail]()
    if status == 404 and said:
        refusal, details = missing, [{"value": sought}]
    elif status == 403 and said.get("category") == "MISSING_SCOPES":
        refusal, details = ConnectionScopeMissing, [{"scopes": names} for _, names in _faults(said)]
    elif status == 400:
        faults, known = _faults(said), {**CODES, DANGLING: missing}
        refusal = next((known[code] for code, _ in faults if code in known), refusal)
        told = [names for code, names in faults if known.get(code) in {refusal, None}]
        details = [{"property": name} for names in told for name in names]
    return refusal(MESSAGES[refusal], *details, private=private)


def _faults(said: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The code of each fault, and the properties or scopes it names; some are told only within the message."""
    listed = [(str(fault.get("code")), _named(fault.get("context") or {})) for fault in said.get("errors") or ()]
    return listed or _embedded(str(said.get("message")))


def _named(context: Mapping[str, Any]) -> list[str]:
    for name in ("propertyName", "properties", "requiredGranularScopes"):
        if isinstance(context.get(name), list):
            return [str(one) for one in context[name]]
    return []


def _embedded(message: str) -> list[tuple[str, list[str]]]:
    """The faults of a message that ends in a JSON list of them."""
    try:
        faults = from_json(message[message.index("[") :])
        return [(str(fault["error"]), [str(fault["name"])]) for fault in faults]
    except (ValueError, KeyError, TypeError):
        return []
