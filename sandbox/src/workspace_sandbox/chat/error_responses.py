"""Slack's errors, and the warnings of responses."""

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import PreparedErrorResponse, VendorErrorResponse

if TYPE_CHECKING:
    pass


def with_warnings(body: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """Return *body* with warnings, which Slack sends with success and error responses alike."""
    # A missing charset causes a warning, but the request succeeds: clients must not treat warnings as errors.
    if not warnings:
        return body
    metadata = body.get("response_metadata", {}) | {"warnings": warnings}
    return body | {"warning": ",".join(warnings), "response_metadata": metadata}


# Slack sends errors with status 200. Only 429 and internal errors have their own status.
class ApiError(VendorErrorResponse):
    """Ends a method with ``ok: false`` and this code. *details* are further keys of the response."""

    def __init__(self, code: str, status: int = 200, headers: Mapping[str, str] | None = None, **details: Any) -> None:
        super().__init__(code)
        self.code = code
        self.status = status
        self.headers = headers
        self.details = details

    def body(self) -> dict[str, Any]:
        """Return the response body."""
        return {"ok": False, "error": self.code, **self.details}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the response."""
        return web.json_response(self.body(), status=self.status, headers=self.headers)


too_large = partial(ApiError, "request_too_large", 413)
failed = partial(ApiError, "internal_error", 500)


def rate_limited(seconds: float, code: str = "ratelimited") -> ApiError:
    """Return the error for too many requests, which can be retried after *seconds*."""
    # ``Retry-After`` is in whole seconds. A zero would cause an immediate retry.
    return ApiError(code, 429, {"Retry-After": str(max(1, math.ceil(seconds)))})


def unknown_route(request: web.Request, status: int) -> VendorErrorResponse:
    """Return the error for an unknown method, or a page."""
    if request.path.startswith("/api/"):
        return ApiError("unknown_method", req_method=request.path.removeprefix("/api/"))
    page = "<!doctype html><title>There has been a glitch</title>"
    return PreparedErrorResponse(web.Response(status=status, text=page, content_type="text/html"))


def not_implemented(message: str) -> ApiError:
    """Return the error for a method that is not emulated."""
    return ApiError("not_implemented", 501, detail=message)


def throttled(_: EmulatorContext, seconds: float) -> ApiError:
    """Return the error for too many requests."""
    return rate_limited(seconds)


def invalid_arguments(*messages: str) -> ApiError:
    """Return the error for invalid arguments, with a line for each of them."""
    return ApiError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {line}" for line in messages]})
