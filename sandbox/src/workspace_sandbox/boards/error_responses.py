"""Trello's errors with their verbatim texts, and responses."""

import json
from functools import partial
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import PreparedErrorResponse, VendorErrorResponse

HIDDEN = "unauthorized permission requested"
HIDDEN_CARD = "unauthorized card permission requested"
INVALID_ID = "invalid id"
INVALID_KEY = "invalid key"
LIST_NOT_FOUND = "model not found"
MISSING_SCOPES = {"message": "missing scopes"}
NOT_FOUND = "The requested resource was not found."
TOO_LONG = "<html><head><title>414 Request-URI Too Large</title></head><body></body></html>"
NO_BOARD_FOR_CARD = "could not find the board that the card belongs to"


class ApiError(VendorErrorResponse):
    """An error that ends a request with ``status`` and ``body``, encoded by ``rendered``."""

    def __init__(self, status: int, body: str | dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the response with the body and its status."""
        return to_response(self.status, self.body)


too_large = partial(ApiError, 413, "Request Entity Too Large")
failed = partial(ApiError, 500, "Internal Server Error")


def invalid(name: str) -> ApiError:
    """Return the error for a missing or malformed parameter."""
    return ApiError(400, f"invalid value for {name}")


def limit_exceeded(error: str, message: str = "Rate limit exceeded") -> ApiError:
    """Return the error for a client that exceeds a rate or size limit."""
    return ApiError(429, {"error": error, "message": message})


def unknown_route(request: web.Request, _: int) -> ApiError:
    """Return the error for an unknown path or method."""
    return ApiError(404, f"Cannot {request.method} {request.raw_path}")


def too_long() -> PreparedErrorResponse:
    """Return the error for a request line that is too long."""
    return PreparedErrorResponse(web.Response(status=414, text=TOO_LONG, content_type="text/html"))


def not_implemented(message: str) -> ApiError:
    """Return the error for a route that is not emulated, in the vendor's format."""
    return ApiError(501, {"error": "NOT_IMPLEMENTED", "message": message})


def throttled(_: EmulatorContext, __: float) -> ApiError:
    """Return the error for a token that used up its ten seconds. The vendor does not include the time to wait."""
    return limit_exceeded("API_TOKEN_LIMIT_EXCEEDED")


def to_response(status: int, body: Any) -> web.Response:
    """Return a response: plain text for a string, JSON for other values, or the response itself."""
    if isinstance(body, web.Response):
        return body
    if isinstance(body, str):
        return web.Response(status=status, text=body)
    return web.json_response(body, status=status, dumps=_dumps)


def _dumps(raw: Any) -> str:
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
