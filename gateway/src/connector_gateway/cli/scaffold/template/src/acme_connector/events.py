"""Observed changes: the poll of the vendor's feed, and the operation that reads what was observed."""

from typing import Annotated, Literal

from pydantic import Field

from acme_connector.client import AcmeClient
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.events import EventSource, Observation, PollContext, Snapshot
from connector_gateway.kit.models import Cursor, Page, Params, Result, UtcDatetime
from connector_gateway.kit.operation import reads

FEED, POSITION = "feed", "position"
"""Scope and name of the snapshot with the position in the feed."""


async def poll(watch: PollContext[AcmeClient]) -> None:
    """Read the feed from the last position. The first poll only stores the current one."""
    position = (await watch.snapshots(FEED)).get(POSITION)
    has_more = True
    while has_more:
        page = await watch.upstream.list_changes(position)
        observations = [
            # The identity is equal whenever and however a change is observed, so no change is reported twice.
            Observation((change.id,), f"item.{change.kind}", {"item_id": change.item_id})
            for change in page.changes
        ]
        position, has_more = page.position, page.has_more
        # Stored together: a process that dies in between neither loses nor repeats a change.
        await watch.commit(observations, [Snapshot(FEED, POSITION, position)])


EVENTS = EventSource(poll=poll, poll_interval_seconds=60.0)


class ReadAcmeEvents(Params):
    """The requested page of events."""

    since: UtcDatetime | None = None
    type: Literal["item.created"] | None = None
    """Only events of this type."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None


class AcmeEvent(Result):
    """An observed change."""

    event_id: str
    type: str
    item_id: str
    observed_at: UtcDatetime


@reads("GET /events", examples=[lambda _: {"limit": 1}])
async def read_events(ctx: OperationContext[AcmeClient], params: ReadAcmeEvents) -> Page[AcmeEvent]:
    """Read what changed, oldest first."""
    return await ctx.events.page(
        ctx.connection_id,
        AcmeEvent,
        ctx.position,
        limit=params.limit,
        since=params.since,
        event_type=params.type,
        confirm=ctx.upstream.get_account,
    )
