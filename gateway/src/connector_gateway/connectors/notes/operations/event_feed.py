"""Observed changes."""

from connector_gateway.connectors.notes.client import REQUEST
from connector_gateway.connectors.notes.models import NotesEvent, ReadNotesEvents
from connector_gateway.connectors.notes.operations.cached_lookups import NotesCall
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests


@reads(
    "GET /events",
    requests=TypicalRequests(REQUEST, REQUEST, "authorisation"),
    examples=[lambda _: {"limit": 1}],
)
async def read_events(ctx: NotesCall, params: ReadNotesEvents) -> Page[NotesEvent]:
    """Read what changed: pages that were created and properties that were updated, oldest first.

    For the current state of pages, use ``notes_search_pages``.

    Changes are stored for 30 days, on the free plan for 7.
    A ``Warning`` header reports periods whose changes may be missing.
    """
    return await ctx.events.page(
        ctx.connection_id,
        NotesEvent,
        ctx.position,
        limit=params.limit,
        since=params.since,
        event_type=params.type,
        confirm=ctx.upstream.retrieve_me,
    )
