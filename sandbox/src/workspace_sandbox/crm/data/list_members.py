"""The members of lists."""

from workspace_sandbox.crm.data.lists import ObjectList, build_test
from workspace_sandbox.crm.data.state import Portal


def list_members(portal: Portal, object_list: ObjectList) -> dict[int, float]:
    """Return the live records of a list by ID, with the time when each was added.

    In a dynamic list, it is the last change.
    """
    if object_list.branch is not None and object_list.processing == "DYNAMIC":
        test = build_test(object_list.branch)
        return {one.id: one.updated_at for one in portal.list_records(object_list.kind, 0, archived=False) if test(one)}
    records = portal.records[object_list.kind.plural]
    return {number: at for number, at in sorted(object_list.joined.items()) if records[number].archived_at is None}
