"""How the vendor answers, and refuses in its words.

There are three envelopes: ``{"error": {"type", "message"}}``, a bare ``{"error": "TYPE"}``, and, where requests are
counted, ``{"errors": [{"error", "message"}]}``.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from aiohttp import web

from workspace_sandbox.kit.refusals import Refused
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.strict_json import parse_json

COMPRESSED_FROM_BYTES = 1024

Envelope = Literal["object", "bare", "list"]


# Refusals


@dataclass
class Refusal(Refused):
    """A request that is not served, with its status, type and message."""

    status: int
    type: str
    message: str | None = None
    envelope: Envelope = "object"
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The JSON it is told with; some refusals have no message."""
        if self.envelope == "bare":
            return {"error": self.type}
        message = {} if self.message is None else {"message": self.message}
        if self.envelope == "list":
            return {"errors": [{"error": self.type, **message}]}
        return {"error": {"type": self.type, **message}}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return it."""
        return web.json_response(self.body(), status=self.status, headers=self.headers)


unparsable = partial(Refusal, 400, "BAD_REQUEST", envelope="bare")
forbidden = partial(Refusal, 403, "INVALID_PERMISSIONS", "You are not permitted to perform this operation")
# A misspelt base looks like a lack of rights, so that nobody can find out which bases there are.
no_such_model = partial(
    Refusal,
    403,
    "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND",
    "Invalid permissions, or the requested model was not found. Check that both your user and your token have "
    "the required permissions, and that the model names and/or ids are correct.",
)
# A text where all other refusals have an object.
not_found = partial(Refusal, 404, "NOT_FOUND", envelope="bare")
too_large = partial(Refusal, 413, "REQUEST_TOO_LARGE", "The request exceeds the maximum allowed size")
invalid_records = partial(Refusal, 422, "INVALID_RECORDS")
duplicate_field = partial(Refusal, 422, "DUPLICATE_OR_EMPTY_FIELD_NAME")
invalid_options = partial(Refusal, 422, "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE")
# Clients that expect every refusal to have a message fail on this one.
expired_offset = partial(Refusal, 422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE")
absent = partial(Refusal, 501, "NOT_IMPLEMENTED")
failed = partial(Refusal, 500, "SERVER_ERROR", "An unexpected error occurred")
retriable = partial(
    Refusal,
    503,
    "RETRIABLE_ERROR",
    "The request could not be processed and was not applied. It is safe to retry it.",
)


def _naming(status: int, kind: str, words: str) -> Callable[[str], Refusal]:
    """Return what makes refusals with *words* that name one thing."""
    return lambda name: Refusal(status, kind, words.format(name))


no_such_record = _naming(404, "MODEL_ID_NOT_FOUND", "Could not find a record with the ID {}")
missing = _naming(422, "INVALID_REQUEST_MISSING_FIELDS", 'Could not find field "{}" in the request body')
unknown_field = _naming(422, "UNKNOWN_FIELD_NAME", 'Unknown field name: "{}"')
invalid_value = _naming(422, "INVALID_VALUE_FOR_COLUMN", 'Field "{}" cannot accept the provided value')
computed_field = _naming(
    422, "INVALID_VALUE_FOR_COLUMN", 'Field "{}" cannot accept a value because the field is computed'
)
duplicate_table = _naming(422, "DUPLICATE_TABLE_NAME", 'Cannot create or rename a table to "{}": the name is taken')
# The refusal speaks of permissions even where the option is only misspelt: a client must not take it for a 403.
missing_option = _naming(
    422, "INVALID_MULTIPLE_CHOICE_OPTIONS", 'Insufficient permissions to create new select option ""{}""'
)
invalid_attachment = _naming(422, "INVALID_ATTACHMENT_OBJECT", 'Invalid attachment object for field "{}"')
invalid_record_id = _naming(422, "INVALID_RECORD_ID", 'Value "{}" is not a valid record ID.')
no_such_row = _naming(422, "ROW_DOES_NOT_EXIST", "Record ID {} does not exist in this table")
invalid_formula = _naming(422, "INVALID_FILTER_BY_FORMULA", "The formula for filtering records is invalid: {}")


def unauthenticated(token: str) -> Refusal:
    """No token, or one that is not good, or no longer."""
    return Refusal(
        401, "AUTHENTICATION_REQUIRED", "Invalid authentication token" if token else "Authentication required"
    )


def invalid_request(message: str | None = None) -> Refusal:
    """A parameter of the wrong shape."""
    words = "Invalid request: parameter validation failed. Check your request data."
    return Refusal(422, "INVALID_REQUEST_UNKNOWN", message or words)


def unsupported_field(place: str, kind: str) -> Refusal:
    """A type of field that is made in the application only."""
    message = f"Invalid options for {place}: Creating {kind} fields is not supported at this time"
    return Refusal(422, "UNSUPPORTED_FIELD_TYPE_FOR_CREATE", message)


def too_many_webhooks(whose: str = "") -> Refusal:
    """A webhook more than a base, or an integration in it, may have."""
    return Refusal(422, f"TOO_MANY_WEBHOOKS{whose}_IN_BASE")


def no_such_view(view: str) -> Refusal:
    """A view that the table does not have."""
    kind = "ID" if view.startswith("viw") else "NAME"
    return Refusal(422, f"VIEW_{kind}_NOT_FOUND", f"View {kind.lower()} {view} was not found")


def rate_limited(envelope: Envelope, headers: Mapping[str, str]) -> Refusal:
    """Too many requests, for the base or the token."""
    message = "Rate limit exceeded. Please try again later"
    return Refusal(429, "RATE_LIMIT_REACHED", message, envelope, headers)


def billing_limit_exceeded(envelope: Envelope) -> Refusal:
    """The calls of the month are used up."""
    message = "You have exceeded the monthly API call limit of your workspace"
    return Refusal(429, "PUBLIC_API_BILLING_LIMIT_EXCEEDED", message, envelope)


def unknown(_: web.Request, __: int) -> Refusal:
    """A path or method that the vendor does not have."""
    return not_found()


def throttled(stage: EmulatorContext, seconds: float) -> Refusal:
    """Too many requests, for the base or the token. A knob adds the header that some clients report."""
    headers = {"Retry-After": str(max(1, math.ceil(seconds)))} if stage.knobs["retry_after"] else {}
    return rate_limited(stage.knobs["throttle_envelope"], headers)


# Answers


async def body_of(request: web.Request) -> Mapping[str, Any]:
    """The JSON object of a request; what is not said to be JSON is not read as such."""
    content = await request.read()
    if not content or request.content_type != "application/json":
        return {}
    try:
        body = parse_json(content)
    except (ValueError, RecursionError):
        raise unparsable() from None
    if not isinstance(body, dict):
        raise invalid_request()
    return body


def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
    """*body* as JSON, compressed where that is worth it and welcome."""
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "ETag": f'W/"{len(content):x}-{hashlib.sha256(content).hexdigest()[:27]}"',
        "airtable-uncompressed-content-length": str(len(content)),
    }
    response = web.Response(body=content, headers=headers)
    if len(content) >= COMPRESSED_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
        response.enable_compression(web.ContentCoding.gzip)
    return response
