"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("boards.comment_on_card", "/1/cards")
"""The name of a write in the simulation, and the start of the path of its vendor request."""


def list_reads(examples: Examples) -> Sequence[ReadCall]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    return [
        ReadCall("GET", "/lists", {"board_id": examples["board_id"]}),
        ReadCall("GET", "/lists", {"board_id": examples["hidden_board_id"]}),
        ReadCall("POST", "/cards", {"list_id": examples["hidden_list_id"], "name": "x"}),
        ReadCall("POST", "/cards", {"list_id": examples["list_ids"][0], "name": "x", "labels": ["no such label"]}),
        ReadCall("POST", f"/cards/{examples['hidden_card_id']}/comments", {"text": "x"}),
        ReadCall("POST", f"/cards/{examples['hidden_card_id']}/move", {"list_id": examples["list_ids"][0]}),
        ReadCall("POST", f"/cards/{examples['hidden_card_id']}/checklists", {"name": "x", "items": ["y"]}),
    ]
