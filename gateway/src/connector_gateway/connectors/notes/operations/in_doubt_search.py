"""Recognition of the results of writes."""

from collections.abc import Mapping, Sequence
from typing import Any

from connector_gateway.connectors.notes import mapping, value_casts, vendor_models
from connector_gateway.connectors.notes.operations.cached_lookups import NotesCall, complete_value
from connector_gateway.kit.errors import OutcomeUnknown
from connector_gateway.kit.write_steps import StepInput


async def is_page(ctx: NotesCall, page: vendor_models.Page, intent: StepInput, *, appended: bool) -> bool:
    """Return True if a page is that of *intent*, with its first blocks, and no others unless some were *appended*."""
    if not mapping.in_doubt_matching.is_new_page(page, intent) or not await has_all_values(
        ctx, page, intent["properties"]
    ):
        return False
    blocks = [block async for block in ctx.upstream.retrieve_block_children(page.id)]
    first = blocks[: len(intent["children"])] if appended else blocks
    return mapping.in_doubt_matching.is_body(first, intent["children"])


async def has_all_values(ctx: NotesCall, page: vendor_models.Page, written: Mapping[str, Any]) -> bool:
    """Return True if a page has all values of *written*. Truncated values are read completely."""
    if not mapping.in_doubt_matching.has_values(page, written):
        return False
    values = mapping.in_doubt_matching.by_id(page)
    for property_id, payload in written.items():
        for kind, content in payload.items():
            if value_casts.from_vendor.is_truncated(values[property_id]):
                complete = await complete_value(ctx, page, property_id)
                if complete is None or not value_casts.write_comparison.equals_written(complete, kind, content):
                    return False
    return True


def require_complete(rows: Sequence[vendor_models.Page]) -> Sequence[vendor_models.Page]:
    """Return *rows*. Raises ``OutcomeUnknown`` if the vendor does not list all of them."""
    if not rows:
        raise OutcomeUnknown(
            "More pages were created within one minute than the vendor lists, so this call's page cannot be identified."
        )
    return rows
