"""Trello's refusals, word for word, and raised from wherever in the emulator they are found out."""

from typing import Any

HIDDEN = "unauthorized permission requested"
HIDDEN_CARD = "unauthorized card permission requested"
INVALID_ID = "invalid id"
INVALID_KEY = "invalid key"
LIST_NOT_FOUND = "model not found"
MISSING_SCOPES = {"message": "missing scopes"}
NOT_FOUND = "The requested resource was not found."
NO_BOARD_FOR_CARD = "could not find the board that the card belongs to"


class Refusal(Exception):
    """Ends a request with ``status`` and ``body``: plain text for a string, JSON for anything else."""

    def __init__(self, status: int, body: str | dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


class NoSuchRoute(Exception):
    """The path looked like a route but is none; answered like any unknown one."""


def invalid(name: str) -> Refusal:
    """The refusal of a missing or malformed argument."""
    return Refusal(400, f"invalid value for {name}")


def exhausted(error: str, message: str = "Rate limit exceeded") -> Refusal:
    """The refusal of a caller who asks too often or for too much."""
    return Refusal(429, {"error": error, "message": message})
