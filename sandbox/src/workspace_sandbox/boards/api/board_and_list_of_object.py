"""Routes of the objects to which another one belongs, such as the board of a card or the author of an action."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.computed_fields import MEMBER, ORGANIZATION, select_fields
from workspace_sandbox.boards.data.objects import Board, Card, CardList
from workspace_sandbox.boards.error_responses import NOT_FOUND, ApiError
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require


def board(request: ApiRequest) -> Any:
    """Return the board of an object."""
    return object_json.board(_subject(request).board, request.arguments)


def card_list(request: ApiRequest) -> Any:
    """Return the list of an object, or of the time of an action."""
    if "card" in request.path:
        return object_json.card_list(request.card.card_list, request.arguments)
    match = require(
        request.store.lists.get(request.action.data.get("list", {}).get("id", "")), ApiError(404, NOT_FOUND)
    )
    return object_json.card_list(match, request.arguments)


def card(request: ApiRequest) -> Any:
    """Return the card of an action."""
    match = require(request.action.card, ApiError(404, NOT_FOUND))
    return object_json.card(match, request.arguments)


def author(request: ApiRequest) -> Any:
    """Return the author of an action."""
    return select_fields(MEMBER, request.action.author.member, request.arguments.fields())


def member(request: ApiRequest) -> Any:
    """Return the member that an action affects."""
    match = require(
        request.store.members.get(request.action.data.get("member", {}).get("id", "")), ApiError(404, NOT_FOUND)
    )
    return select_fields(MEMBER, match, request.arguments.fields())


def organization(request: ApiRequest) -> Any:
    """Return the organization of an action's board."""
    return select_fields(ORGANIZATION, request.action.board.organization, request.arguments.fields())


def _subject(request: ApiRequest) -> Board | Card | CardList | Any:
    if "action" in request.path:
        return request.action
    if "checklist" in request.path:
        return request.checklist
    return request.card if "card" in request.path else request.card_list
