"""Routes of the members of boards and organizations, and their roles."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.computed_fields import ORGANIZATION, membership, memberships, select_fields
from workspace_sandbox.boards.data.objects import Board, Member, Organization
from workspace_sandbox.boards.error_responses import NOT_FOUND, ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest

ROLES = frozenset({"admin", "normal", "observer"})
FILTERS: Mapping[str, frozenset[str]] = {
    "all": ROLES,
    "none": frozenset(),
    "normal": frozenset({"normal"}),
    "admins": frozenset({"admin"}),
    "admin": frozenset({"admin"}),
    "owners": frozenset({"admin"}),
    "active": ROLES,
}
"""The roles that each filter includes."""

CHANGES = {"admin": "makeAdminOfBoard", "normal": "makeNormalMemberOfBoard", "observer": "makeObserverOfBoard"}

Group = Board | Organization


def read_members(request: ApiRequest) -> Any:
    """Return the members of a board or an organization."""
    group = _group(request)
    roles = FILTERS[request.arguments.choice("filter", FILTERS, "all")]
    return object_json.members((one for one in group.members.values() if group.role(one) in roles), request.arguments)


def read_memberships(request: ApiRequest) -> Any:
    """Return the memberships of a board or an organization, optionally with the members."""
    group = _group(request)
    filter_name = request.arguments.choice("filter", frozenset({*FILTERS, "me", "deactivated"}), "all")
    roles = FILTERS.get(filter_name, ROLES if filter_name == "me" else frozenset())
    members = [one for one in group.members.values() if group.role(one) in roles]
    if filter_name == "me":
        members = [one for one in members if one is request.principal.member]
    rows = [membership(group, one) for one in members]
    if request.arguments.flag("member"):
        member_rows = object_json.members(members, request.arguments.nested("member"))
        rows = [one | {"member": member_row} for one, member_row in zip(rows, member_rows, strict=True)]
    return rows


def read_membership(request: ApiRequest) -> Any:
    """Return a membership."""
    group = _group(request)
    return membership(group, _find_member(group, request.path["membership"]))


def put_member(request: ApiRequest) -> Any:
    """Add a member to a board or an organization, or change their role."""
    group, member = _group(request), request.member
    _require_admin(request, group)
    role = request.arguments.choice("type", ROLES, "normal")
    _set_role(request, group, member, role)
    return _describe(request, group)


def invite(request: ApiRequest) -> Any:
    """Add a member by email address. An unknown address gets an unconfirmed account."""
    group = _group(request)
    _require_admin(request, group)
    email, role = request.arguments.text("email", min_length=3), request.arguments.choice("type", ROLES, "normal")
    if "@" not in email:
        raise invalid("email")
    existing = next((one for one in request.store.members.values() if one.email == email), None)
    name = email.partition("@")[0]
    member = existing or request.store.add_member(
        request.now, name.lower(), request.arguments.text("fullName") or name, email
    )
    _set_role(request, group, member, role)
    return _describe(request, group)


def put_membership(request: ApiRequest) -> Any:
    """Change the role of a board's member."""
    board = request.board
    _require_admin(request, board)
    member, role = _find_member(board, request.path["membership"]), request.arguments.choice("type", ROLES, "")
    if not role:
        raise invalid("type")
    _set_role(request, board, member, role)
    return membership(board, member) | {"member": object_json.members([member], request.arguments.nested("member"))[0]}


def remove_member(request: ApiRequest) -> Any:
    """Remove a member. The last admin cannot be removed."""
    group, member = _group(request), request.member
    if member is not request.principal.member:
        _require_admin(request, group)
    if member.id not in group.members:
        raise ApiError(404, NOT_FOUND)
    if not any(group.role(one) == "admin" for one in group.members.values() if one is not member):
        raise ApiError(403, {"message": "There must be at least one admin", "error": "ERROR"})
    if isinstance(group, Board):
        for card in group.cards():
            card.members = [one for one in card.members if one is not member]
        request.store.record(
            request.author, "removeMemberFromBoard", group, idMember=member.id, member=_describe_member(member)
        )
    del group.members[member.id]
    group.roles.pop(member.id, None)
    return _describe(request, group)


def _group(request: ApiRequest) -> Group:
    return request.organization if "organization" in request.path else request.board


def _require_admin(request: ApiRequest, group: Group) -> None:
    if request.principal.member is None or group.role(request.principal.member) != "admin":
        raise ApiError(401, "unauthorized permission requested")


def _set_role(request: ApiRequest, group: Group, member: Member, role: str) -> None:
    is_new, before = member.id not in group.members, group.role(member)
    group.members[member.id] = member
    group.roles[member.id] = role
    if isinstance(group, Organization) or (before == role and not is_new):
        return
    kind = "addMemberToBoard" if is_new else CHANGES[role]
    data: dict[str, Any] = {"idMemberAdded": member.id, "memberType": role} if is_new else {"idMember": member.id}
    request.store.record(request.author, kind, group, {}, member=_describe_member(member), **data)


def _find_member(group: Group, identifier: str) -> Member:
    for member in group.members.values():
        if membership(group, member)["id"] == identifier.lower():
            return member
    raise ApiError(404, NOT_FOUND)


def _describe(request: ApiRequest, group: Group) -> dict[str, Any]:
    if isinstance(group, Organization):
        return select_fields(ORGANIZATION, group)
    brief = object_json.members(group.members.values(), request.arguments.nested("member"))
    return {"id": group.id, "members": brief, "memberships": memberships(group)}


def _describe_member(member: Member) -> dict[str, str]:
    return {"id": member.id, "name": member.full_name}
