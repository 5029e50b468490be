"""The vendor's wire: one method per request, version 0 (in the path).

Sources of methods stand below airtable.com/developers/web/api/, and were read 2026-11.
"""

from __future__ import annotations  # functions are made in each call (decision 45)

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from connector_gateway.connectors.tables import wire
from connector_gateway.connectors.tables.errors import ERRORS, PLAN_USED_UP, unwrap
from connector_gateway.kit.errors import BaseNotFound, RecordNotFound, TableNotFound
from connector_gateway.kit.pagination import iter_items, with_smaller_pages
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse

ADDRESS = "https://api.airtable.com"
CONSENT_ADDRESS = "https://airtable.com"
CONTENT_ADDRESS = "https://content.airtable.com"
"""Files are uploaded to a host of their own."""

BASE_BUDGET = Budget(5, per_seconds=1)
"""Five requests a second per base, on every plan. Source: airtable.com/developers/web/api/rate-limits."""

ACCOUNT_BUDGET = Budget(50, per_seconds=1)
"""Fifty requests a second for all traffic of one user's tokens. Source: the same page."""

ACCOUNT = Charge("account")

LOCKOUT_SECONDS = 30.0
"""After a 429 every request is refused for that long; the answer itself does not say so. Source: the same page."""

RETRIABLE_SECONDS = 1.0
"""How long to wait after a 503 which says that nothing was done and that it may be sent again."""

SETTLE_SECONDS = 300.0
"""How long a request may go on without an answer: the vendor's own client waits five minutes for one.

It used to give up after 30 seconds. Source: github.com/Airtable/airtable.js/releases/tag/v0.4.5, read 2026-11.
"""

PAGE_SIZE = 100
MAX_PAGES = 200
"""Upstream pages of one list before it is given up as endless."""

Values = Mapping[str, Any]


def throttled(answer: UpstreamResponse) -> ThrottleDelay | None:
    """How long the base has to rest after a 429, or after a 503 that asks for a repeat; a used-up plan is neither."""
    kind = ERRORS.reason(answer).code
    if answer.status == 429 and kind != PLAN_USED_UP:
        return ThrottleDelay(retry_after(answer, LOCKOUT_SECONDS), {"base"})
    # The vendor says that nothing was done, so that even a write may be sent again.
    if answer.status == 503 and kind == "RETRIABLE_ERROR":
        return ThrottleDelay(retry_after(answer, RETRIABLE_SECONDS), {"base"})
    return None


class TablesClient:
    """The vendor's requests that the operations are made of; fields are named by their identifiers but in a list."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def get_user(self) -> wire.Me:
        """Whose token it is. Source: get-user-id-scopes."""
        return unwrap(await self._upstream.send("GET", "/v0/meta/whoami", ACCOUNT, writes=False), wire.Me)

    def list_bases(self) -> AsyncIterator[wire.Base]:
        """Every base that the token sees. Source: list-bases."""

        async def fetch(offset: str | None) -> tuple[Sequence[wire.Base], str | None]:
            answer = await self._upstream.send("GET", "/v0/meta/bases", ACCOUNT, writes=False, query=_from(offset))
            page = unwrap(answer, wire.Bases)
            return page.bases, page.offset

        return iter_items(fetch, most=MAX_PAGES)

    async def get_base_schema(self, base_id: str) -> Sequence[wire.Table]:
        """The tables of a base with fields and views. Source: get-base-schema."""
        path = f"/v0/meta/bases/{_segment(base_id)}/tables"
        answer = await self._upstream.send("GET", path, *_charges(base_id), writes=False)
        return unwrap(answer, wire.Schema, BaseNotFound, BaseNotFound).tables

    async def list_records(
        self, base_id: str, table_id: str, *, view_id: str | None, page_size: int, offset: str | None
    ) -> wire.Records:
        """A page of a table or view, by field names. Source: list-records."""
        query = {"view": view_id, "offset": offset}
        given = [(name, value) for name, value in query.items() if value is not None]
        return await self._list(base_id, table_id, given, page_size)

    def list_records_created_since(self, base_id: str, table_id: str, since: datetime) -> AsyncIterator[wire.Record]:
        """The records made after an instant, with all that they hold.

        Source: airtable.com/developers/web/api/list-records and support.airtable.com/docs/formula-field-reference,
        read 2026-11.
        """
        # Floored to the second: a record too many is sorted out later, one too few would be made again.
        after = since.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        formula = f"IS_AFTER(CREATED_TIME(), DATETIME_PARSE('{after}'))"
        return self._filter(base_id, table_id, formula)

    async def existing_records(self, base_id: str, table_id: str, record_ids: Sequence[str]) -> set[str]:
        """Those of *record_ids* that are in that very table. Source: list-records."""
        found: set[str] = set()
        for start in range(0, len(record_ids), PAGE_SIZE):
            # By a filter, since reading a record by its identifier finds those of other tables too.
            tests = (f"RECORD_ID()='{record_id}'" for record_id in record_ids[start : start + PAGE_SIZE])
            async for record in self._filter(base_id, table_id, f"OR({','.join(tests)})"):
                found.add(record.id)
        return found

    async def get_record(self, base_id: str, table_id: str, record_id: str) -> wire.Row:
        """A record, of whichever table of the base. Source: get-record."""
        path = f"{_table(base_id, table_id)}/{record_id}"
        query = {"returnFieldsByFieldId": "true"}
        answer = await self._upstream.send("GET", path, *_charges(base_id), writes=False, query=query)
        return unwrap(answer, wire.Row, RecordNotFound, RecordNotFound)

    async def create_records(
        self, base_id: str, table_id: str, rows: Sequence[Values], *, typecast: bool
    ) -> Sequence[wire.Row]:
        """New records in order, all or none; *typecast* lets selects gain options. Source: create-records."""
        # ``typecast`` loosens every check of the whole request, so it is set only where options are to be made.
        body = {"records": [{"fields": row} for row in rows], "typecast": typecast, "returnFieldsByFieldId": True}
        answer = await self._write("POST", base_id, _table(base_id, table_id), body)
        return unwrap(answer, wire.Rows, TableNotFound).records

    async def update_record(self, base_id: str, table_id: str, record_id: str, values: Values) -> wire.Row:
        """A record after a change. Source: update-record."""
        path = f"{_table(base_id, table_id)}/{record_id}"
        body = {"fields": values, "typecast": False, "returnFieldsByFieldId": True}
        return unwrap(await self._write("PATCH", base_id, path, body), wire.Row)

    async def upload_attachment(self, base_id: str, record_id: str, field_id: str, file: Values) -> wire.Row:
        """A record with that field only, after *file* was appended to it. Source: upload-attachment."""
        path = f"/v0/{_segment(base_id)}/{record_id}/{field_id}/uploadAttachment"
        answer = await self._write("POST", base_id, path, file, host="content")
        return unwrap(answer, wire.Row)

    def _filter(self, base_id: str, table_id: str, formula: str) -> AsyncIterator[wire.Record]:
        query = [("filterByFormula", formula), ("returnFieldsByFieldId", "true")]

        async def fetch(offset: str | None) -> tuple[Sequence[wire.Record], str | None]:
            page = await self._list(base_id, table_id, [*query, *_from(offset)])
            return page.records, page.offset

        return iter_items(fetch, most=MAX_PAGES)

    async def _list(
        self, base_id: str, table_id: str, query: Sequence[tuple[str, Any]], most: int = PAGE_SIZE
    ) -> wire.Records:
        path = _table(base_id, table_id)

        async def fetch(size: int) -> UpstreamResponse:
            sized = [*query, ("pageSize", size)]
            return await self._upstream.send("GET", path, *_charges(base_id), writes=False, query=sized)

        return unwrap(await with_smaller_pages(fetch, most), wire.Records, TableNotFound)

    async def _write(self, method: str, base_id: str, path: str, body: Values, host: str = "base") -> UpstreamResponse:
        return await self._upstream.send(method, path, *_charges(base_id), writes=True, json=body, host=host)


def _charges(base_id: str) -> tuple[Charge, Charge]:
    """What a request to a base takes: of the base's budget, whoever asks, and of the account's."""
    # All connections that reach a base share its five requests a second.
    return Charge("base", scope_key=base_id), ACCOUNT


def _from(offset: str | None) -> list[tuple[str, str]]:
    return [("offset", offset)] if offset else []


def _table(base_id: str, table_id: str) -> str:
    return f"/v0/{_segment(base_id)}/{quote(table_id, safe='')}"


def _segment(base_id: str) -> str:
    """A base identifier as part of a path; words that the vendor has routes for are no bases."""
    # ``/v0/meta`` is a route of its own: no caller may get there by a base of that name.
    if not base_id.startswith("app"):
        raise BaseNotFound(f"{base_id} is no identifier of a base.", {"parameter": "base_id", "value": base_id})
    return quote(base_id, safe="")
