"""How Trello answers and refuses, word for word; refusals are raised from wherever they are found out."""

import json
from functools import partial
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.refusals import Refused, RefusedWith
from workspace_sandbox.kit.stage import EmulatorContext

HIDDEN = "unauthorized permission requested"
HIDDEN_CARD = "unauthorized card permission requested"
INVALID_ID = "invalid id"
INVALID_KEY = "invalid key"
LIST_NOT_FOUND = "model not found"
MISSING_SCOPES = {"message": "missing scopes"}
NOT_FOUND = "The requested resource was not found."
TOO_LONG = "<html><head><title>414 Request-URI Too Large</title></head><body></body></html>"
NO_BOARD_FOR_CARD = "could not find the board that the card belongs to"


class Refusal(Refused):
    """Ends a request with ``status`` and ``body``, which are answered as ``rendered`` does."""

    def __init__(self, status: int, body: str | dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the body under its status."""
        return rendered(self.status, self.body)


too_large = partial(Refusal, 413, "Request Entity Too Large")
failed = partial(Refusal, 500, "Internal Server Error")


def invalid(name: str) -> Refusal:
    """The refusal of a missing or malformed argument."""
    return Refusal(400, f"invalid value for {name}")


def exhausted(error: str, message: str = "Rate limit exceeded") -> Refusal:
    """The refusal of a caller who asks too often or for too much."""
    return Refusal(429, {"error": error, "message": message})


def unknown(request: web.Request, _: int) -> Refusal:
    """A path or method that the vendor does not have."""
    return Refusal(404, f"Cannot {request.method} {request.raw_path}")


def too_long() -> RefusedWith:
    """A request line that is too long."""
    return RefusedWith(web.Response(status=414, text=TOO_LONG, content_type="text/html"))


def absent(message: str) -> Refusal:
    """A route that is not played, in the vendor's words for what it cannot do."""
    return Refusal(501, {"error": "NOT_IMPLEMENTED", "message": message})


def throttled(_: EmulatorContext, __: float) -> Refusal:
    """A token that has spent its ten seconds; the vendor does not say how long to wait."""
    return exhausted("API_TOKEN_LIMIT_EXCEEDED")


def rendered(status: int, body: Any) -> web.Response:
    """An answer: plain text for a string, JSON for anything else that is none yet."""
    if isinstance(body, web.Response):
        return body
    if isinstance(body, str):
        return web.Response(status=status, text=body)
    return web.json_response(body, status=status, dumps=_dumps)


def _dumps(raw: Any) -> str:
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
