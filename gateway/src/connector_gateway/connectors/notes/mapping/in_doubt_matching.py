"""Recognition of the results of writes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from connector_gateway.connectors.notes import value_casts, vendor_models
from connector_gateway.connectors.notes.mapping.pages import StoredData
from connector_gateway.connectors.notes.models import BLOCK_KINDS
from connector_gateway.connectors.notes.value_casts.from_vendor import plain_text
from connector_gateway.kit.write_steps import StepInput

Signature = tuple[str, str, bool]
"""The signature of a block, equal for a written and a read block: its kind, its text, and whether it has children."""


def by_id(page: vendor_models.Page) -> dict[str, vendor_models.Value]:
    """Return the property values of a page by id, which renaming does not change."""
    return {value.id: value for value in page.properties.values()}


def has_values(page: vendor_models.Page, written: Mapping[str, Any]) -> bool:
    """Return True if a page has all values of *written*, the vendor's form by property id."""
    values = by_id(page)
    return all(
        property_id in values and value_casts.write_comparison.equals_written(values[property_id], kind, content)
        for property_id, payload in written.items()
        for kind, content in payload.items()
    )


def is_new_page(page: vendor_models.Page, expected: StepInput) -> bool:
    """Return True if a page has the expected values and nothing else: no other value, icon or cover."""
    remaining = [value for property_id, value in by_id(page).items() if property_id not in expected["properties"]]
    return (
        page.icon is None
        and page.cover is None
        and has_values(page, expected["properties"])
        and all(
            value_casts.write_comparison.is_default(value, expected["statuses"].get(value.id)) for value in remaining
        )
    )


def is_body(blocks: Sequence[vendor_models.Block], expected: Sequence[StoredData]) -> bool:
    """Return True if the blocks of a page are exactly those of *expected*."""
    return [signature(block) for block in blocks] == [signature_written(block) for block in expected]


def signature(block: vendor_models.Block) -> Signature:
    """Return the signature of a block of a page. Kinds that are never written have only their name."""
    content: vendor_models.Text | None = getattr(block, block.type) if block.type in BLOCK_KINDS else None
    return block.type, plain_text(content.rich_text) if content else "", block.has_children


def signature_written(block: StoredData) -> Signature:
    """Return the signature of a written block."""
    kind = block["type"]
    return kind, value_casts.write_comparison.written_text(block[kind]["rich_text"]), False


def signatures(blocks: Iterable[StoredData]) -> list[Signature]:
    """Return the signatures of written blocks."""
    return [signature_written(block) for block in blocks]


def is_run(run: Sequence[Signature], blocks: Sequence[Signature]) -> bool:
    """Return True if *run* is a contiguous part of *blocks*."""
    return any(blocks[at : at + len(run)] == run for at in range(len(blocks) - len(run) + 1))


def is_appended(ours: Sequence[Signature], expected: StepInput) -> bool:
    """Return True if a page has more of our blocks than before, so that the request was carried out.

    The vendor appends the blocks of a request all together or not at all. If people removed or moved some of our
    blocks, the content identifies them, unless the same content occurs earlier on the page.
    """
    return len(ours) > expected["start"] or (expected["unique"] and is_run(signatures(expected["children"]), ours))
