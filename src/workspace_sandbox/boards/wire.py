"""How Trello answers and refuses, word for word; refusals are raised from wherever they are found out."""

import json
from typing import Any

from aiohttp import web

HIDDEN = "unauthorized permission requested"
HIDDEN_CARD = "unauthorized card permission requested"
INVALID_ID = "invalid id"
INVALID_KEY = "invalid key"
LIST_NOT_FOUND = "model not found"
MISSING_SCOPES = {"message": "missing scopes"}
NOT_FOUND = "The requested resource was not found."
NO_BOARD_FOR_CARD = "could not find the board that the card belongs to"


class Refusal(Exception):
    """Ends a request with ``status`` and ``body``, which are answered as ``rendered`` does."""

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


def rendered(status: int, body: Any) -> web.Response:
    """An answer: plain text for a string, JSON for anything else that is none yet."""
    if isinstance(body, web.Response):
        return body
    if isinstance(body, str):
        return web.Response(status=status, text=body)
    return web.json_response(body, status=status, dumps=_dumps)


def _dumps(raw: Any) -> str:
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
