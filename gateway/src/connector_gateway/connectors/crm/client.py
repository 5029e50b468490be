"""The vendor's API: one method per request, version 2026-09.

Sources of methods are below developers.hubspot.com/docs/api-reference/latest/crm/, read 2026-11.
"""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any
from urllib.parse import quote

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.connectors.crm.vendor_errors import batch_error, check_not_taken, unwrap
from connector_gateway.kit import errors
from connector_gateway.kit.operation import ApiVersion
from connector_gateway.kit.pagination import PageIterator, iter_items, with_smaller_pages
from connector_gateway.kit.passthrough import Passthrough
from connector_gateway.kit.upstream.budget import Budget, Charge, Requests
from connector_gateway.kit.upstream.client import UpstreamClient, parse_retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse

BASE_URL = "https://api.hubapi.com"
CONSENT_URL = "https://app.hubspot.com"
VERSION = "2026-09"
"""A segment of every path. Versions appear in March and September and are supported for eighteen months."""

API_VERSION = ApiVersion(VERSION, ends_on=date(2028, 3, 8))
"""Supported for eighteen months after its release on 2026-09-08."""

PORTAL_BUDGET = Budget(100, per_seconds=10)
"""Requests per portal that the smallest plans allow one app. OAuth apps have 110.

Source: developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines, read 2026-11.
"""

SEARCH_BUDGET = Budget(4, per_seconds=1)
"""Searches per portal. The vendor allows five a second for all apps together, separate from other requests.

Source: developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm, read 2026-11.
"""

EDGE_SECONDS = 100.0
"""Seconds after which the vendor's edge responds with 524. No request is known to run longer.

Source: developers.hubspot.com/docs/api-reference/error-handling, read 2026-11.
"""

INDEX_LAG_SECONDS = 60.0
"""Seconds until the search includes new records. Ten to thirty are usual, and no limit is documented.

Source: integrators' reports, read 2026-11.
"""

SETTLE_SECONDS = EDGE_SECONDS + INDEX_LAG_SECONDS
"""Seconds after which a search is conclusive. Only the search returns recent records without a contact."""

PORTAL = Charge("portal")
SEARCH = Charge("search")
REQUEST: Requests = ((PORTAL,),)
SEARCH_REQUEST: Requests = ((SEARCH,),)

PASSTHROUGH = Passthrough(
    charges=lambda request: [SEARCH if request.path.endswith("/search") else PORTAL],
    credential_parameters=frozenset({"hapikey"}),
)

PAGE_SIZE = 100
MAX_PAGES = 200
"""Upstream pages after which a listing is considered endless."""

MAX_RECENT_PAGES = 5
"""Maximum pages of the latest records, if they only supplement the search, which is conclusive later."""

BACKOFF_SECONDS: Mapping[str, float] = {"TEN_SECONDLY_ROLLING": 10.0, "SECONDLY": 1.0, "DAILY": 3600.0}
"""Seconds to wait by violated policy. The daily limit ends at an undocumented midnight, so it is retried hourly."""

LOCK_SECONDS = 2.0
"""Seconds for which records stay locked while others write them (423)."""

MIGRATION_BACKOFF_SECONDS = 60.0
"""Seconds to wait if a portal is being moved (477) and the vendor names no delay."""


MISSING: Mapping[str, type[errors.GatewayError]] = {
    "contacts": errors.ContactNotFound,
    "companies": errors.CompanyNotFound,
    "deals": errors.DealNotFound,
}

DEAL_TO_CONTACT = 3
NOTE_TO_DEAL = 214
"""Association types have a direction. These are the vendor's own, without a label."""


def parse_throttle(response: UpstreamResponse) -> float | None:
    """Return the delay if a budget is exhausted (429), records are locked (423) or the portal is being moved (477)."""
    if response.status == 423:
        return parse_retry_after(response, LOCK_SECONDS)
    if response.status == 477:
        return parse_retry_after(response, MIGRATION_BACKOFF_SECONDS)
    if response.status != 429:
        return None
    error = response.try_decode(vendor_models.VendorError) or vendor_models.VendorError()
    # ``Retry-After`` is not documented, but the name of the violated policy is.
    return parse_retry_after(response, BACKOFF_SECONDS.get(str(error.policy_name), 1.0))


class CrmClient:
    """The vendor's requests used by the operations."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    # Records

    async def read_object(self, kind: str, object_id: str, properties: Iterable[str]) -> vendor_models.Record:
        """Return a record by id. Source: objects/deals/guide."""
        query = {"properties": ",".join(properties)}
        response = await self._read(f"/crm/objects/{VERSION}/{kind}/{quote(object_id, safe='')}", query)
        return unwrap(response, vendor_models.Record, MISSING[kind], object_id)

    async def batch_read_objects(
        self, kind: str, ids: Sequence[str], properties: Iterable[str], id_property: str | None = None
    ) -> list[vendor_models.Record]:
        """Return the existing records, by id or by a unique property, never from the lagging index.

        A missing record is not an error here. The vendor tolerates only a share of errors.
        Source: objects/contacts/guide.
        """
        # The published document requires a history selection, even an empty one.
        selection: dict[str, Any] = {"properties": list(properties), "propertiesWithHistory": []}
        if id_property is not None:
            selection["idProperty"] = id_property

        async def fetch(rest: Sequence[str], size: int) -> tuple[Sequence[vendor_models.Record], Sequence[str]]:
            inputs = [{"id": one} for one in rest[:size]]
            response = await self._post_read(
                f"/crm/objects/{VERSION}/{kind}/batch/read", {"inputs": inputs, **selection}
            )
            return unwrap(response, vendor_models.Batch[vendor_models.Record]).results, rest[size:]

        existing: list[vendor_models.Record] = []
        rest = ids
        while rest:
            records, rest = await with_smaller_pages(partial(fetch, rest), min(len(rest), PAGE_SIZE))
            existing += records
        return existing

    async def list_objects(
        self, kind: str, properties: Iterable[str], limit: int, after: str | None
    ) -> vendor_models.Page[vendor_models.Record]:
        """Return a page of records after the id *after*, in order of ids. Source: objects/contacts/guide."""
        query = {"properties": ",".join(properties)} | _cursor_query(after)

        async def fetch(size: int) -> UpstreamResponse:
            return await self._read(f"/crm/objects/{VERSION}/{kind}", {"limit": size, **query})

        return unwrap(await with_smaller_pages(fetch, limit), vendor_models.Page[vendor_models.Record])

    async def list_objects_after(
        self, kind: str, properties: Sequence[str], after: str | None
    ) -> list[vendor_models.Record]:
        """Return up to some hundred records after the id *after*. A missing record proves nothing."""

        async def fetch(cursor: str | None) -> tuple[Sequence[vendor_models.Record], str | None]:
            page = await self.list_objects(kind, properties, PAGE_SIZE, cursor)
            return page.results, page.after

        return [
            record async for page in PageIterator(fetch, max_pages=MAX_RECENT_PAGES, start=after) for record in page
        ]

    async def search_all(
        self, kind: str, search: Callable[[str | None], Mapping[str, Any]]
    ) -> list[vendor_models.Record]:
        """Return all records of a search that continues after an id. Source: search-the-crm."""

        async def fetch(cursor: str | None) -> tuple[Sequence[vendor_models.Record], str | None]:
            page = await self.search_objects(kind, search(cursor))
            if page.after and not page.results:
                raise errors.UpstreamUnexpected(
                    "The vendor's search returned a next page after a page without records."
                )
            # By identifier, because the vendor's positions shift when records change, and end at ten thousand.
            return page.results, page.results[-1].id if page.after else None

        return [record async for record in iter_items(fetch, max_pages=MAX_PAGES)]

    async def search_objects(self, kind: str, body: Mapping[str, Any]) -> vendor_models.Page[vendor_models.Record]:
        """Return a page of records that match a filter. New and changed ones appear late. Source: search-the-crm."""

        async def fetch(size: int) -> UpstreamResponse:
            return await self._post_read(f"/crm/objects/{VERSION}/{kind}/search", {**body, "limit": size}, SEARCH)

        return unwrap(
            await with_smaller_pages(fetch, body.get("limit", PAGE_SIZE)), vendor_models.Page[vendor_models.Record]
        )

    async def upsert_contact(self, email: str, properties: Mapping[str, str]) -> vendor_models.Upserted:
        """Create or update a contact by email address. Source: objects/contacts/batch/upsert-contacts."""
        # A batch of one, because the vendor has no upsert of a single record.
        body = {"inputs": [{"idProperty": "email", "id": email, "properties": properties}]}
        response = await self._write("POST", f"/crm/objects/{VERSION}/contacts/batch/upsert", body)
        check_not_taken(response)
        done = unwrap(response, vendor_models.Batch[vendor_models.Upserted])
        if not done.results:
            raise batch_error(response)
        return done.results[0]

    async def create_contact(self, email: str, properties: Mapping[str, str]) -> vendor_models.Record:
        """Create a contact. Raises ``ContactExists`` if the email address is taken. Source: objects/contacts/guide."""
        body = {"properties": {"email": email, **properties}, "associations": []}
        response = await self._write("POST", f"/crm/objects/{VERSION}/contacts", body)
        check_not_taken(response)
        return unwrap(response, vendor_models.Record)

    async def create_company(self, domain: str) -> vendor_models.Record:
        """Create a company. Source: objects/companies/guide."""
        # People search companies by name, and only the domain is known.
        body = {"properties": {"domain": domain, "name": domain}, "associations": []}
        return unwrap(await self._write("POST", f"/crm/objects/{VERSION}/companies", body), vendor_models.Record)

    async def create_deal(self, properties: Mapping[str, str], contact_id: str | None) -> vendor_models.Deal:
        """Create a deal together with its association. Source: objects/deals/guide."""
        links = [] if contact_id is None else [_link(contact_id, DEAL_TO_CONTACT)]
        response = await self._write(
            "POST", f"/crm/objects/{VERSION}/deals", {"properties": properties, "associations": links}
        )
        missing = errors.UpstreamUnexpected if contact_id is None else errors.ContactNotFound
        return unwrap(response, vendor_models.Deal, missing, contact_id or "")

    async def create_note(self, properties: Mapping[str, str], deal_id: str) -> vendor_models.Record:
        """Create a note on a deal's timeline. Source: activities/notes/guide."""
        body = {"properties": properties, "associations": [_link(deal_id, NOTE_TO_DEAL)]}
        response = await self._write("POST", f"/crm/objects/{VERSION}/notes", body)
        return unwrap(response, vendor_models.Record, errors.DealNotFound, deal_id)

    async def update_object(self, kind: str, object_id: str, properties: Mapping[str, str]) -> vendor_models.Record:
        """Update a record and return it. Source: objects/deals/guide."""
        path = f"/crm/objects/{VERSION}/{kind}/{quote(object_id, safe='')}"
        response = await self._write("PATCH", path, {"properties": properties})
        return unwrap(response, vendor_models.Record, MISSING[kind], object_id)

    # Associations

    async def associate_with_company(self, contact_id: str, company_id: str) -> None:
        """Associate without a label. A repeat changes nothing. Source: associations/associate-records/guide."""
        path = f"/crm/objects/{VERSION}/contacts/{contact_id}/associations/default/companies/{company_id}"
        response = await self._write("PUT", path, None)
        done = unwrap(response, vendor_models.Batch[vendor_models.Associated], errors.CompanyNotFound, company_id)
        if not done.results:
            raise batch_error(response)

    async def read_associations(self, kind: str, object_id: str, other: str) -> list[str]:
        """Return the ids of the *other* records associated with one. Source: associations/associate-records/guide."""
        path = f"/crm/associations/{VERSION}/{kind}/{other}/batch/read"

        async def fetch(after: str | None) -> tuple[list[str], str | None]:
            # The page size is fixed, so one record is requested at a time.
            response = await self._post_read(path, {"inputs": [{"id": object_id} | _cursor_query(after)]})
            rows = unwrap(response, vendor_models.Batch[vendor_models.Links]).results
            # Numbers here and texts elsewhere, according to the vendor's own document.
            return [str(far.to_object_id) for row in rows for far in row.to], next((row.after for row in rows), None)

        return [one async for one in iter_items(fetch, max_pages=MAX_PAGES)]

    # Portal definitions

    async def list_pipelines(self) -> Sequence[vendor_models.Pipeline]:
        """Return all pipelines of deals with their stages. Source: pipelines/guide."""
        return unwrap(
            await self._read(f"/crm/pipelines/{VERSION}/deals"), vendor_models.Page[vendor_models.Pipeline]
        ).results

    async def list_properties(self, kind: str) -> Sequence[vendor_models.Definition]:
        """Return all properties of an object type. Source: properties/guide."""
        return unwrap(
            await self._read(f"/crm/properties/{VERSION}/{kind}"), vendor_models.Page[vendor_models.Definition]
        ).results

    async def list_owners(self) -> AsyncIterator[vendor_models.Owner]:
        """Yield all owners of records, deactivated ones last. Source: owners/guide."""

        async def fetch(archived: str, after: str | None) -> tuple[Sequence[vendor_models.Owner], str | None]:
            async def fetch_page(size: int) -> UpstreamResponse:
                query = {"limit": size, "archived": archived} | _cursor_query(after)
                return await self._read(f"/crm/owners/{VERSION}", query)

            page = unwrap(await with_smaller_pages(fetch_page, PAGE_SIZE), vendor_models.Page[vendor_models.Owner])
            return page.results, page.after

        # Deactivated owners are listed only on request, and still own their records.
        for archived in ("false", "true"):
            async for owner in iter_items(partial(fetch, archived), max_pages=MAX_PAGES):
                yield owner

    async def read_account(self) -> vendor_models.Account:
        """Return the portal itself.

        Source: developers.hubspot.com/docs/api-reference, account information, read 2026-11.
        """
        return unwrap(await self._read(f"/account-info/{VERSION}/details"), vendor_models.Account)

    async def _read(self, path: str, query: Mapping[str, Any] | None = None) -> UpstreamResponse:
        return await self._upstream.send("GET", path, PORTAL, writes=False, query=query or {})

    async def _post_read(self, path: str, body: Mapping[str, Any], charge: Charge = PORTAL) -> UpstreamResponse:
        """Send a query that is too long for a URL."""
        return await self._upstream.send("POST", path, charge, writes=False, json=body)

    async def _write(self, method: str, path: str, body: Mapping[str, Any] | None) -> UpstreamResponse:
        return await self._upstream.send(method, path, PORTAL, writes=True, json=body)


def _cursor_query(after: str | None) -> dict[str, str]:
    return {"after": after} if after else {}


def _link(object_id: str, type_id: int) -> Mapping[str, Any]:
    """Return an association for a new record."""
    kind = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": type_id}
    return {"to": {"id": object_id}, "types": [kind]}


# Errors
