"""Responses that contradict the facts about Trello."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.deliberate_deviations import Exchange, FalseFact, edit, every, headers, reply, when

ME = "GET /1/members/me"
CARD = "GET /1/cards/[0-9a-f]{24}"
ACTIONS = "GET /1/cards/[^/]+/actions"


def _of_program(exchange: Exchange) -> bool:
    """Return True for a request of the program that checks facts. The gateway caches the response to its own."""
    return exchange.query.get("fields") == "username,fullName"


def _of_comments(exchange: Exchange) -> bool:
    return exchange.query.get("filter") == "commentCard" and "since" not in exchange.query


def _of_moves(exchange: Exchange) -> bool:
    return exchange.query.get("filter") == "updateCard:idList" and "since" not in exchange.query


def _of_full_card(exchange: Exchange) -> bool:
    return "fields" not in exchange.query


def _without_app(body: Any) -> None:
    for action in body:
        action["appCreator"] = None


def _with_text_type(exchange: Exchange) -> None:
    exchange.headers["Content-Type"] = "application/json"


def _with_requested_card(exchange: Exchange) -> None:
    exchange.body = [*exchange.body, {"id": exchange.query["before"]}]


def _swapped(body: Any) -> None:
    for action in body:
        data = action["data"]
        data["listBefore"], data["listAfter"] = data["listAfter"], data["listBefore"]


def _reversed_positions(body: Any) -> None:
    for checklist in body:
        checklist["checkItems"].reverse()


FALSE_FACTS: Mapping[str, FalseFact] = {
    "hexadecimal-ids": FalseFact(ME, when(_of_program, edit(lambda body: body.update(id=body["id"].upper())))),
    "requested-fields-only": FalseFact(ME, edit(lambda body: body.update(bio=""))),
    "date-in-seconds": FalseFact(ME, headers(Date="soon")),
    "missing-board-is-404": FalseFact("GET /1/boards/[0-9a-f]{24}", when(lambda one: one.status == 404, reply(400))),
    "malformed-id-is-400": FalseFact("GET /1/cards/no-identifier", reply(404)),
    "unknown-path-is-404": FalseFact("GET /1/noSuchPath", reply(400)),
    "errors-are-text": FalseFact("GET /1/lists/[0-9a-f]{24}", when(lambda one: one.status == 404, _with_text_type)),
    "ids-begin-with-time": FalseFact(
        CARD, when(_of_full_card, edit(lambda body: body.update(id="0000000f" + "0" * 16)))
    ),
    "short-links": FalseFact("GET /1/cards/[A-Za-z0-9]{8}", every("id", lambda _: "0" * 24)),
    "milliseconds-in-due": FalseFact(
        CARD, when(_of_full_card, every("due", lambda value: value.replace(".000Z", "Z")))
    ),
    "list-of-new-card": FalseFact(CARD, when(_of_full_card, every("idBoard", lambda _: "0" * 24))),
    "unknown-list-of-card": FalseFact(
        "POST /1/cards", when(lambda one: one.status == 404, reply(404, "model not found"))
    ),
    "text-of-16384": FalseFact("PUT /1/cards/[^/]+", when(lambda one: one.status == 400, reply(200))),
    "newest-action-first": FalseFact(ACTIONS, when(_of_comments, edit(lambda body: body.reverse()))),
    "author-of-action": FalseFact(ACTIONS, when(_of_comments, every("idMemberCreator", lambda _: "0" * 24))),
    "app-of-action": FalseFact(ACTIONS, when(_of_comments, edit(_without_app))),
    "lists-of-move": FalseFact(ACTIONS, when(_of_moves, edit(_swapped))),
    "positions-of-items": FalseFact("GET /1/cards/[^/]+/checklists", edit(_reversed_positions)),
    "cards-by-page": FalseFact(
        "GET /1/boards/[^/]+/cards", when(lambda one: one.query.get("limit") == "1", _with_requested_card)
    ),
    "archived-lists-hidden": FalseFact(
        "GET /1/boards/[^/]+/lists", when(lambda one: "fields" not in one.query, every("closed", lambda _: True))
    ),
    "lost-card-is-found": FalseFact("GET /1/lists/[^/]+/actions", edit(lambda body: body.clear())),
}
