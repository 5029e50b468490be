"""Calls of this room for the tests that all rooms share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("boards.comment_on_card", "/1/cards")
"""A write as the simulation names it, and where the request begins that carries it out."""


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing; the first of them asks the application each time."""
    return [
        ReadCall("GET", "/lists", {"board_id": known["board_id"]}),
        ReadCall("GET", "/lists", {"board_id": known["hidden_board_id"]}),
        ReadCall("POST", "/cards", {"list_id": known["hidden_list_id"], "name": "x"}),
        ReadCall("POST", "/cards", {"list_id": known["list_ids"][0], "name": "x", "labels": ["no such label"]}),
        ReadCall("POST", f"/cards/{known['hidden_card_id']}/comments", {"text": "x"}),
        ReadCall("POST", f"/cards/{known['hidden_card_id']}/move", {"list_id": known["list_ids"][0]}),
        ReadCall("POST", f"/cards/{known['hidden_card_id']}/checklists", {"name": "x", "items": ["y"]}),
    ]
