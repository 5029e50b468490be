"""The members of lists."""

from workspace_sandbox.crm.segments import ObjectList, tested
from workspace_sandbox.crm.state import Portal


def members_of(portal: Portal, asked: ObjectList) -> dict[int, float]:
    """Return the live records of a list by ID, with the time when each was added.

    In a dynamic list, it is the last change.
    """
    if asked.branch is not None and asked.processing == "DYNAMIC":
        test = tested(asked.branch)
        return {one.id: one.updated_at for one in portal.listed(asked.kind, 0, archived=False) if test(one)}
    records = portal.records[asked.kind.plural]
    return {number: at for number, at in sorted(asked.joined.items()) if records[number].archived_at is None}
