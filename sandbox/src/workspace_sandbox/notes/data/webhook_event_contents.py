"""Events about changes: the parts that they list, and the aggregation of several changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workspace_sandbox.notes.data.state import Change, Comment, Entity, Page, Property, Workspace

PARTS = {
    "page.content_updated": "updated_blocks",
    "page.properties_updated": "updated_properties",
    "data_source.schema_updated": "updated_properties",
}
"""The field in which an event lists the changed parts. Values are never included."""

UNAGGREGATED = {"page.locked", "page.unlocked", "comment.created", "comment.updated", "comment.deleted"}
"""The event types that are delivered immediately, without aggregation."""

LIFECYCLE = {"created", "deleted", "undeleted"}


def blocks(kind: str, uids: Iterable[str]) -> Mapping[str, Any]:
    """Return blocks, or pages in their place, as parts of an event."""
    return {uid: {"id": uid, "type": kind} for uid in uids}


def columns(action: str, props: Iterable[Property]) -> Mapping[str, Any]:
    """Return columns as parts of an event, with the *action* on them."""
    return {prop.wire_id: {"id": prop.wire_id, "name": prop.name, "action": action} for prop in props}


def data(workspace: Workspace, change: Change) -> dict[str, Any]:
    """Return the data of an event: the parent of its object, and the changed parts."""
    parts = PARTS.get(change.type)
    pages = (upper.id for upper in workspace.lineage(change.entity) if isinstance(upper, Page))
    within = {"page_id": next(pages)} if isinstance(change.entity, Comment) else {}
    return (
        within
        | {"parent": _parent(workspace, change.entity)}
        | ({parts: list(change.updated.values())} if parts else {})
    )


def _parent(workspace: Workspace, entity: Entity) -> dict[str, Any]:
    """Return the parent of *entity*. A data source has the parent of its database."""
    parent = entity.parent
    if entity.id in workspace.sources:
        parent = workspace.databases[parent.id].parent
    if parent.kind == "workspace":
        return {"id": workspace.id, "type": "space"}
    if parent.kind != "data_source_id":
        return {"id": parent.id, "type": parent.kind.removesuffix("_id")}
    return {"id": workspace.sources[parent.id].parent.id, "type": "database", "data_source_id": parent.id}


def aggregate(changes: Sequence[Change]) -> list[Change]:
    """Aggregate *changes* of one object to one per type, without changes that cancel out."""
    merged: dict[str, Change] = {}
    for change in _without_cancelled(changes):
        earlier = merged.get(change.type)
        merged[change.type] = _merge(earlier, change) if earlier else change
    return list(merged.values())


def _without_cancelled(changes: Sequence[Change]) -> list[Change]:
    lifecycle = [change for change in changes if change.type.rpartition(".")[2] in LIFECYCLE]
    is_new = bool(lifecycle) and lifecycle[0].type.endswith(".created")
    if is_new and lifecycle[-1].type.endswith(".deleted"):
        return []
    # Trashing and restoring alternate: an even number of them restores the original state.
    remaining = lifecycle[:1] if is_new else lifecycle[-1:] if len(lifecycle) % 2 else []
    return [change for change in changes if change not in lifecycle or change in remaining]


def _merge(earlier: Change, later: Change) -> Change:
    authors = tuple(dict.fromkeys(earlier.author_ids + later.author_ids))
    return replace(later, author_ids=authors, updated={**earlier.updated, **later.updated})
