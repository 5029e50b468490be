"""The state of a data source between polls."""

from dataclasses import dataclass

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.events import PollContext

NotesWatch = PollContext[NotesClient]

SOURCES = "source"
"""The scope of the snapshots of data sources. The scope of a page's snapshot is its data source."""

MINUTE_SECONDS = 60.0

OVERLAP_SECONDS = 120.0
"""Seconds by which the vendor's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """The stored state of a data source."""

    since: float
    """Creation time from which on rows without a snapshot are new."""

    watermark: float
    """Start of the last poll that returned rows. Earlier edits are known."""

    reached: str | None = ""
    """Creation time of the last row of the first full read, which goes newest first. None once it is complete."""

    missed: float = 0.0
    """Time up to which edits were missed because there were more than the vendor lists."""

    gone: bool = False
    """Whether the data source is no longer shared."""

    unseen_from: float | None = None
    """Start of the time in which edits were unobserved, until the first full read is complete."""


def initial_state(watch: NotesWatch, source: vendor_models.DataSource) -> SourceState:
    """Return the initial state of a data source seen for the first time.

    Rows are new if they were created after the watch began, or after the last listing of data sources if there was one.
    If the source itself was created after that listing, all its rows are new.
    Rows of the boundary minute count as new: a superfluous event is harmless, but a missing one would be lost.
    """
    now, began = watch.clock.now(), minute_of(began_at(watch))
    listed_at = watch.state.get("listed_at")
    if listed_at is None:
        return SourceState(since=began, watermark=now, unseen_from=began)
    shared = minute_of(listed_at) - OVERLAP_SECONDS
    return SourceState(since=0.0 if source.created_time.timestamp() >= shared else max(began, shared), watermark=now)


def began_at(watch: NotesWatch) -> float:
    """Return the start of the watch by the vendor's clock."""
    began: float | None = watch.state.get("began_at", watch.behind_since)
    return (watch.clock.now() if began is None else began) + float(watch.state.get("ahead", 0.0))


def minute_of(at: float) -> float:
    """Round a timestamp down to the minute, the vendor's precision."""
    return at - at % MINUTE_SECONDS
