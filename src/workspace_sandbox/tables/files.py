"""The addresses that attachments can be had from for a while, and what is served there."""

import hashlib
from collections.abc import Iterator
from urllib.parse import quote

from aiohttp import web

from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.tables.model import Attachment, Base
from workspace_sandbox.tables.refusals import Refusal, not_found

PATH = "/v3/u/{until}/{attachment}/{signature}/{filename}"


def address(stage: Stage, attachment: Attachment) -> str:
    """Where *attachment* can be had from, until it expires; nobody is asked for a token there."""
    until = int((stage.clock.now() + stage.knobs["url_seconds"]) * 1000)
    path = PATH.format(
        until=until,
        attachment=attachment.id,
        signature=_signature(until, attachment.id),
        filename=_quoted(attachment.filename),
    )
    return stage.addresses.get("content", "https://content.airtable.com") + path


def serve(stage: Stage, bases: list[Base], request: web.Request) -> web.Response:
    """The bytes of a file whose address is genuine and has not expired."""
    given = request.match_info
    if not given["until"].isdecimal() or given["signature"] != _signature(int(given["until"]), given["attachment"]):
        raise not_found()
    if stage.clock.now() * 1000 >= int(given["until"]):
        raise Refusal(410, "GONE", envelope="bare")
    attachment = _find(bases, given["attachment"])
    headers = {"Content-Disposition": f"inline; filename*=UTF-8''{_quoted(attachment.filename)}"}
    return web.Response(body=attachment.bytes(), headers=headers | {"Content-Type": attachment.type})


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
