"""Answers about organizations, which the vendor calls workspaces to people."""

import re
from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import ORGANIZATION, pick, slug
from workspace_sandbox.boards.state import Board, Organization
from workspace_sandbox.boards.wire import Refusal, invalid

NAME = re.compile(r"[a-z0-9_]{3,}")


def read(ask: ApiRequest) -> Any:
    """An organization, with its boards and members if they are asked for."""
    found = ask.organization
    raw = pick(ORGANIZATION, found, ask.arguments.fields())
    if ask.arguments.asks_for("boards"):
        raw["boards"] = views.boards(_boards(ask, found), ask.arguments.nested("board"))
    if ask.arguments.asks_for("members"):
        raw["members"] = views.members(found.members.values(), ask.arguments.nested("member"))
    return raw


def read_boards(ask: ApiRequest) -> Any:
    """The boards of an organization that the visitor sees."""
    return views.boards(_boards(ask, ask.organization), ask.arguments)


def read_actions(ask: ApiRequest) -> Any:
    """What happened on the boards of an organization that the visitor sees."""
    told = (action for board in _boards(ask, ask.organization) for action in board.actions)
    return views.actions(sorted(told, key=lambda one: one.id), ask.arguments, "all")


def create(ask: ApiRequest) -> Any:
    """Make an organization; who makes it is its admin."""
    display, author = ask.arguments.text("displayName", shortest=1), ask.author
    wanted = ask.arguments.text("name")
    name = _free(ask, wanted or f"{slug(display).replace('-', '')}{len(ask.store.organizations)}0", given=bool(wanted))
    made = Organization(ask.store.mint(ask.now), name, display, ask.arguments.text("desc"))
    made.website = ask.arguments.text("website") or None
    made.members[author.member.id] = author.member
    ask.store.organizations[made.id] = made
    return pick(ORGANIZATION, made) | {"limits": {}}


def update(ask: ApiRequest) -> Any:
    """Change what an organization is called, and what is said of it."""
    found, arguments = ask.organization, ask.arguments
    name = _free(ask, arguments.text("name"), given=True, but=found) if "name" in arguments else found.name
    display = arguments.text("displayName", shortest=1) if "displayName" in arguments else found.display_name
    found.name, found.display_name = name, display
    found.desc = arguments.text("desc") if "desc" in arguments else found.desc
    found.website = (arguments.text("website") or None) if "website" in arguments else found.website
    return pick(ORGANIZATION, found)


def delete(ask: ApiRequest) -> Any:
    """Delete an organization; its boards belong to none afterwards."""
    found = ask.organization
    for board in ask.store.boards.values():
        board.organization = None if board.organization is found else board.organization
    del ask.store.organizations[found.id]
    return {"limits": {}}


def _boards(ask: ApiRequest, found: Organization) -> list[Board]:
    return [board for board in ask.visible_boards() if board.organization is found]


def _free(ask: ApiRequest, name: str, *, given: bool, but: Organization | None = None) -> str:
    if given and not NAME.fullmatch(name):
        raise invalid("name")
    if any(one.name == name for one in ask.store.organizations.values() if one is not but):
        raise Refusal(400, {"message": "Organization short name is taken", "error": "ERROR"})
    return name
