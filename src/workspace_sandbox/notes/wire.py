"""How the vendor answers, and what it says when it turns a request down."""

import math
from functools import partial
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.refusals import Refused
from workspace_sandbox.kit.stage import EmulatorContext


class Refusal(Refused):
    """A request turned down, with everything its error object and headers say."""

    def __init__(
        self, status: int, code: str, message: str, *, additional: dict[str, Any] | None = None, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.additional = additional
        self.retry_after = retry_after

    def response(self, stage: EmulatorContext) -> web.Response:
        """Return the error object."""
        error = {"object": "error", "status": self.status, "code": self.code, "message": self.message}
        more = {"additional_data": self.additional} if self.additional else {}
        response = answered(self.status, error | more, stage.request_id())
        if self.retry_after:
            response.headers["Retry-After"] = str(self.retry_after)
        return response


bad_url = partial(Refusal, 400, "invalid_request_url", "Invalid request URL.")
absent = partial(Refusal, 501, "not_implemented")
failed = partial(Refusal, 500, "internal_server_error", "Unexpected error occurred.")
overloaded = partial(
    Refusal, 529, "service_overload", "Notion is temporarily overloaded. Please try again later.", retry_after=1
)


def invalid(message: str, **additional: Any) -> Refusal:
    """A request that does not fit what it is about."""
    return Refusal(400, "validation_error", message, additional=additional or None)


archived = partial(invalid, "Can't edit block that is archived. You must unarchive the block before editing.")
too_large = partial(invalid, "body failed validation: body.length is too large.")


def not_shared(kind: str, uid: str, integration_id: str, name: str) -> Refusal:
    """An object that is absent or not shared, which look alike."""
    # Absent and not shared answer alike, on purpose: otherwise anybody could find out what there is.
    message = (
        f"Could not find {kind} with ID: {uid}. Make sure the relevant pages and databases are shared "
        f'with your integration "{name}".'
    )
    return Refusal(404, "object_not_found", message, additional={"integration_id": integration_id})


def several_sources(database_id: str, source_ids: list[str]) -> Refusal:
    """A request by database id where the database has several data sources."""
    return invalid(
        "Databases with multiple data sources are not supported in this API version.",
        # The upgrade guide to 2025-09-03 has this error in all its fields. Clients find the data sources by it.
        error_type="multiple_data_sources_for_database",
        database_id=database_id,
        child_data_source_ids=source_ids,
        minimum_api_version="2025-09-03",
    )


def unknown(_: web.Request, __: int) -> Refusal:
    """A path or method the API does not have."""
    return bad_url()


def throttled(_: EmulatorContext, seconds: float) -> Refusal:
    """A connection that has spent its budget of requests."""
    return rate_limited(math.ceil(seconds))


def rate_limited(seconds: int) -> Refusal:
    """A connection that has spent its budget of requests."""
    return Refusal(
        429,
        "rate_limited",
        "You have been rate limited. Please try again later.",
        additional={"rate_limit_reason": "public_api_request_rate_limit", "retry_after": str(seconds)},
        retry_after=seconds,
    )


def unavailable(committed_id: str | None = None) -> Refusal:
    """A 503; with *committed_id* when the object was saved all the same."""
    message = "Notion is unavailable. Please try again later."
    if committed_id is None:
        guidance = {"retry_guidance": ["Use exponential backoff with jitter"]}
        return Refusal(503, "service_unavailable", message, additional=guidance)
    # A 503 may come after the write succeeded. Then it names what was saved (page "Status codes").
    saved = {
        "retry_guidance": ["Read the object again", "Do not repeat the write"],
        "committed_resource_id": committed_id,
    }
    return Refusal(503, "service_unavailable", message, additional=saved)


# 529 is no registered status. Libraries that know only those of the standard library fail on it.


def answered(status: int, shown: dict[str, Any], request_id: str) -> web.Response:
    """An answer."""
    # In the header and in the body, of refusals too: recorded traffic shows both.
    headers = {"x-notion-request-id": request_id}
    return web.json_response(shown | {"request_id": request_id}, status=status, headers=headers)
