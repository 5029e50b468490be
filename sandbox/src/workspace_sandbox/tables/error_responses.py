"""Airtable's errors.

Errors have three envelopes: ``{"error": {"type", "message"}}``, a bare ``{"error": "TYPE"}``, and for rate limits
``{"errors": [{"error", "message"}]}``.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse

Envelope = Literal["object", "bare", "list"]


@dataclass
class ApiError(VendorErrorResponse):
    """An error response, with its status, type and message."""

    status: int
    type: str
    message: str | None = None
    envelope: Envelope = "object"
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """Return the JSON of the error. Some errors have no message."""
        if self.envelope == "bare":
            return {"error": self.type}
        message = {} if self.message is None else {"message": self.message}
        if self.envelope == "list":
            return {"errors": [{"error": self.type, **message}]}
        return {"error": {"type": self.type, **message}}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error as a response."""
        return web.json_response(self.body(), status=self.status, headers=self.headers)


unparsable = partial(ApiError, 400, "BAD_REQUEST", envelope="bare")
forbidden = partial(ApiError, 403, "INVALID_PERMISSIONS", "You are not permitted to perform this operation")
# An unknown base has the error of missing permissions, because clients must not be able to probe which bases exist.
no_such_model = partial(
    ApiError,
    403,
    "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND",
    "Invalid permissions, or the requested model was not found. Check that both your user and your token have "
    "the required permissions, and that the model names and/or ids are correct.",
)
# A string, although all other errors are objects.
not_found = partial(ApiError, 404, "NOT_FOUND", envelope="bare")
too_large = partial(ApiError, 413, "REQUEST_TOO_LARGE", "The request exceeds the maximum allowed size")
invalid_records = partial(ApiError, 422, "INVALID_RECORDS")
duplicate_field = partial(ApiError, 422, "DUPLICATE_OR_EMPTY_FIELD_NAME")
invalid_options = partial(ApiError, 422, "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE")
# Clients that expect a message in every error fail on this one.
expired_offset = partial(ApiError, 422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE")
not_implemented = partial(ApiError, 501, "NOT_IMPLEMENTED")
failed = partial(ApiError, 500, "SERVER_ERROR", "An unexpected error occurred")
retriable = partial(
    ApiError,
    503,
    "RETRIABLE_ERROR",
    "The request could not be processed and was not applied. It is safe to retry it.",
)


def _error_factory(status: int, kind: str, template: str) -> Callable[[str], ApiError]:
    """Return a factory of errors whose message names one thing."""
    return lambda name: ApiError(status, kind, template.format(name))


no_such_record = _error_factory(404, "MODEL_ID_NOT_FOUND", "Could not find a record with the ID {}")
missing = _error_factory(422, "INVALID_REQUEST_MISSING_FIELDS", 'Could not find field "{}" in the request body')
unknown_field = _error_factory(422, "UNKNOWN_FIELD_NAME", 'Unknown field name: "{}"')
invalid_value = _error_factory(422, "INVALID_VALUE_FOR_COLUMN", 'Field "{}" cannot accept the provided value')
computed_field = _error_factory(
    422, "INVALID_VALUE_FOR_COLUMN", 'Field "{}" cannot accept a value because the field is computed'
)
duplicate_table = _error_factory(
    422, "DUPLICATE_TABLE_NAME", 'Cannot create or rename a table to "{}": the name is taken'
)
# The error mentions permissions even if the option is only misspelt. Clients must not treat it as a 403.
missing_option = _error_factory(
    422, "INVALID_MULTIPLE_CHOICE_OPTIONS", 'Insufficient permissions to create new select option ""{}""'
)
invalid_attachment = _error_factory(422, "INVALID_ATTACHMENT_OBJECT", 'Invalid attachment object for field "{}"')
invalid_record_id = _error_factory(422, "INVALID_RECORD_ID", 'Value "{}" is not a valid record ID.')
no_such_row = _error_factory(422, "ROW_DOES_NOT_EXIST", "Record ID {} does not exist in this table")
invalid_formula = _error_factory(422, "INVALID_FILTER_BY_FORMULA", "The formula for filtering records is invalid: {}")


def unauthenticated(token: str) -> ApiError:
    """Return the error of a missing, invalid or expired token."""
    return ApiError(
        401, "AUTHENTICATION_REQUIRED", "Invalid authentication token" if token else "Authentication required"
    )


def invalid_request(message: str | None = None) -> ApiError:
    """Return the error of an invalid parameter."""
    default = "Invalid request: parameter validation failed. Check your request data."
    return ApiError(422, "INVALID_REQUEST_UNKNOWN", message or default)


def unsupported_field(path: str, kind: str) -> ApiError:
    """Return the error of a field type that can only be created in Airtable itself."""
    message = f"Invalid options for {path}: Creating {kind} fields is not supported at this time"
    return ApiError(422, "UNSUPPORTED_FIELD_TYPE_FOR_CREATE", message)


def too_many_webhooks(infix: str = "") -> ApiError:
    """Return the error of exceeding the webhooks per base, or per integration in a base."""
    return ApiError(422, f"TOO_MANY_WEBHOOKS{infix}_IN_BASE")


def no_such_view(view: str) -> ApiError:
    """Return the error of an unknown view."""
    kind = "ID" if view.startswith("viw") else "NAME"
    return ApiError(422, f"VIEW_{kind}_NOT_FOUND", f"View {kind.lower()} {view} was not found")


def rate_limited(envelope: Envelope, headers: Mapping[str, str]) -> ApiError:
    """Return the error of too many requests to the base or of the token."""
    message = "Rate limit exceeded. Please try again later"
    return ApiError(429, "RATE_LIMIT_REACHED", message, envelope, headers)


def billing_limit_exceeded(envelope: Envelope) -> ApiError:
    """Return the error of an exceeded monthly limit."""
    message = "You have exceeded the monthly API call limit of your workspace"
    return ApiError(429, "PUBLIC_API_BILLING_LIMIT_EXCEEDED", message, envelope)


def unknown_route(_: web.Request, __: int) -> ApiError:
    """Return the error of an unknown path or method."""
    return not_found()


def throttled(context: EmulatorContext, seconds: float) -> ApiError:
    """Return the error of too many requests. A knob adds the header that some clients report."""
    headers = {"Retry-After": str(max(1, math.ceil(seconds)))} if context.knobs["retry_after"] else {}
    return rate_limited(context.knobs["throttle_envelope"], headers)
