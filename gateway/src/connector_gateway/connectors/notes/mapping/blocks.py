"""The blocks of a page's body."""

from collections.abc import Sequence
from typing import Any

from connector_gateway.connectors.notes.mapping.in_doubt_matching import is_run, signatures
from connector_gateway.connectors.notes.mapping.pages import StoredData
from connector_gateway.connectors.notes.models import BLOCK_KINDS
from connector_gateway.connectors.notes.value_casts.to_vendor import rich_text
from connector_gateway.kit.errors import GatewayError, InvalidParameters, UnsupportedBlock
from connector_gateway.kit.errors.combined_errors import combine_errors

BLOCKS_PER_REQUEST = 100

BYTES_PER_REQUEST = 400_000
"""Bytes of text per request. The vendor's limit is 500 KB, which includes the JSON around the text."""


def block_groups(children: Sequence[Any]) -> list[list[dict[str, Any]]]:
    """Return the vendor's form of body blocks in groups of one request each, at least one group.

    Raises ``UnsupportedBlock`` or ``InvalidParameters`` with all invalid blocks.
    """
    groups: list[list[dict[str, Any]]] = [[]]
    violations: list[GatewayError] = []
    size = 0
    for index, child in enumerate(children):
        try:
            converted, weight = block(index, child)
        except (UnsupportedBlock, InvalidParameters) as error:
            violations.append(error)
            continue
        if len(groups[-1]) == BLOCKS_PER_REQUEST or size + weight > BYTES_PER_REQUEST:
            groups.append([])
            size = 0
        groups[-1].append(converted)
        size += weight
    if violations:
        raise combine_errors(violations)
    return groups


def block(index: int, child: Any) -> tuple[dict[str, Any], int]:
    """Return the vendor's form of one body block, and its approximate size in bytes."""
    described = {"type": "paragraph", "text": child} if isinstance(child, str) else child
    where = f"children.{index}"
    if not isinstance(described, dict):
        raise _no_block(where, child, "Should be text or a block")
    kind = described.get("type")
    if kind not in BLOCK_KINDS:
        raise UnsupportedBlock(
            f"{where} has a type other than {', '.join(BLOCK_KINDS)}.",
            {"parameter": f"{where}.type", "index": index, "value": kind, "allowed": list(BLOCK_KINDS)},
        )
    if described.keys() != {"type", "text"} or not isinstance(described["text"], str):
        raise _no_block(
            f"{where}.text", described.get("text"), "Should be a string, and the block's only field other than type"
        )
    try:
        content = {"rich_text": rich_text(described["text"])}
    except ValueError as error:
        raise _no_block(f"{where}.text", described["text"], f"Cannot be written: {error}") from error
    weight = 200 + len(described["text"].encode()) + 80 * len(content["rich_text"])
    return {"object": "block", "type": kind, kind: content}, weight


def _no_block(where: str, value: Any, message: str) -> InvalidParameters:
    return InvalidParameters(f"{where} is not valid.", {"parameter": where, "message": message, "value": value})


def append_steps(page_id: str, groups: Sequence[Sequence[StoredData]]) -> list[StoredData]:
    """Return the append steps after the first of *groups*, each with its position.

    ``unique`` means that the same blocks do not occur earlier on the page, so content alone identifies them.
    """
    steps: list[StoredData] = []
    above = list(groups[0])
    for group in groups[1:]:
        unique = not is_run(signatures(group), signatures(above))
        steps.append({"page_id": page_id, "start": len(above), "children": list(group), "unique": unique})
        above += group
    return steps
