"""Asana's errors. Source: developers.asana.com/docs/errors, read 2026-11."""

from collections.abc import Mapping
from math import ceil
from types import MappingProxyType
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse


class AsanaError(VendorErrorResponse):
    """An error in Asana's form."""

    def __init__(
        self,
        status: int,
        message: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self._status, self._headers, self._fields = status, headers, fields

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error."""
        body = {"errors": [{"message": str(self)}], **self._fields}
        return web.json_response(body, status=self._status, headers=self._headers)


def unknown_route(request: web.Request, _: int) -> AsanaError:
    """Return the error for an unknown path or method, which is the same for both."""
    return AsanaError(404, f"No matching route for request: {request.method} {request.path}")


def too_large() -> AsanaError:
    """Return the error for a large body."""
    return AsanaError(413, "The request is too large.")


def not_implemented(message: str) -> AsanaError:
    """Return the error for a route of Asana that is not emulated."""
    return AsanaError(501, message)


def throttled(_: EmulatorContext, seconds: float) -> AsanaError:
    """Return the error for a client that has to wait. The delay is in whole seconds."""
    message = "You've made too many requests and hit a rate limit. Please retry after the given amount of time."
    return AsanaError(429, message, {"Retry-After": str(ceil(seconds))})


def failed() -> AsanaError:
    """Return Asana's internal error, which has a phrase for its support."""
    return AsanaError(500, "Server Error")


def unauthorised() -> AsanaError:
    """Return the error for a missing or invalid token."""
    return AsanaError(401, "Not Authorized")


def unknown_object(parameter: str, value: str, status: int = 404) -> AsanaError:
    """Return the error for an object that does not exist, or that the user cannot see."""
    return AsanaError(status, f"{parameter}: Unknown object: {value}")


def no_sync_token(sync: str) -> AsanaError:
    """Return the error for a sync token that is missing or too old, with a new one."""
    message = (
        "Sync token invalid or too old. If you are attempting to keep resources in sync, you must fetch the full "
        "dataset for this query now and use the new sync token for the next sync."
    )
    return AsanaError(412, message, fields={"sync": sync})
