"""Gaps in feeds: the periods in which events may be missing."""

from typing import Any

from sqlalchemy import Row, Select, or_, select

from connector_gateway.kit.clock import utc_datetime
from connector_gateway.storage.sql import tables

MAX_WARNINGS = 5
"""The maximum number of gaps in one response or message. The latest ones are listed."""

_gaps = tables.gaps.c


def select_gaps_since(connection_id: str, start: float, channel: str | None) -> Select[Any]:
    """Select the gaps that end at or after *start*, in epoch seconds, restricted to *channel* if given."""
    query = _latest(connection_id).where(_gaps.until_at >= start)
    return query if channel is None else query.where(or_(_gaps.channel.is_(None), _gaps.channel == channel))


def select_gaps_recorded_since(connection_id: str, start: float) -> Select[Any]:
    """Select the gaps that were recorded at or after *start*, in epoch seconds."""
    return _latest(connection_id).where(_gaps.noted_at >= start)


def describe_gap(gap: Row[Any]) -> str:
    """Return the warning about a gap."""
    where = f" in channel {gap.channel}" if gap.channel else ""
    when = f"between {format_time(gap.since_at)} and {format_time(gap.until_at)}"
    return f"Events {when}{where} may be missing: {gap.why} See run {gap.run_id}."


def format_time(seconds: float) -> str:
    """Return epoch seconds as ISO 8601 text, to the second."""
    return utc_datetime(seconds).isoformat(timespec="seconds").replace("+00:00", "Z")


def _latest(connection_id: str) -> Select[Any]:
    latest = select(tables.gaps).where(_gaps.connection_id == connection_id)
    return latest.order_by(_gaps.until_at.desc()).limit(MAX_WARNINGS)
