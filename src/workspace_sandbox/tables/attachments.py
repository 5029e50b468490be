"""Attachments: uploaded, and had from addresses that are good for a while."""

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from aiohttp import web

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.tables import queries
from workspace_sandbox.tables.access import Authorisations
from workspace_sandbox.tables.call import Call
from workspace_sandbox.tables.state import Attachment, Base
from workspace_sandbox.tables.wire import Refusal, forbidden, not_found

SAMPLE_PATH = "/samples/arrivals.csv"
"""A public file for clients to attach, which the vendor does not have."""

SAMPLE = "container,port,arrives\r\nBFJU4410927,Bergen,2026-11-22\r\nBFJU4410931,Ålesund,2026-11-24\r\n"
PATH = "/v3/u/{until}/{attachment}/{signature}/{filename}"


def upload_attachment(call: Call) -> dict[str, Any]:
    """Append a file to a cell, wherever in the base the record is; answered with field ids."""
    home = require(call.base.home(call.path["record"]), not_found())
    table, record = home
    if table.synced:
        raise forbidden()
    column = queries.column_of(table, call.path["field"])
    call.workspace.upload(call.base, table, record, column, call.body, user=call.access.user)
    # The sample of this route has identifiers where all other routes answer with names.
    return call.reader.record(table, record, by_id=True, only=[column])


def address(stage: EmulatorContext, attachment: Attachment) -> str:
    """Where *attachment* can be had from, until it expires; nobody is asked for a token there."""
    until = int((stage.clock.now() + stage.knobs["url_seconds"]) * 1000)
    path = PATH.format(
        until=until,
        attachment=attachment.id,
        signature=_signature(until, attachment.id),
        filename=_quoted(attachment.filename),
    )
    return stage.addresses.get("content", "https://content.airtable.com") + path


async def serve(authorisations: Authorisations, request: web.Request) -> web.Response:
    """The bytes of a file whose address is genuine and has not expired."""
    given, stage = request.match_info, authorisations.stage
    if not given["until"].isdecimal() or given["signature"] != _signature(int(given["until"]), given["attachment"]):
        raise not_found()
    # The vendor's addresses end after some hours ("Attachments"): whoever stores them finds them dead.
    if stage.clock.now() * 1000 >= int(given["until"]):
        raise Refusal(410, "GONE", envelope="bare")
    attachment = _find(authorisations.workspace.bases, given["attachment"])
    headers = {"Content-Disposition": f"inline; filename*=UTF-8''{_quoted(attachment.filename)}"}
    return web.Response(body=attachment.bytes(), headers=headers | {"Content-Type": attachment.type})


async def serve_sample(_: web.Request) -> web.Response:
    """The file at ``SAMPLE_PATH``."""
    return web.Response(text=SAMPLE, content_type="text/csv", charset="utf-8")


def _quoted(filename: str) -> str:
    return quote(filename, safe="", errors="replace")


def _signature(until: int, identifier: str) -> str:
    return hashlib.sha256(f"{until}/{identifier}".encode()).hexdigest()[:32]


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
