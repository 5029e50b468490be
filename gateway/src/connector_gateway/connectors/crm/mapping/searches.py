"""Search requests."""

from collections.abc import Sequence
from typing import Any

from connector_gateway.connectors.crm import value_casts, vendor_models
from connector_gateway.connectors.crm.mapping.records import RECORD_ID
from connector_gateway.kit.errors import LossyCast
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.write_steps import StepInput

OWNER = "hubspot_owner_id"


def page_search(condition: StepInput, properties: Sequence[str], limit: int, after: str | None) -> dict[str, Any]:
    """Return a search in order of ids after *after*, which is independent of changes and of the vendor's cap."""
    conditions = [{"propertyName": RECORD_ID, "operator": "GT", "value": after}] if after else []
    return search_body([condition, *conditions], properties, limit)


def equals(described: vendor_models.Definition, value: str) -> dict[str, Any]:
    """Return the condition that a property has that value. Raises ``LossyCast`` if it cannot have it."""
    try:
        return {"propertyName": described.name, "operator": "EQ", "value": value_casts.filter_value(described, value)}
    except LossyCast as error:
        raise combine_errors([error]) from error


def owned_by(owner_ids: Sequence[str]) -> dict[str, Any]:
    """Return the condition that a record belongs to one of these owners."""
    return {"propertyName": OWNER, "operator": "IN", "values": list(owner_ids)}


def created_since(since: float) -> dict[str, Any]:
    """Return the condition that a record was created at that time or later."""
    return {"propertyName": "createdate", "operator": "GTE", "value": str(round(since * 1000))}


def newest_before(since: float) -> dict[str, Any]:
    """Return a search for the newest record created before that time."""
    return search_body([{**created_since(since), "operator": "LT"}], [], 1, descending=True)


def search_body(
    filters: Sequence[StepInput], properties: Sequence[str], limit: int, *, descending: bool = False
) -> dict[str, Any]:
    """Return the body of a search in order of the records' identifiers."""
    direction = "DESCENDING" if descending else "ASCENDING"
    return {
        "filterGroups": [{"filters": list(filters)}],
        "sorts": [{"propertyName": RECORD_ID, "direction": direction}],
        "properties": list(properties),
        "limit": limit,
    }
