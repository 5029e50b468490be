"""Attachments: uploads, and downloads from URLs that expire."""

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.access import AirtableOAuth
from workspace_sandbox.tables.data import record_queries
from workspace_sandbox.tables.data.state import Attachment, Base
from workspace_sandbox.tables.error_responses import ApiError, forbidden, not_found
from workspace_sandbox.tables.request import ApiRequest

SAMPLE_PATH = "/samples/arrivals.csv"
"""The path of a public sample file that clients can attach. Airtable has no such file."""

SAMPLE = "container,port,arrives\r\nBFJU4410927,Bergen,2026-11-22\r\nBFJU4410931,Ålesund,2026-11-24\r\n"
PATH = "/v3/u/{until}/{attachment}/{signature}/{filename}"


def upload_attachment(request: ApiRequest) -> dict[str, Any]:
    """Append a file to a cell of any record in the base. The response has field ids."""
    location = require(request.base.find_record(request.path["record"]), not_found())
    table, record = location
    if table.synced:
        raise forbidden()
    column = record_queries.get_column(table, request.path["field"])
    request.workspace.upload(request.base, table, record, column, request.body, user=request.access.user)
    # The documented response of this route has ids where all other routes have names.
    return request.reader.record(table, record, by_id=True, only=[column])


def attachment_url(context: EmulatorContext, attachment: Attachment) -> str:
    """Return the URL of *attachment* until it expires. It works without a token."""
    expires_at = int((context.clock.now() + context.knobs["url_seconds"]) * 1000)
    path = PATH.format(
        until=expires_at,
        attachment=attachment.id,
        signature=_signature(expires_at, attachment.id),
        filename=_quote(attachment.filename),
    )
    return context.addresses.get("content", "https://content.airtable.com") + path


async def serve(authorisations: AirtableOAuth, request: web.Request) -> web.Response:
    """Return the bytes of a file if its URL is genuine and has not expired."""
    params, context = request.match_info, authorisations.context
    if not params["until"].isdecimal() or params["signature"] != _signature(int(params["until"]), params["attachment"]):
        raise not_found()
    # The vendor's URLs expire after some hours ("Attachments"), so a stored one stops working.
    if context.clock.now() * 1000 >= int(params["until"]):
        raise ApiError(410, "GONE", envelope="bare")
    attachment = _find(authorisations.workspace.bases, params["attachment"])
    headers = {"Content-Disposition": f"inline; filename*=UTF-8''{_quote(attachment.filename)}"}
    return web.Response(body=attachment.bytes(), headers=headers | {"Content-Type": attachment.type})


async def serve_sample(_: web.Request) -> web.Response:
    """Return the file at ``SAMPLE_PATH``."""
    return web.Response(text=SAMPLE, content_type="text/csv", charset="utf-8")


def _quote(filename: str) -> str:
    return quote(filename, safe="", errors="replace")


def _signature(expires_at: int, identifier: str) -> str:
    return hashlib.sha256(f"{expires_at}/{identifier}".encode()).hexdigest()[:32]


def _find(bases: list[Base], identifier: str) -> Attachment:
    cells: Iterator[list[Attachment]] = (
        record.cells.get(field.id, [])
        for base in bases
        for table in base.tables
        for field in table.fields
        if field.type == "multipleAttachments"
        for record in table.records.values()
    )
    for attachments in cells:
        for attachment in attachments:
            if attachment.id == identifier:
                return attachment
    raise not_found()
