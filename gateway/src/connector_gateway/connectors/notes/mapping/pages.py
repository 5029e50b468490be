"""Pages: their planned, stored and public forms."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.notes import value_casts, vendor_models
from connector_gateway.connectors.notes.mapping.people import Users
from connector_gateway.connectors.notes.mapping.properties import (
    names,
    references,
    schema_of_page,
    to_vendor_properties,
)
from connector_gateway.connectors.notes.models import CreatedPage, FoundPage, UpdatedPage
from connector_gateway.connectors.notes.value_casts.from_vendor import plain_text
from connector_gateway.kit.models import format_timestamp
from connector_gateway.kit.write_steps import StepInput

StoredData = dict[str, Any]
"""A plan or the result of a step, as JSON in our own format. It is stored until the call has ended."""


def new_page(
    source: vendor_models.DataSource, properties: Mapping[str, Any], blocks: Sequence[StoredData], users: Users
) -> StoredData:
    """Plan a page in a data source with its first *blocks*. Also return the names of computed properties.

    ``statuses`` contains the default statuses. The vendor does not document them; they are usually the first option.
    """
    sent, skipped = to_vendor_properties(source.properties, properties, users)
    # An unwritten status gets its default too, which the evidence expects.
    written = {uid: payload for uid, payload in sent.items() if payload != {"status": None}}
    statuses = {
        item.id: value_casts.to_vendor.options(item) for item in source.properties.values() if item.type == "status"
    }
    page = {
        "source_id": source.id,
        "properties": written,
        "references": references(source.properties, written),
        "children": list(blocks),
        "statuses": {uid: options[0].id for uid, options in statuses.items() if options and uid not in written},
    }
    return {"page": page, "skipped": skipped}


def updates(page: vendor_models.Page, written: Mapping[str, Any], *, archived: bool | None) -> list[StoredData]:
    """Return the requests of an update, in order: restore before writing, trash after it.

    Requests without effect are omitted, because the vendor rejects trashing a page twice.
    """
    public = {"updated": names(page, written)}
    referenced = references(schema_of_page(page), written)
    properties = [{"body": {"properties": written}, "references": referenced, "told": public}] if written else []
    moved = archived not in {None, page.in_trash}
    trash = [{"body": {"in_trash": archived}, "told": {"archived": archived}}] if moved else []
    return properties + trash if archived else trash + properties


def stored_page(page: vendor_models.NewPage | vendor_models.Page | vendor_models.Reference) -> StoredData:
    """Return the stored form of a created page: only the identifier if the vendor failed to return the page."""
    if isinstance(page, vendor_models.Reference):
        return {"id": page.id}
    return {"id": page.id, "url": page.url, "created_time": to_timestamp(page.created_time)}


def dry_run_page(_: StepInput) -> StoredData:
    """Return the assumed result of creating a page, for dry runs."""
    return {"id": "new-page", "url": "", "created_time": to_timestamp(datetime.fromtimestamp(0, UTC))}


def public_page(stored: StoredData) -> StoredData:
    """Return the part of a created page that is included in the error when a later step fails."""
    return {"page_id": stored["id"]}


def created_page(stored: StoredData, planned: StoredData) -> CreatedPage:
    """Return the result of a creation."""
    return CreatedPage(
        page_id=stored["id"],
        url=stored["url"],
        created_at=parse_timestamp(stored["created_time"]),
        properties_written=len(planned["page"]["properties"]),
        properties_skipped=planned["skipped"],
    )


def stored_state(page: vendor_models.PageState) -> StoredData:
    """Return the stored form of a changed page: its current state."""
    return {"id": page.id, "in_trash": page.in_trash, "last_edited_time": to_timestamp(page.last_edited_time)}


def dry_run_state(intent: StepInput) -> StoredData:
    """Return the assumed result of changing a page, for dry runs. It did not change, so it must not be compared."""
    in_trash, epoch = bool(intent["body"].get("in_trash")), to_timestamp(datetime.fromtimestamp(0, UTC))
    return {"id": intent["page_id"], "in_trash": in_trash, "last_edited_time": epoch, "assumed": True}


def public_change(stored: StoredData) -> StoredData:
    """Return the part of a change that is included in the error when a later step fails."""
    return {"page_id": stored["id"], **stored["told"]}


def updated_page(stored: StoredData, planned: StoredData) -> UpdatedPage:
    """Return the result of an update."""
    return UpdatedPage(
        page_id=stored["id"],
        updated=planned["names"],
        archived=stored["in_trash"],
        last_edited_at=parse_timestamp(stored["last_edited_time"]),
    )


def matched_page(page: vendor_models.Page, matched_on: str) -> FoundPage:
    """Return a match of a search."""
    return FoundPage(page_id=page.id, title=title(page), matched_on=matched_on)


def title(page: vendor_models.Page) -> str:
    """Return the text of a page's title property."""
    titles = [value.title for value in page.properties.values() if value.type == "title"]
    return plain_text(titles[0] or ()) if titles else ""


def to_timestamp(moment: datetime) -> str:
    """Format a datetime for storage, in the vendor's most common form: UTC, with milliseconds."""
    return format_timestamp(moment)


def parse_timestamp(text: str) -> datetime:
    """Parse a stored datetime."""
    return datetime.fromisoformat(text)
