"""Records of any kind: their creator and creation time."""

from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.kit.errors import UpstreamUnexpected

StoredData = dict[str, Any]
"""A plan or the result of a step, as JSON in our own format. It is stored until the call has ended."""

RECORD_ID = "hs_object_id"

CREATOR_PROPERTIES = ("hs_object_source", "hs_object_source_id")
"""Properties with the source of a record and the app that created it."""

APP_SOURCE = "INTEGRATION"
"""The source of records created by an app, such as this service."""


def is_record_id(text: str) -> bool:
    """Return True if *text* has the form of a record's identifier, which is a number."""
    return text.isascii() and text.isdecimal()


def creator(record: vendor_models.Record) -> str | None:
    """Return the source of a record and the app that created it, or None if the vendor does not include them."""
    source = [record.properties.get(name) for name in CREATOR_PROPERTIES]
    return f"{source[0]} {source[1]}" if all(source) else None


def may_be_ours(record: vendor_models.Record, our_creator: str | None) -> bool:
    """Return True if an app created a record: ours, if its form is *our_creator*, or else any."""
    source = record.properties.get(CREATOR_PROPERTIES[0])
    if source is None:
        return True
    return source == APP_SOURCE if our_creator is None else creator(record) == our_creator


def parse_datetime(text: str) -> datetime:
    """Parse a time: ISO 8601, or milliseconds since the epoch."""
    try:
        moment = datetime.fromtimestamp(int(text) / 1000, UTC) if text.isdecimal() else datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as error:
        raise UpstreamUnexpected("The vendor returned a time in an unknown format.", private=text) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
