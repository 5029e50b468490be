"""Records of any kind: who made them, and when."""

from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.crm import wire
from connector_gateway.kit.errors import UpstreamUnexpected

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""

RECORD_ID = "hs_object_id"

MADE_BY = ("hs_object_source", "hs_object_source_id")
"""Properties that tell how a record was made, and by which application."""

APPLICATION = "INTEGRATION"
"""The value for records that an application made, such as this service."""


def is_record_id(text: str) -> bool:
    """Whether *text* may be the identifier of a record: the portal numbers them."""
    return text.isascii() and text.isdecimal()


def creator(record: wire.Record) -> str | None:
    """How a record was made, and by which application; None if the vendor does not tell."""
    told = [record.properties.get(name) for name in MADE_BY]
    return f"{told[0]} {told[1]}" if all(told) else None


def may_be_ours(record: wire.Record, known: str | None) -> bool:
    """Whether an application made a record: ours, as far as it is *known* how the vendor tells that."""
    source = record.properties.get(MADE_BY[0])
    if source is None:
        return True
    return source == APPLICATION if known is None else creator(record) == known


def instant(text: str) -> datetime:
    """The instant of a value that tells one: ISO 8601, or milliseconds since the epoch."""
    try:
        moment = datetime.fromtimestamp(int(text) / 1000, UTC) if text.isdecimal() else datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as fault:
        raise UpstreamUnexpected("The application told a time in an unknown form.", private=text) from fault
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
