"""Answers about members."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.access import described
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import ORGANIZATION, pick
from workspace_sandbox.boards.state import Organization
from workspace_sandbox.boards.wire import HIDDEN, Refusal


def read(ask: ApiRequest) -> Any:
    """A member."""
    member = ask.member
    token = ask.visitor.token
    with_email = token is not None and token.grant.account is member and "account" in token.scopes
    organizations = [one.id for one in _organizations(ask)]
    visible = _common_boards(ask)
    return views.member(member, ask.arguments, visible=visible, organizations=organizations, with_email=with_email)


def read_boards(ask: ApiRequest) -> Any:
    """The boards of a member that the visitor sees too."""
    return views.boards(_common_boards(ask), ask.arguments)


def read_cards(ask: ApiRequest) -> Any:
    """The cards a member is on."""
    member, keep = ask.member, views.CARD_FILTERS[ask.arguments.choice("filter", views.CARD_FILTERS, "visible")]
    cards = [card for board in _common_boards(ask) for card in board.cards() if member in card.members and keep(card)]
    return [views.card(card, ask.arguments) for card in cards]


def read_actions(ask: ApiRequest) -> Any:
    """What a member did."""
    member = ask.member
    told = (action for action in ask.store.actions.values() if action.author.member is member and ask.sees(action))
    return views.actions(told, ask.arguments, "all")


def read_organizations(ask: ApiRequest) -> Any:
    """The workspaces of a member."""
    return [pick(ORGANIZATION, one, ask.arguments.fields()) for one in _organizations(ask)]


def read_tokens(ask: ApiRequest) -> Any:
    """The tokens that a member gave out; nobody else may see them."""
    if ask.member is not ask.visitor.member:
        raise Refusal(401, HIDDEN)
    mine = (one for one in ask.oauth.tokens.values() if one.kind == "key" and one.grant.account is ask.member)
    return [described(one) for one in mine if one.opens]


def _organizations(ask: ApiRequest) -> list[Organization]:
    member = ask.member
    return [one for one in ask.store.organizations.values() if member.id in one.members and ask.belongs_to(one)]


def _common_boards(ask: ApiRequest) -> list[Any]:
    member = ask.member
    return [board for board in ask.visible_boards() if member.id in board.members]
