"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, Reading

WRITE = ("boards.comment_on_card", "/1/cards")
"""A write as the simulation names it, and where the request begins that carries it out."""


def readings(known: Examples) -> Sequence[Reading]:
    """The calls that change nothing; the first of them asks the application each time."""
    return [
        Reading("GET", "/lists", {"board_id": known["board_id"]}),
        Reading("GET", "/lists", {"board_id": known["hidden_board_id"]}),
        Reading("POST", "/cards", {"list_id": known["hidden_list_id"], "name": "x"}),
        Reading("POST", "/cards", {"list_id": known["list_ids"][0], "name": "x", "labels": ["no such label"]}),
        Reading("POST", f"/cards/{known['hidden_card_id']}/comments", {"text": "x"}),
        Reading("POST", f"/cards/{known['hidden_card_id']}/move", {"list_id": known["list_ids"][0]}),
        Reading("POST", f"/cards/{known['hidden_card_id']}/checklists", {"name": "x", "items": ["y"]}),
    ]
