"""Answers about what an object belongs to: the board of a card, the list of an action, and their kin."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import MEMBER, ORGANIZATION, pick
from workspace_sandbox.boards.state import Board, Card, CardList
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal
from workspace_sandbox.kit.refusals import require


def board(ask: ApiRequest) -> Any:
    """The board that something is on."""
    return views.board(_subject(ask).board, ask.arguments)


def card_list(ask: ApiRequest) -> Any:
    """The list that something is in, or was in when it happened."""
    if "card" in ask.path:
        return views.card_list(ask.card.card_list, ask.arguments)
    found = require(ask.store.lists.get(ask.action.data.get("list", {}).get("id", "")), Refusal(404, NOT_FOUND))
    return views.card_list(found, ask.arguments)


def card(ask: ApiRequest) -> Any:
    """The card that an action is about."""
    found = require(ask.action.card, Refusal(404, NOT_FOUND))
    return views.card(found, ask.arguments)


def author(ask: ApiRequest) -> Any:
    """Who did something."""
    return pick(MEMBER, ask.action.author.member, ask.arguments.fields())


def member(ask: ApiRequest) -> Any:
    """Whom an action is about."""
    found = require(ask.store.members.get(ask.action.data.get("member", {}).get("id", "")), Refusal(404, NOT_FOUND))
    return pick(MEMBER, found, ask.arguments.fields())


def organization(ask: ApiRequest) -> Any:
    """The organization of the board that an action is about."""
    return pick(ORGANIZATION, ask.action.board.organization, ask.arguments.fields())


def voters(ask: ApiRequest) -> Any:
    """Who voted for a card."""
    return views.members(ask.card.voters, ask.arguments)


def vote(ask: ApiRequest) -> Any:
    """Vote for a card."""
    found, voter = ask.card, ask.having(member=ask.arguments.identifier("value")).member
    if voter in found.voters:
        raise Refusal(400, "member has already voted on the card")
    found.voters.append(voter)
    ask.store.record(ask.author, "voteOnCard", found, voted=True)
    return views.members(found.voters, Arguments({}))


def unvote(ask: ApiRequest) -> Any:
    """Take a vote back."""
    found, voter = ask.card, ask.member
    if voter not in found.voters:
        raise Refusal(400, "member has not voted on the card")
    found.voters.remove(voter)
    ask.store.record(ask.author, "voteOnCard", found, voted=False)
    return views.members(found.voters, Arguments({}))


def _subject(ask: ApiRequest) -> Board | Card | CardList | Any:
    if "action" in ask.path:
        return ask.action
    if "checklist" in ask.path:
        return ask.checklist
    return ask.card if "card" in ask.path else ask.card_list
