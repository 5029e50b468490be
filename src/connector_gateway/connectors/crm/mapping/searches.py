"""What the search is asked."""

from collections.abc import Sequence
from typing import Any

from connector_gateway.connectors.crm import casts, wire
from connector_gateway.connectors.crm.mapping.records import RECORD_ID
from connector_gateway.kit.errors import LossyCast
from connector_gateway.kit.errors.aggregation import combine_errors
from connector_gateway.kit.write_steps import StepInput

OWNER = "hubspot_owner_id"


def page_search(condition: StepInput, properties: Sequence[str], limit: int, after: str | None) -> dict[str, Any]:
    """A search in order of ids that goes on behind *after*, so that neither changes nor the vendor's cap matter."""
    behind = [{"propertyName": RECORD_ID, "operator": "GT", "value": after}] if after else []
    return search_body([condition, *behind], properties, limit)


def equals(described: wire.Definition, value: str) -> dict[str, Any]:
    """The condition that a property has that value; ``LossyCast`` if it cannot have it."""
    try:
        return {"propertyName": described.name, "operator": "EQ", "value": casts.filter_value(described, value)}
    except LossyCast as refusal:
        raise combine_errors([refusal]) from refusal


def owned_by(owner_ids: Sequence[str]) -> dict[str, Any]:
    """The condition that a record belongs to one of these owners."""
    return {"propertyName": OWNER, "operator": "IN", "values": list(owner_ids)}


def made_since(since: float) -> dict[str, Any]:
    """The condition that a record was made at that time or later."""
    return {"propertyName": "createdate", "operator": "GTE", "value": str(round(since * 1000))}


def newest_before(since: float) -> dict[str, Any]:
    """A search for the newest record made before that time."""
    return search_body([{**made_since(since), "operator": "LT"}], [], 1, descending=True)


def search_body(
    filters: Sequence[StepInput], properties: Sequence[str], limit: int, *, descending: bool = False
) -> dict[str, Any]:
    """The body of a search, by the identifiers of the records."""
    direction = "DESCENDING" if descending else "ASCENDING"
    return {
        "filterGroups": [{"filters": list(filters)}],
        "sorts": [{"propertyName": RECORD_ID, "direction": direction}],
        "properties": list(properties),
        "limit": limit,
    }
