"""The vendor's API: one method per request, version 0 (in the path).

Sources of methods are below airtable.com/developers/web/api/, read 2026-11.
"""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from connector_gateway.connectors.tables import vendor_models
from connector_gateway.connectors.tables.vendor_errors import ERRORS, PLAN_LIMIT_EXCEEDED, unwrap
from connector_gateway.kit.errors import BaseNotFound, RecordNotFound, TableNotFound
from connector_gateway.kit.pagination import iter_items, with_smaller_pages
from connector_gateway.kit.passthrough import CustomRequest, Passthrough
from connector_gateway.kit.upstream.budget import Budget, Charge, Requests
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, parse_retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse

BASE_URL = "https://api.airtable.com"
CONSENT_URL = "https://airtable.com"
CONTENT_URL = "https://content.airtable.com"
"""The host for file uploads."""

BASE_BUDGET = Budget(5, per_seconds=1)
"""Requests per base, on every plan. Source: airtable.com/developers/web/api/rate-limits."""

ACCOUNT_BUDGET = Budget(50, per_seconds=1)
"""Requests for all traffic of one user's tokens. Source: airtable.com/developers/web/api/rate-limits."""

ACCOUNT = Charge("account")
BASES_REQUEST: Requests = ((ACCOUNT,),)
REQUEST: Requests = ((Charge("base"), ACCOUNT),)

BASE_ID = re.compile("/(app[A-Za-z0-9]+)(?=/|$)")


def charge_request(request: CustomRequest) -> Sequence[Charge]:
    """Return the charges of a request that a caller has written. Some requests concern no base."""
    base = BASE_ID.search(request.path)
    return _charges(base[1]) if base else (ACCOUNT,)


PASSTHROUGH = Passthrough(charges=charge_request)

LOCKOUT_SECONDS = 30.0
"""Seconds for which every request is rejected after a 429. The response does not contain the delay.

Source: airtable.com/developers/web/api/rate-limits.
"""

RETRIABLE_SECONDS = 1.0
"""Seconds to wait after a 503 that reports that nothing was done and that the request may be retried."""

SETTLE_SECONDS = 300.0
"""Seconds during which a request may still take effect: the timeout of the vendor's own client.

That timeout used to be 30 seconds.
Source: github.com/Airtable/airtable.js/releases/tag/v0.4.5, read 2026-11.
"""

PAGE_SIZE = 100
MAX_PAGES = 200
"""Upstream pages after which a list is considered endless."""

Values = Mapping[str, Any]


def parse_throttle(response: UpstreamResponse) -> ThrottleDelay | None:
    """Return the delay for the base after a 429, or after a 503 that asks for a retry. A used-up plan is neither."""
    kind = ERRORS.reason(response).code
    if response.status == 429 and kind != PLAN_LIMIT_EXCEEDED:
        return ThrottleDelay(parse_retry_after(response, LOCKOUT_SECONDS), {"base"})
    # The vendor reports that nothing was done, so even a write may be resent.
    if response.status == 503 and kind == "RETRIABLE_ERROR":
        return ThrottleDelay(parse_retry_after(response, RETRIABLE_SECONDS), {"base"})
    return None


class TablesClient:
    """The vendor's requests used by the operations. Fields are named by identifier, except in a list."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def get_user(self) -> vendor_models.Me:
        """Return the user of the token. Source: get-user-id-scopes."""
        return unwrap(await self._upstream.send("GET", "/v0/meta/whoami", ACCOUNT, writes=False), vendor_models.Me)

    def list_bases(self) -> AsyncIterator[vendor_models.Base]:
        """Yield all bases that the token can see. Source: list-bases."""

        async def fetch(offset: str | None) -> tuple[Sequence[vendor_models.Base], str | None]:
            response = await self._upstream.send("GET", "/v0/meta/bases", ACCOUNT, writes=False, query=_from(offset))
            page = unwrap(response, vendor_models.Bases)
            return page.bases, page.offset

        return iter_items(fetch, max_pages=MAX_PAGES)

    async def get_base_schema(self, base_id: str) -> Sequence[vendor_models.Table]:
        """Return the tables of a base with fields and views. Source: get-base-schema."""
        path = f"/v0/meta/bases/{_segment(base_id)}/tables"
        response = await self._upstream.send("GET", path, *_charges(base_id), writes=False)
        return unwrap(response, vendor_models.Schema, BaseNotFound, BaseNotFound).tables

    async def list_records(
        self, base_id: str, table_id: str, *, view_id: str | None, page_size: int, offset: str | None
    ) -> vendor_models.Records:
        """Return a page of a table or view, by field names. Source: list-records."""
        query = {"view": view_id, "offset": offset}
        query_params = [(name, value) for name, value in query.items() if value is not None]
        return await self._list(base_id, table_id, query_params, page_size)

    def list_records_created_since(
        self, base_id: str, table_id: str, since: datetime
    ) -> AsyncIterator[vendor_models.Record]:
        """Yield the records created after a time, with all their values.

        Source: airtable.com/developers/web/api/list-records and support.airtable.com/docs/formula-field-reference,
        read 2026-11.
        """
        # Floored to the second. A superfluous record is filtered out later, but a missing one would be created again.
        after = since.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        formula = f"IS_AFTER(CREATED_TIME(), DATETIME_PARSE('{after}'))"
        return self._filter(base_id, table_id, formula)

    async def existing_records(self, base_id: str, table_id: str, record_ids: Sequence[str]) -> set[str]:
        """Return those of *record_ids* that are in exactly that table. Source: list-records."""
        existing_ids: set[str] = set()
        for start in range(0, len(record_ids), PAGE_SIZE):
            # With a filter, because reading a record by its identifier also finds those of other tables.
            tests = (f"RECORD_ID()='{record_id}'" for record_id in record_ids[start : start + PAGE_SIZE])
            async for record in self._filter(base_id, table_id, f"OR({','.join(tests)})"):
                existing_ids.add(record.id)
        return existing_ids

    async def get_record(self, base_id: str, table_id: str, record_id: str) -> vendor_models.RecordFields:
        """Return a record from any table of the base. Source: get-record."""
        path = f"{_table(base_id, table_id)}/{record_id}"
        query = {"returnFieldsByFieldId": "true"}
        response = await self._upstream.send("GET", path, *_charges(base_id), writes=False, query=query)
        return unwrap(response, vendor_models.RecordFields, RecordNotFound, RecordNotFound)

    async def create_records(
        self, base_id: str, table_id: str, rows: Sequence[Values], *, typecast: bool
    ) -> Sequence[vendor_models.RecordFields]:
        """Create records in order, all or none. *typecast* lets selects gain options. Source: create-records."""
        # ``typecast`` loosens every check of the entire request, so it is set only to create options.
        body = {"records": [{"fields": row} for row in rows], "typecast": typecast, "returnFieldsByFieldId": True}
        response = await self._write("POST", base_id, _table(base_id, table_id), body)
        return unwrap(response, vendor_models.CreatedRows, TableNotFound).records

    async def update_record(
        self, base_id: str, table_id: str, record_id: str, values: Values
    ) -> vendor_models.RecordFields:
        """Update a record and return it. Source: update-record."""
        path = f"{_table(base_id, table_id)}/{record_id}"
        body = {"fields": values, "typecast": False, "returnFieldsByFieldId": True}
        return unwrap(await self._write("PATCH", base_id, path, body), vendor_models.RecordFields)

    async def upload_attachment(
        self, base_id: str, record_id: str, field_id: str, file: Values
    ) -> vendor_models.RecordFields:
        """Append *file* to a record's field, and return the record with that field only. Source: upload-attachment."""
        path = f"/v0/{_segment(base_id)}/{record_id}/{field_id}/uploadAttachment"
        response = await self._write("POST", base_id, path, file, host="content")
        return unwrap(response, vendor_models.RecordFields)

    def _filter(self, base_id: str, table_id: str, formula: str) -> AsyncIterator[vendor_models.Record]:
        query = [("filterByFormula", formula), ("returnFieldsByFieldId", "true")]

        async def fetch(offset: str | None) -> tuple[Sequence[vendor_models.Record], str | None]:
            page = await self._list(base_id, table_id, [*query, *_from(offset)])
            return page.records, page.offset

        return iter_items(fetch, max_pages=MAX_PAGES)

    async def _list(
        self, base_id: str, table_id: str, query: Sequence[tuple[str, Any]], most: int = PAGE_SIZE
    ) -> vendor_models.Records:
        path = _table(base_id, table_id)

        async def fetch(size: int) -> UpstreamResponse:
            sized = [*query, ("pageSize", size)]
            return await self._upstream.send("GET", path, *_charges(base_id), writes=False, query=sized)

        return unwrap(await with_smaller_pages(fetch, most), vendor_models.Records, TableNotFound)

    async def _write(self, method: str, base_id: str, path: str, body: Values, host: str = "base") -> UpstreamResponse:
        return await self._upstream.send(method, path, *_charges(base_id), writes=True, json=body, host=host)


def _charges(base_id: str) -> tuple[Charge, Charge]:
    """Return the charges of a request to a base: the base's budget, shared by all callers, and the account's."""
    # All connections that reach a base share its five requests a second.
    return Charge("base", scope_key=base_id), ACCOUNT


def _from(offset: str | None) -> list[tuple[str, str]]:
    return [("offset", offset)] if offset else []


def _table(base_id: str, table_id: str) -> str:
    return f"/v0/{_segment(base_id)}/{quote(table_id, safe='')}"


def _segment(base_id: str) -> str:
    """Return a base identifier as a path segment. Words that are routes of the vendor are rejected."""
    # ``/v0/meta`` is a separate route, which no caller may reach by a base of that name.
    if not base_id.startswith("app"):
        raise BaseNotFound(f"{base_id} is not an identifier of a base.", {"parameter": "base_id", "value": base_id})
    return quote(base_id, safe="")
