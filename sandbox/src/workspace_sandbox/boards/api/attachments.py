"""Routes of attachments, which are links or files on cards."""

from typing import Any
from urllib.parse import quote

from aiohttp import web

from workspace_sandbox.boards.arguments import FormFile
from workspace_sandbox.boards.computed_fields import ATTACHMENT, select_fields
from workspace_sandbox.boards.data.objects import Attachment, Card, resolve_position
from workspace_sandbox.boards.error_responses import MISSING_SCOPES, NOT_FOUND, ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

MAX_NAME_LENGTH = 256


def read_all(request: ApiRequest) -> Any:
    """Return the attachments of a card, or only its cover with a filter."""
    card, fields = request.card, request.arguments.fields()
    covers = request.arguments.raw("filter") == "cover"
    attachments = (one for one in card.attachments.values() if not covers or one.id == card.cover_id)
    return [select_fields(ATTACHMENT, one, fields) for one in attachments]


def read(request: ApiRequest) -> Any:
    """Return an attachment."""
    return select_fields(ATTACHMENT, _attachment(request, request.card), request.arguments.fields())


def create(request: ApiRequest) -> Any:
    """Attach a link or a file."""
    card, arguments = request.card, request.arguments
    file, url = arguments.raw("file"), arguments.text("url")
    name, mime = arguments.text("name"), arguments.text("mimeType")
    # Exactly one of the two. The Python library checks this before it sends a request.
    if isinstance(file, FormFile) == bool(url):
        raise ApiError(400, "must provide either url or file")
    if url and not url.startswith(("http://", "https://")):
        raise invalid("url")
    identifier, pos = (
        request.store.new_id(request.now),
        resolve_position([one.pos for one in card.attachments.values()], "bottom"),
    )
    if isinstance(file, FormFile):
        display_name = name or file.name
        download_url = f"{request.base}/1/cards/{card.id}/attachments/{identifier}/download/{quote(display_name)}"
        attachment = Attachment(
            identifier,
            display_name[:MAX_NAME_LENGTH],
            download_url,
            mime or file.type,
            request.author,
            pos,
            file.content,
        )
    else:
        attachment = Attachment(identifier, (name or url)[:MAX_NAME_LENGTH], url, mime, request.author, pos)
    card.attachments[attachment.id] = attachment
    if arguments.has_value("setCover") and arguments.flag("setCover"):
        card.cover_id = attachment.id
    request.store.record(request.author, "addAttachmentToCard", card, attachment=_describe(attachment))
    return select_fields(ATTACHMENT, attachment) | {"limits": {}}


def delete(request: ApiRequest) -> Any:
    """Delete an attachment."""
    card = request.card
    attachment = _attachment(request, card)
    del card.attachments[attachment.id]
    card.cover_id = None if card.cover_id == attachment.id else card.cover_id
    request.store.record(request.author, "deleteAttachmentFromCard", card, attachment=_describe(attachment))
    return {"limits": {}}


def download(request: ApiRequest) -> web.Response:
    """Return the content of a file. The key and the token must be in the header."""
    # Since 2021, this route does not accept credentials in the query, unlike all others ("Downloading attachments").
    if "key" in request.arguments or "token" in request.arguments:
        raise ApiError(401, MISSING_SCOPES)
    attachment = _attachment(request, request.card)
    if attachment.content is None:
        raise ApiError(404, NOT_FOUND)
    return web.Response(
        body=attachment.content, headers={"Content-Type": attachment.mime or "application/octet-stream"}
    )


def _attachment(request: ApiRequest, card: Card) -> Attachment:
    return require(card.attachments.get(request.path["attachment"].lower()), ApiError(404, NOT_FOUND))


def _describe(attachment: Attachment) -> dict[str, Any]:
    return {"id": attachment.id, "name": attachment.name, "url": attachment.url}
