"""Answers about the one workspace there is."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.ask import Ask
from workspace_sandbox.boards.fields import ORGANIZATION_ID
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal

ORGANIZATION = {
    "id": ORGANIZATION_ID,
    "name": "northwindtools",
    "displayName": "Northwind Tools",
    "desc": "",
    "url": "https://trello.com/w/northwindtools",
    "website": None,
    "teamType": "engineering-it",
}


def read(ask: Ask) -> Any:
    """A workspace."""
    if ask.path["organization"] not in {ORGANIZATION_ID, ORGANIZATION["name"]}:
        raise Refusal(404, NOT_FOUND)
    return ORGANIZATION


def read_boards(ask: Ask) -> Any:
    """The boards of a workspace."""
    read(ask)
    return views.boards(ask.visible_boards(), ask.arguments)
