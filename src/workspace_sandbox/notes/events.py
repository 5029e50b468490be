"""What is told of changes: the parts that they name, and what is left of several."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workspace_sandbox.notes.state import Change, Comment, Entity, Page, Property, Workspace

PARTS = {
    "page.content_updated": "updated_blocks",
    "page.properties_updated": "updated_properties",
    "data_source.schema_updated": "updated_properties",
}
"""Where an event names the parts that are not as they were; values are never told."""

APART = {"page.locked", "page.unlocked", "comment.created", "comment.updated", "comment.deleted"}
"""What is told at once, and never gathered."""

FATES = {"created", "deleted", "undeleted"}


def blocks(kind: str, uids: Iterable[str]) -> Mapping[str, Any]:
    """Blocks, or what counts as one, as parts of an event."""
    return {uid: {"id": uid, "type": kind} for uid in uids}


def columns(action: str, props: Iterable[Property]) -> Mapping[str, Any]:
    """Columns as parts of an event, with what was done to them."""
    return {prop.wire_id: {"id": prop.wire_id, "name": prop.name, "action": action} for prop in props}


def data(workspace: Workspace, change: Change) -> dict[str, Any]:
    """What an event says beyond what happened to what: where that lies, and which parts of it changed."""
    parts = PARTS.get(change.type)
    pages = (upper.id for upper in workspace.lineage(change.entity) if isinstance(upper, Page))
    within = {"page_id": next(pages)} if isinstance(change.entity, Comment) else {}
    return (
        within
        | {"parent": _parent(workspace, change.entity)}
        | ({parts: list(change.updated.values())} if parts else {})
    )


def _parent(workspace: Workspace, entity: Entity) -> dict[str, Any]:
    """Where *entity* lies; a data source, as its database does."""
    parent = entity.parent
    if entity.id in workspace.sources:
        parent = workspace.databases[parent.id].parent
    if parent.kind == "workspace":
        return {"id": workspace.id, "type": "space"}
    if parent.kind != "data_source_id":
        return {"id": parent.id, "type": parent.kind.removesuffix("_id")}
    return {"id": workspace.sources[parent.id].parent.id, "type": "database", "data_source_id": parent.id}


def gathered(changes: Sequence[Change]) -> list[Change]:
    """What is left to tell of *changes* to one object: one of each type, and nothing that was undone again."""
    merged: dict[str, Change] = {}
    for change in _lasting(changes):
        earlier = merged.get(change.type)
        merged[change.type] = _merged(earlier, change) if earlier else change
    return list(merged.values())


def _lasting(changes: Sequence[Change]) -> list[Change]:
    fates = [change for change in changes if change.type.rpartition(".")[2] in FATES]
    came = bool(fates) and fates[0].type.endswith(".created")
    if came and fates[-1].type.endswith(".deleted"):
        return []
    # Trash and restoration alternate: an even number of them leads back to where they began.
    kept = fates[:1] if came else fates[-1:] if len(fates) % 2 else []
    return [change for change in changes if change not in fates or change in kept]


def _merged(earlier: Change, later: Change) -> Change:
    authors = tuple(dict.fromkeys(earlier.author_ids + later.author_ids))
    return replace(later, author_ids=authors, updated={**earlier.updated, **later.updated})
