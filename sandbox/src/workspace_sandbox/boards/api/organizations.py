"""Routes of organizations, which the user interface calls workspaces."""

import re
from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.computed_fields import ORGANIZATION, select_fields, slug
from workspace_sandbox.boards.data.objects import Board, Organization
from workspace_sandbox.boards.error_responses import ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest

NAME = re.compile(r"[a-z0-9_]{3,}")


def read(request: ApiRequest) -> Any:
    """Return an organization, with its boards and members if requested."""
    match = request.organization
    raw = select_fields(ORGANIZATION, match, request.arguments.fields())
    if request.arguments.is_requested("boards"):
        raw["boards"] = object_json.boards(_boards(request, match), request.arguments.nested("board"))
    if request.arguments.is_requested("members"):
        raw["members"] = object_json.members(match.members.values(), request.arguments.nested("member"))
    return raw


def read_boards(request: ApiRequest) -> Any:
    """Return the boards of an organization that the user can see."""
    return object_json.boards(_boards(request, request.organization), request.arguments)


def read_actions(request: ApiRequest) -> Any:
    """Return the actions on an organization's boards that the user can see."""
    visible_actions = (action for board in _boards(request, request.organization) for action in board.actions)
    return object_json.actions(sorted(visible_actions, key=lambda one: one.id), request.arguments, "all")


def create(request: ApiRequest) -> Any:
    """Create an organization. The user becomes its admin."""
    display, author = request.arguments.text("displayName", min_length=1), request.author
    requested_name = request.arguments.text("name")
    name = _check_name(
        request,
        requested_name or f"{slug(display).replace('-', '')}{len(request.store.organizations)}0",
        is_custom=bool(requested_name),
    )
    created = Organization(request.store.new_id(request.now), name, display, request.arguments.text("desc"))
    created.website = request.arguments.text("website") or None
    created.members[author.member.id] = author.member
    request.store.organizations[created.id] = created
    return select_fields(ORGANIZATION, created) | {"limits": {}}


def update(request: ApiRequest) -> Any:
    """Update the names, description and website of an organization."""
    match, arguments = request.organization, request.arguments
    name = (
        _check_name(request, arguments.text("name"), is_custom=True, but=match) if "name" in arguments else match.name
    )
    display = arguments.text("displayName", min_length=1) if "displayName" in arguments else match.display_name
    match.name, match.display_name = name, display
    match.desc = arguments.text("desc") if "desc" in arguments else match.desc
    match.website = (arguments.text("website") or None) if "website" in arguments else match.website
    return select_fields(ORGANIZATION, match)


def delete(request: ApiRequest) -> Any:
    """Delete an organization. Its boards remain without one."""
    match = request.organization
    for board in request.store.boards.values():
        board.organization = None if board.organization is match else board.organization
    del request.store.organizations[match.id]
    return {"limits": {}}


def _boards(request: ApiRequest, owner: Organization) -> list[Board]:
    return [board for board in request.visible_boards() if board.organization is owner]


def _check_name(request: ApiRequest, name: str, *, is_custom: bool, but: Organization | None = None) -> str:
    if is_custom and not NAME.fullmatch(name):
        raise invalid("name")
    if any(one.name == name for one in request.store.organizations.values() if one is not but):
        raise ApiError(400, {"message": "Organization short name is taken", "error": "ERROR"})
    return name
