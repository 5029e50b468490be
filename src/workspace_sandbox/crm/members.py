"""Who is in a list."""

from workspace_sandbox.crm.segments import ObjectList, tested
from workspace_sandbox.crm.state import Portal


def members_of(portal: Portal, asked: ObjectList) -> dict[int, float]:
    """The live records in a list by id, with the time when each came in; of a dynamic one, when it last changed."""
    if asked.branch is not None and asked.processing == "DYNAMIC":
        found = tested(asked.branch)
        return {one.id: one.updated_at for one in portal.listed(asked.kind, 0, archived=False) if found(one)}
    records = portal.records[asked.kind.plural]
    return {number: at for number, at in sorted(asked.joined.items()) if records[number].archived_at is None}
