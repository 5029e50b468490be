"""What callers of the boards room notice when the application answers in another shape than it should."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from connectors.boards.desk import STEPS, UNKNOWN, Desk
from harness.serving import Reply

SOME_DAY = "2026-11-20T10:00:00.000Z"

CALLS: Mapping[str, Callable[[Desk], Reply]] = {
    "create": lambda desk: desk.create("Odd", labels=["urgent"], due="2026-12-01"),
    "move": lambda desk: desk.move(desk.examples["list_ids"][1], comment="Moved"),
    "comment": lambda desk: desk.comment(),
    "describe": lambda desk: desk.gateway.get("/boards/lists", board_id=desk.examples["board_id"]),
    "attach": lambda desk: desk.attach("QA", STEPS),
}
"""The operations, by a word for each."""

A_CARD: dict[str, Any] = {
    "id": UNKNOWN,
    "name": "Odd",
    "desc": "",
    "due": None,
    "idBoard": UNKNOWN,
    "idList": UNKNOWN,
    "labels": [],
    "shortUrl": "https://trello.com/c/Ab12Cd34",
    "dateLastActivity": SOME_DAY,
}
A_LIST: dict[str, Any] = {"id": UNKNOWN, "name": "To do", "closed": False, "idBoard": UNKNOWN}
AN_ACTION: dict[str, Any] = {"id": UNKNOWN, "date": SOME_DAY, "idMemberCreator": UNKNOWN, "data": {}}


def answer(desk: Desk, method: str, path: str, body: Any) -> None:
    """Let the next request to *path* be answered with *body*, as if all were well."""
    path = path.format(card=desk.card_id, board=desk.examples["board_id"])
    desk.gateway.fault("boards", method=method, path=path, fault="status", status=200, body=body)


def without(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in whole.items() if key != name}


@pytest.mark.parametrize(
    ("call", "path", "body", "details"),
    [
        ("create", "/1/lists", [], []),
        ("create", "/1/lists", without(A_LIST, "closed"), []),
        ("create", "/1/lists", A_LIST | {"idBoard": 7}, [{"place": "idBoard"}]),
        ("create", "/1/boards", {"labels": []}, []),
        ("create", "/1/boards", [{"id": UNKNOWN, "name": None}], [{"place": "[0].name"}]),
        ("move", "/1/cards/{card}", without(A_CARD, "idList"), []),
        ("move", "/1/cards/{card}", A_CARD | {"list": "To do"}, [{"place": "list"}]),
        ("move", "/1/cards/{card}", A_CARD | {"due": "soon"}, [{"place": "due"}]),
        ("move", "/1/lists", A_LIST | {"closed": "no"}, [{"place": "closed"}]),
        ("describe", "/1/boards/{board}", {"id": UNKNOWN}, []),
        ("describe", "/1/boards/{board}/lists", [{"id": UNKNOWN, "name": "To do"}], [{"place": "[0]"}]),
        ("describe", "/1/boards/{board}/cards", [{"id": UNKNOWN, "idList": None}], [{"place": "[0].idList"}]),
        ("describe", "/1/boards/{board}", {"name": ["Ops"]}, [{"place": "name"}]),
        ("attach", "/1/cards/{card}/checklists", {}, []),
        (
            "attach",
            "/1/cards/{card}/checklists",
            [{"id": UNKNOWN, "name": "QA", "checkItems": [{}]}],
            [{"place": "[0].checkItems[0]"}],
        ),
        ("attach", "/1/cards/{card}/checklists", [{"id": UNKNOWN, "name": {"text": "QA"}}], [{"place": "[0].name"}]),
    ],
)
def test_a_read_of_another_shape_is_unexpected_and_told_with_its_place(
    desk: Desk, call: str, path: str, body: Any, details: list[dict[str, str]]
) -> None:
    answer(desk, "GET", path, body)

    reply = CALLS[call](desk)

    assert (502, "upstream_unexpected") == (reply.status, reply.code)
    assert details == reply.details


@pytest.mark.parametrize(
    ("call", "method", "path", "body"),
    [
        ("create", "POST", "/1/cards", {}),
        ("create", "POST", "/1/cards", without(A_CARD, "shortUrl")),
        ("create", "POST", "/1/cards", A_CARD | {"due": "soon"}),
        ("create", "POST", "/1/cards", A_CARD | {"due": "2026-12-01T10:00:00"}),
        ("create", "POST", "/1/cards", A_CARD | {"labels": [{"id": "1"}]}),
        ("move", "PUT", "/1/cards/{card}", "moved"),
        ("move", "PUT", "/1/cards/{card}", without(A_CARD, "id")),
        ("comment", "POST", "/1/cards/{card}/actions/comments", []),
        ("comment", "POST", "/1/cards/{card}/actions/comments", without(AN_ACTION, "id")),
        ("comment", "POST", "/1/cards/{card}/actions/comments", AN_ACTION | {"date": "soon"}),
        ("comment", "POST", "/1/cards/{card}/actions/comments", AN_ACTION | {"date": 1.5}),
        ("comment", "POST", "/1/cards/{card}/actions/comments", AN_ACTION | {"appCreator": "gateway"}),
        ("attach", "POST", "/1/cards/{card}/checklists", {"id": None, "name": "QA"}),
        ("attach", "POST", "/1/checklists", {"name": "Draft"}),
    ],
)
def test_a_write_answered_in_another_shape_is_in_doubt(
    desk: Desk, call: str, method: str, path: str, body: Any
) -> None:
    answer(desk, method, path, body)

    reply = CALLS[call](desk)

    assert (502, "outcome_unknown") == (reply.status, reply.code)


@pytest.mark.parametrize(
    ("call", "where"),
    [
        ("create", {"method": "GET", "path": "/1/lists"}),
        ("create", {"method": "POST", "path": "/1/cards"}),
        ("move", {"method": "PUT", "path": "/1/cards"}),
        ("comment", {"method": "POST", "path": "/1/cards"}),
        ("describe", {"method": "GET", "path": "/1/boards"}),
        ("attach", {"method": "POST", "path": "/1/checklists"}),
    ],
)
@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        ({"status": 400, "body": {"error": {"code": 7, "why": ["unclear"]}}}, "upstream_refused"),
        ({"status": 403, "body": {"message": {"text": "no"}, "error": None}}, "upstream_forbidden"),
        ({"status": 418, "body": {"error": {"code": 7}}}, "upstream_unexpected"),
        ({"status": 418, "body": []}, "upstream_unexpected"),
    ],
)
def test_an_error_of_another_shape_is_known_by_its_status_unless_it_leaves_a_write_in_doubt(
    desk: Desk, call: str, where: dict[str, Any], refusal: dict[str, Any], code: str
) -> None:
    desk.gateway.fault("boards", fault="status", **where, **refusal)

    reply = CALLS[call](desk)

    assert (code if where["method"] == "GET" else "outcome_unknown") == reply.code


def test_what_another_shape_surrounds_still_tells_why(desk: Desk) -> None:
    body = {"message": "invalid token", "error": {"code": 7}}
    desk.gateway.fault("boards", path="/1/lists", fault="status", status=401, body=body)

    reply = desk.create()

    assert "connection_revoked" == reply.code


def test_nothing_unreadable_is_remembered_of_a_card(desk: Desk) -> None:
    card = desk.emulator.store.cards[desk.card_id]
    answer(desk, "GET", f"/1/cards/{card.short_link}", without(A_CARD, "id"))

    first = desk.at(card.short_link).comment()
    again = desk.at(card.short_link).comment()

    assert ("upstream_unexpected", 200) == (first.code, again.status)
