"""Answers about what is attached to cards: links, and files with their bytes."""

from typing import Any
from urllib.parse import quote

from aiohttp import web

from workspace_sandbox.boards.arguments import Upload
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import ATTACHMENT, pick
from workspace_sandbox.boards.state import Attachment, Card, placed
from workspace_sandbox.boards.wire import MISSING_SCOPES, NOT_FOUND, Refusal, invalid
from workspace_sandbox.kit.refusals import require

LONGEST_NAME = 256


def read_all(ask: ApiRequest) -> Any:
    """What is attached to a card; with a filter, its cover alone."""
    card, wanted = ask.card, ask.arguments.fields()
    covers = ask.arguments.raw("filter") == "cover"
    shown = (one for one in card.attachments.values() if not covers or one.id == card.cover_id)
    return [pick(ATTACHMENT, one, wanted) for one in shown]


def read(ask: ApiRequest) -> Any:
    """One attachment."""
    return pick(ATTACHMENT, _attachment(ask, ask.card), ask.arguments.fields())


def create(ask: ApiRequest) -> Any:
    """Attach a link or a file."""
    card, arguments = ask.card, ask.arguments
    file, url = arguments.raw("file"), arguments.text("url")
    name, mime = arguments.text("name"), arguments.text("mimeType")
    # One of the two, and not both: the library for Python sees to it before it asks.
    if isinstance(file, Upload) == bool(url):
        raise Refusal(400, "must provide either url or file")
    if url and not url.startswith(("http://", "https://")):
        raise invalid("url")
    identifier, pos = ask.store.mint(ask.now), placed([one.pos for one in card.attachments.values()], "bottom")
    if isinstance(file, Upload):
        shown = name or file.name
        address = f"{ask.base}/1/cards/{card.id}/attachments/{identifier}/download/{quote(shown)}"
        made = Attachment(identifier, shown[:LONGEST_NAME], address, mime or file.type, ask.author, pos, file.content)
    else:
        made = Attachment(identifier, (name or url)[:LONGEST_NAME], url, mime, ask.author, pos)
    card.attachments[made.id] = made
    if arguments.given("setCover") and arguments.flag("setCover"):
        card.cover_id = made.id
    ask.store.record(ask.author, "addAttachmentToCard", card, attachment=_told(made))
    return pick(ATTACHMENT, made) | {"limits": {}}


def delete(ask: ApiRequest) -> Any:
    """Take an attachment off a card."""
    card = ask.card
    found = _attachment(ask, card)
    del card.attachments[found.id]
    card.cover_id = None if card.cover_id == found.id else card.cover_id
    ask.store.record(ask.author, "deleteAttachmentFromCard", card, attachment=_told(found))
    return {"limits": {}}


def download(ask: ApiRequest) -> web.Response:
    """The bytes of a file; key and token have to come in the header."""
    # Since 2021 the address takes no credentials in the query, as all others do ("Downloading attachments").
    if "key" in ask.arguments or "token" in ask.arguments:
        raise Refusal(401, MISSING_SCOPES)
    found = _attachment(ask, ask.card)
    if found.content is None:
        raise Refusal(404, NOT_FOUND)
    return web.Response(body=found.content, headers={"Content-Type": found.mime or "application/octet-stream"})


def _attachment(ask: ApiRequest, card: Card) -> Attachment:
    return require(card.attachments.get(ask.path["attachment"].lower()), Refusal(404, NOT_FOUND))


def _told(shown: Attachment) -> dict[str, Any]:
    return {"id": shown.id, "name": shown.name, "url": shown.url}
