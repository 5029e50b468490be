"""Notion's errors, and JSON responses."""

import math
from functools import partial
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse


class ApiError(VendorErrorResponse):
    """An error with all fields of its error object and its headers."""

    def __init__(
        self, status: int, code: str, message: str, *, additional: dict[str, Any] | None = None, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.additional = additional
        self.retry_after = retry_after

    def response(self, context: EmulatorContext) -> web.Response:
        """Return the error object."""
        error = {"object": "error", "status": self.status, "code": self.code, "message": self.message}
        details = {"additional_data": self.additional} if self.additional else {}
        response = json_response(self.status, error | details, context.request_id())
        if self.retry_after:
            response.headers["Retry-After"] = str(self.retry_after)
        return response


bad_url = partial(ApiError, 400, "invalid_request_url", "Invalid request URL.")
not_implemented = partial(ApiError, 501, "not_implemented")
failed = partial(ApiError, 500, "internal_server_error", "Unexpected error occurred.")
overloaded = partial(
    ApiError, 529, "service_overload", "Notion is temporarily overloaded. Please try again later.", retry_after=1
)


def invalid(message: str, **additional: Any) -> ApiError:
    """Return the error of a request that is invalid for its object."""
    return ApiError(400, "validation_error", message, additional=additional or None)


archived = partial(invalid, "Can't edit block that is archived. You must unarchive the block before editing.")
too_large = partial(invalid, "body failed validation: body.length is too large.")


def not_shared(kind: str, uid: str, integration_id: str, name: str) -> ApiError:
    """Return the error of an object that is absent or not shared. The two are indistinguishable."""
    # Both causes have the same response on purpose, so that a bot cannot probe which objects exist.
    message = (
        f"Could not find {kind} with ID: {uid}. Make sure the relevant pages and databases are shared "
        f'with your integration "{name}".'
    )
    return ApiError(404, "object_not_found", message, additional={"integration_id": integration_id})


def several_sources(database_id: str, source_ids: list[str]) -> ApiError:
    """Return the error of a request by database id if the database has several data sources."""
    return invalid(
        "Databases with multiple data sources are not supported in this API version.",
        # The upgrade guide to 2025-09-03 documents this error with all fields. Clients find the data sources by it.
        error_type="multiple_data_sources_for_database",
        database_id=database_id,
        child_data_source_ids=source_ids,
        minimum_api_version="2025-09-03",
    )


def unknown_route(_: web.Request, __: int) -> ApiError:
    """Return the error of an unknown path or method."""
    return bad_url()


def throttled(_: EmulatorContext, seconds: float) -> ApiError:
    """Return the error of an exceeded rate limit."""
    return rate_limited(math.ceil(seconds))


def rate_limited(seconds: int) -> ApiError:
    """Return the error of an exceeded rate limit, with the seconds to wait."""
    return ApiError(
        429,
        "rate_limited",
        "You have been rate limited. Please try again later.",
        additional={"rate_limit_reason": "public_api_request_rate_limit", "retry_after": str(seconds)},
        retry_after=seconds,
    )


def unavailable(committed_id: str | None = None) -> ApiError:
    """Return a 503 error. With *committed_id*, the object was stored nevertheless."""
    message = "Notion is unavailable. Please try again later."
    if committed_id is None:
        guidance = {"retry_guidance": ["Use exponential backoff with jitter"]}
        return ApiError(503, "service_unavailable", message, additional=guidance)
    # A 503 may follow a successful write. It then names the stored object (page "Status codes").
    details = {
        "retry_guidance": ["Read the object again", "Do not repeat the write"],
        "committed_resource_id": committed_id,
    }
    return ApiError(503, "service_unavailable", message, additional=details)


# 529 is not a registered status. Libraries that only know those of the standard library fail on it.


def json_response(status: int, body: dict[str, Any], request_id: str) -> web.Response:
    """Return a JSON response."""
    # Recorded traffic shows the id in the header and in the body, of errors too.
    headers = {"x-notion-request-id": request_id}
    return web.json_response(body | {"request_id": request_id}, status=status, headers=headers)
