"""What is known of a data source between polls."""

from dataclasses import dataclass

from connector_gateway.connectors.notes import wire
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.events import PollContext

NotesWatch = PollContext[NotesClient]

SOURCES = "source"
"""The scope in which data sources are remembered; the scope of a page is its data source."""

MINUTE_SECONDS = 60.0

OVERLAP_SECONDS = 120.0
"""How far the vendor's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """What is remembered of a data source."""

    since: float
    """Rows that are not remembered are new if they were created from then on."""

    watermark: float
    """When the last poll began that found anything; edits from before are known."""

    reached: str | None = ""
    """The creation of the row up to which rows were read for the first time, newest first; None after the last one."""

    missed: float = 0.0
    """Until when more was edited than could be listed."""

    gone: bool = False
    """Whether it is no longer shared."""

    unseen_from: float | None = None
    """From when on edits of rows are changes that nobody saw, until all rows have been read for the first time."""


def initial_state(watch: NotesWatch, source: wire.DataSource) -> SourceState:
    """What to remember of a data source seen for the first time.

    Rows are new that were made since the watch began; where data sources were listed before, since that was done;
    where it was made since then itself, all. Rows of the very minute may have been there before, but count as new:
    an event too many is of a page that was just made, and one too few would be lost for good.
    """
    now, began = watch.clock.now(), minute_of(began_at(watch))
    listed_at = watch.state.get("listed_at")
    if listed_at is None:
        return SourceState(since=began, watermark=now, unseen_from=began)
    shared = minute_of(listed_at) - OVERLAP_SECONDS
    return SourceState(since=0.0 if source.created_time.timestamp() >= shared else max(began, shared), watermark=now)


def began_at(watch: NotesWatch) -> float:
    """When the watch began, by the vendor's clock."""
    began: float | None = watch.state.get("began_at", watch.behind_since)
    return (watch.clock.now() if began is None else began) + float(watch.state.get("ahead", 0.0))


def minute_of(at: float) -> float:
    """The beginning of the minute, which is all that the vendor tells of an instant."""
    return at - at % MINUTE_SECONDS
