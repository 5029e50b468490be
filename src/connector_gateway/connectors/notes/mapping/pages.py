"""Pages: as they are to be, as they are kept, and as callers are told of them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.notes import casts, wire
from connector_gateway.connectors.notes.casts.from_vendor import plain_text
from connector_gateway.connectors.notes.mapping.people import Users
from connector_gateway.connectors.notes.mapping.properties import names, references, shown_schema, writable
from connector_gateway.connectors.notes.models import CreatedPage, FoundPage, UpdatedPage
from connector_gateway.kit.shapes import format_timestamp
from connector_gateway.kit.write_steps import StepInput

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""


def new_page(source: wire.DataSource, properties: Mapping[str, Any], blocks: Sequence[Kept], users: Users) -> Kept:
    """A page to be made in a data source with its first *blocks*, and the names of properties that are computed.

    ``statuses`` says what the vendor gives a status that is not written: it does not tell, but by default the first.
    """
    sent, skipped = writable(source.properties, properties, users)
    # A status that is not written gets its default too, and evidence knows that one.
    written = {uid: payload for uid, payload in sent.items() if payload != {"status": None}}
    statuses = {item.id: casts.to_vendor.options(item) for item in source.properties.values() if item.type == "status"}
    page = {
        "source_id": source.id,
        "properties": written,
        "references": references(source.properties, written),
        "children": list(blocks),
        "statuses": {uid: options[0].id for uid, options in statuses.items() if options and uid not in written},
    }
    return {"page": page, "skipped": skipped}


def updates(page: wire.Page, written: Mapping[str, Any], *, archived: bool | None) -> list[Kept]:
    """The requests of an update, in order: a page leaves the trash before it is written to, or enters it afterwards.

    What already is as it should be is not asked for: the vendor refuses to trash a page twice.
    """
    told = {"updated": names(page, written)}
    named = references(shown_schema(page), written)
    properties = [{"body": {"properties": written}, "references": named, "told": told}] if written else []
    moved = archived not in {None, page.in_trash}
    trash = [{"body": {"in_trash": archived}, "told": {"archived": archived}}] if moved else []
    return properties + trash if archived else trash + properties


def kept_page(page: wire.NewPage | wire.Page | wire.Reference) -> Kept:
    """What is kept of a page that was made; of one whose vendor failed over telling it, the identifier."""
    if isinstance(page, wire.Reference):
        return {"id": page.id}
    return {"id": page.id, "url": page.url, "created_time": stamp(page.created_time)}


def assumed_page(_: StepInput) -> Kept:
    """What a dry run takes for a page that was made."""
    return {"id": "new-page", "url": "", "created_time": stamp(datetime.fromtimestamp(0, UTC))}


def told_page(kept: Kept) -> Kept:
    """What callers are told of a page that was made when something else fails."""
    return {"page_id": kept["id"]}


def created_page(kept: Kept, planned: Kept) -> CreatedPage:
    """The result of a creation."""
    return CreatedPage(
        page_id=kept["id"],
        url=kept["url"],
        created_at=instant(kept["created_time"]),
        properties_written=len(planned["page"]["properties"]),
        properties_skipped=planned["skipped"],
    )


def kept_state(page: wire.PageState) -> Kept:
    """What is kept of a page that is changed: how it is now."""
    return {"id": page.id, "in_trash": page.in_trash, "last_edited_time": stamp(page.last_edited_time)}


def assumed_state(intent: StepInput) -> Kept:
    """What a dry run takes for a page that was changed; it was not, so nothing may be compared with it."""
    in_trash, epoch = bool(intent["body"].get("in_trash")), stamp(datetime.fromtimestamp(0, UTC))
    return {"id": intent["page_id"], "in_trash": in_trash, "last_edited_time": epoch, "assumed": True}


def told_change(kept: Kept) -> Kept:
    """What callers are told of a change when another one fails."""
    return {"page_id": kept["id"], **kept["told"]}


def updated_page(kept: Kept, planned: Kept) -> UpdatedPage:
    """The result of an update."""
    return UpdatedPage(
        page_id=kept["id"],
        updated=planned["names"],
        archived=kept["in_trash"],
        last_edited_at=instant(kept["last_edited_time"]),
    )


def found_page(page: wire.Page, matched_on: str) -> FoundPage:
    """A match of a search."""
    return FoundPage(page_id=page.id, title=title(page), matched_on=matched_on)


def title(page: wire.Page) -> str:
    """The text of a page's title property."""
    titles = [value.title for value in page.properties.values() if value.type == "title"]
    return plain_text(titles[0] or ()) if titles else ""


def stamp(moment: datetime) -> str:
    """An instant as it is kept, and as the vendor writes most of them: in UTC, to the millisecond."""
    return format_timestamp(moment)


def instant(text: str) -> datetime:
    """The instant of something that was kept."""
    return datetime.fromisoformat(text)
