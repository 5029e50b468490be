"""Answers about members, workspaces, tokens, and what spans them all: batches and search."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from workspace_sandbox.boards import views
from workspace_sandbox.boards.access import Token
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.asking import Ask
from workspace_sandbox.boards.fields import MEMBER, ORGANIZATION_ID, pick
from workspace_sandbox.boards.refusals import HIDDEN, NOT_FOUND, NoSuchRoute, Refusal

ORGANIZATION = {
    "id": ORGANIZATION_ID,
    "name": "northwindtools",
    "displayName": "Northwind Tools",
    "desc": "",
    "url": "https://trello.com/w/northwindtools",
    "website": None,
    "teamType": "engineering-it",
}

MOST_IN_BATCH = 10
PART_NAMES = {400: "BadRequestError", 401: "UnauthorizedError", 404: "NotFoundError"}
_COMMA = re.compile(r",(?=/|%2[Ff])")


def read_member(ask: Ask) -> Any:
    """A member."""
    member = ask.member
    token = ask.visitor.token
    with_email = token is not None and token.member is member and "account" in token.scopes
    return views.member(member, ask.arguments, visible=_common_boards(ask), with_email=with_email)


def read_member_field(ask: Ask) -> Any:
    """One field of a member."""
    return ask.field_of(MEMBER, ask.member)


def read_member_boards(ask: Ask) -> Any:
    """The boards of a member that the visitor sees too."""
    return views.boards(_common_boards(ask), ask.arguments)


def read_member_cards(ask: Ask) -> Any:
    """The cards a member is on."""
    member, keep = ask.member, views.CARD_FILTERS[ask.arguments.choice("filter", views.CARD_FILTERS, "visible")]
    cards = [card for board in _common_boards(ask) for card in board.cards() if member in card.members and keep(card)]
    return [views.card(card, ask.arguments) for card in cards]


def read_member_actions(ask: Ask) -> Any:
    """What a member did."""
    member = ask.member
    told = (action for action in ask.store.actions.values() if action.author.member is member and ask.sees(action))
    return views.actions(told, ask.arguments, "all")


def read_member_organizations(ask: Ask) -> Any:
    """The workspaces of a member."""
    _ = ask.member
    return [ORGANIZATION]


def read_member_tokens(ask: Ask) -> Any:
    """The visitor's tokens."""
    member = ask.member
    if member is not ask.visitor.member:
        raise Refusal(401, HIDDEN)
    return [token.raw() for token in ask.access.tokens.values() if token.member is member]


def _common_boards(ask: Ask) -> list[Any]:
    member = ask.member
    return [board for board in ask.visible_boards() if member.id in board.members]


def read_organization(ask: Ask) -> Any:
    """A workspace."""
    if ask.path["organization"] not in {ORGANIZATION_ID, ORGANIZATION["name"]}:
        raise Refusal(404, NOT_FOUND)
    return ORGANIZATION


def read_organization_boards(ask: Ask) -> Any:
    """The boards of a workspace."""
    read_organization(ask)
    return views.boards(ask.visible_boards(), ask.arguments)


def read_token(ask: Ask) -> Any:
    """What a token allows."""
    raw = _token(ask).raw()
    wanted = ask.arguments.fields()
    return {name: value for name, value in raw.items() if wanted is None or name in {"id", *wanted}}


def read_token_member(ask: Ask) -> Any:
    """Whose token it is."""
    return pick(MEMBER, _token(ask).member, ask.arguments.fields())


def delete_token(ask: Ask) -> Any:
    """Nothing, and the token is worth nothing from now on."""
    del ask.access.tokens[_token(ask).value]
    return {}


def _token(ask: Ask) -> Token:
    token = ask.access.tokens.get(ask.path["token"])
    if token is None or token.bearer:
        raise Refusal(404, NOT_FOUND)
    return token


def urls(arguments: Arguments) -> list[str]:
    """The parts of a batch; commas inside a part do not separate unless a path follows them."""
    found = [unquote(url) if url.startswith("%") else url for url in _COMMA.split(str(arguments.raw("urls") or ""))]
    if not 1 <= len(found) <= MOST_IN_BATCH or not all(url.startswith("/") for url in found):
        raise arguments.refusal("urls")
    return found


def batch(ask: Ask) -> Any:
    """The answers of several GET routes, in order, refusals among them."""
    return [_part(ask, url) for url in urls(ask.arguments)]


def _part(ask: Ask, url: str) -> dict[str, Any]:
    try:
        return {"200": ask.get(url)}
    except NoSuchRoute:
        refusal = Refusal(404, f"Cannot GET /1{url}")
    except Refusal as refused:
        refusal = refused
    message = refusal.body if isinstance(refusal.body, str) else refusal.body["message"]
    return {"name": PART_NAMES.get(refusal.status, "Error"), "message": message, "statusCode": refusal.status}


def search(ask: Ask) -> Any:
    """Boards and cards with the words of a query in their names."""
    words = ask.arguments.text("query", shortest=1).lower().split()
    models = set(ask.arguments.words("modelTypes") or ["all"])
    found: dict[str, Any] = {
        "options": {"terms": [{"text": word} for word in words], "modifiers": [], "partial": False}
    }
    boards = ask.visible_boards()
    for name, things, view in (
        ("boards", boards, views.board),
        ("cards", [card for board in boards for card in board.cards() if not card.closed], views.card),
    ):
        if not models.isdisjoint({"all", name}):
            found[name] = _hits(things, words, view, ask.arguments.nested(name[:-1]))
    return found


def _hits(
    things: list[Any], words: list[str], view: Callable[[Any, Arguments], Any], arguments: Arguments
) -> list[Any]:
    hits = [thing for thing in things if all(word in thing.name.lower() for word in words)]
    return [view(thing, arguments) for thing in hits[: arguments.number("limit", 10)]]
