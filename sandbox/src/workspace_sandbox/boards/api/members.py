"""Routes of members."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.access import token_json
from workspace_sandbox.boards.computed_fields import ORGANIZATION, select_fields
from workspace_sandbox.boards.data.objects import Organization
from workspace_sandbox.boards.error_responses import HIDDEN, ApiError
from workspace_sandbox.boards.request import ApiRequest


def read(request: ApiRequest) -> Any:
    """Return a member."""
    member = request.member
    token = request.principal.token
    with_email = token is not None and token.grant.account is member and "account" in token.scopes
    organizations = [one.id for one in _organizations(request)]
    visible = _common_boards(request)
    return object_json.member(
        member, request.arguments, visible=visible, organizations=organizations, with_email=with_email
    )


def read_boards(request: ApiRequest) -> Any:
    """Return the boards of a member that the user can see."""
    return object_json.boards(_common_boards(request), request.arguments)


def read_cards(request: ApiRequest) -> Any:
    """Return the cards of a member."""
    member, is_included = (
        request.member,
        object_json.CARD_FILTERS[request.arguments.choice("filter", object_json.CARD_FILTERS, "visible")],
    )
    cards = [
        card
        for board in _common_boards(request)
        for card in board.cards()
        if member in card.members and is_included(card)
    ]
    return [object_json.card(card, request.arguments) for card in cards]


def read_actions(request: ApiRequest) -> Any:
    """Return the actions of a member."""
    member = request.member
    member_actions = (
        action
        for action in request.store.actions.values()
        if action.author.member is member and request.can_see(action)
    )
    return object_json.actions(member_actions, request.arguments, "all")


def read_organizations(request: ApiRequest) -> Any:
    """Return the organizations of a member."""
    return [select_fields(ORGANIZATION, one, request.arguments.fields()) for one in _organizations(request)]


def read_tokens(request: ApiRequest) -> Any:
    """Return the tokens of a member, which only the member can see."""
    if request.member is not request.principal.member:
        raise ApiError(401, HIDDEN)
    mine = (one for one in request.oauth.tokens.values() if one.kind == "key" and one.grant.account is request.member)
    return [token_json(one) for one in mine if one.is_valid]


def _organizations(request: ApiRequest) -> list[Organization]:
    member = request.member
    return [one for one in request.store.organizations.values() if member.id in one.members and request.belongs_to(one)]


def _common_boards(request: ApiRequest) -> list[Any]:
    member = request.member
    return [board for board in request.visible_boards() if member.id in board.members]
