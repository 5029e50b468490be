"""Answers about who belongs to boards and organizations, and as what."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import ORGANIZATION, membership, memberships, pick
from workspace_sandbox.boards.state import Board, Member, Organization
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal, invalid

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
"""The roles that each filter lets through."""

CHANGES = {"admin": "makeAdminOfBoard", "normal": "makeNormalMemberOfBoard", "observer": "makeObserverOfBoard"}

Place = Board | Organization


def read_members(ask: ApiRequest) -> Any:
    """The members of a board or an organization."""
    place = _place(ask)
    wanted = FILTERS[ask.arguments.choice("filter", FILTERS, "all")]
    return views.members((one for one in place.members.values() if place.role(one) in wanted), ask.arguments)


def read_memberships(ask: ApiRequest) -> Any:
    """The memberships of a board or an organization, perhaps with the members."""
    place = _place(ask)
    asked = ask.arguments.choice("filter", frozenset({*FILTERS, "me", "deactivated"}), "all")
    wanted = FILTERS.get(asked, ROLES if asked == "me" else frozenset())
    members = [one for one in place.members.values() if place.role(one) in wanted]
    if asked == "me":
        members = [one for one in members if one is ask.visitor.member]
    shown = [membership(place, one) for one in members]
    if ask.arguments.flag("member"):
        told = views.members(members, ask.arguments.nested("member"))
        shown = [one | {"member": about} for one, about in zip(shown, told, strict=True)]
    return shown


def read_membership(ask: ApiRequest) -> Any:
    """One membership."""
    place = _place(ask)
    return membership(place, _belonging(place, ask.path["membership"]))


def put_member(ask: ApiRequest) -> Any:
    """Let somebody belong to a board or an organization, or change as what."""
    place, member = _place(ask), ask.member
    _refuse_stranger(ask, place)
    role = ask.arguments.choice("type", ROLES, "normal")
    _belong(ask, place, member, role)
    return _shown(ask, place)


def invite(ask: ApiRequest) -> Any:
    """Let somebody belong by address; who has no account gets one that is not confirmed."""
    place = _place(ask)
    _refuse_stranger(ask, place)
    email, role = ask.arguments.text("email", shortest=3), ask.arguments.choice("type", ROLES, "normal")
    if "@" not in email:
        raise invalid("email")
    known = next((one for one in ask.store.members.values() if one.email == email), None)
    name = email.partition("@")[0]
    member = known or ask.store.add_member(ask.now, name.lower(), ask.arguments.text("fullName") or name, email)
    _belong(ask, place, member, role)
    return _shown(ask, place)


def put_membership(ask: ApiRequest) -> Any:
    """Change as what somebody belongs to a board."""
    board = ask.board
    _refuse_stranger(ask, board)
    member, role = _belonging(board, ask.path["membership"]), ask.arguments.choice("type", ROLES, "")
    if not role:
        raise invalid("type")
    _belong(ask, board, member, role)
    return membership(board, member) | {"member": views.members([member], ask.arguments.nested("member"))[0]}


def remove_member(ask: ApiRequest) -> Any:
    """Let somebody belong no longer; the last admin stays."""
    place, member = _place(ask), ask.member
    if member is not ask.visitor.member:
        _refuse_stranger(ask, place)
    if member.id not in place.members:
        raise Refusal(404, NOT_FOUND)
    if not any(place.role(one) == "admin" for one in place.members.values() if one is not member):
        raise Refusal(403, {"message": "There must be at least one admin", "error": "ERROR"})
    if isinstance(place, Board):
        for card in place.cards():
            card.members = [one for one in card.members if one is not member]
        ask.store.record(ask.author, "removeMemberFromBoard", place, idMember=member.id, member=_told(member))
    del place.members[member.id]
    place.roles.pop(member.id, None)
    return _shown(ask, place)


def _place(ask: ApiRequest) -> Place:
    return ask.organization if "organization" in ask.path else ask.board


def _refuse_stranger(ask: ApiRequest, place: Place) -> None:
    if ask.visitor.member is None or place.role(ask.visitor.member) != "admin":
        raise Refusal(401, "unauthorized permission requested")


def _belong(ask: ApiRequest, place: Place, member: Member, role: str) -> None:
    is_new, before = member.id not in place.members, place.role(member)
    place.members[member.id] = member
    place.roles[member.id] = role
    if isinstance(place, Organization) or (before == role and not is_new):
        return
    kind = "addMemberToBoard" if is_new else CHANGES[role]
    told: dict[str, Any] = {"idMemberAdded": member.id, "memberType": role} if is_new else {"idMember": member.id}
    ask.store.record(ask.author, kind, place, {}, member=_told(member), **told)


def _belonging(place: Place, identifier: str) -> Member:
    for member in place.members.values():
        if membership(place, member)["id"] == identifier.lower():
            return member
    raise Refusal(404, NOT_FOUND)


def _shown(ask: ApiRequest, place: Place) -> dict[str, Any]:
    if isinstance(place, Organization):
        return pick(ORGANIZATION, place)
    brief = views.members(place.members.values(), ask.arguments.nested("member"))
    return {"id": place.id, "members": brief, "memberships": memberships(place)}


def _told(member: Member) -> dict[str, str]:
    return {"id": member.id, "name": member.full_name}
