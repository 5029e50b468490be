"""How the vendor answers, and refuses in its words.

There are three envelopes: ``{"error": {"type", "message"}}``, a bare ``{"error": "TYPE"}``, and, where requests are
counted, ``{"errors": [{"error", "message"}]}``.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from aiohttp import web

from workspace_sandbox.kit.refusals import Refused
from workspace_sandbox.kit.stage import Stage

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

    def response(self, _: Stage) -> web.Response:
        """Return it."""
        return web.json_response(self.body(), status=self.status, headers=self.headers)


def unparsable() -> Refusal:
    """A body that is not JSON."""
    return Refusal(400, "BAD_REQUEST", envelope="bare")


def unauthenticated(token: str) -> Refusal:
    """No token, or one that is not good, or no longer."""
    return Refusal(
        401, "AUTHENTICATION_REQUIRED", "Invalid authentication token" if token else "Authentication required"
    )


def forbidden() -> Refusal:
    """A scope or a role that is too low, or a table that takes no writes."""
    return Refusal(403, "INVALID_PERMISSIONS", "You are not permitted to perform this operation")


def no_such_model() -> Refusal:
    """A base or table that is not there, or not for this token: which of the two is not told."""
    return Refusal(
        403,
        # A misspelt base looks like a lack of rights, so that nobody can find out which bases there are.
        "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND",
        "Invalid permissions, or the requested model was not found. Check that both your user and your token have "
        "the required permissions, and that the model names and/or ids are correct.",
    )


def not_found() -> Refusal:
    """A route or an object that is not there."""
    # A text where all other refusals have an object.
    return Refusal(404, "NOT_FOUND", envelope="bare")


def no_such_record(identifier: str) -> Refusal:
    """A record of the path that cannot be changed, being none of the table's."""
    return Refusal(404, "MODEL_ID_NOT_FOUND", f"Could not find a record with the ID {identifier}")


def too_large() -> Refusal:
    """A body, or a file in it, over the vendor's limit."""
    return Refusal(413, "REQUEST_TOO_LARGE", "The request exceeds the maximum allowed size")


def invalid_request(message: str | None = None) -> Refusal:
    """A parameter of the wrong shape."""
    words = "Invalid request: parameter validation failed. Check your request data."
    return Refusal(422, "INVALID_REQUEST_UNKNOWN", message or words)


def missing(name: str) -> Refusal:
    """A body without a key it must have."""
    return Refusal(422, "INVALID_REQUEST_MISSING_FIELDS", f'Could not find field "{name}" in the request body')


def invalid_records(message: str) -> Refusal:
    """A list of records that is empty, too long or contradicts itself."""
    return Refusal(422, "INVALID_RECORDS", message)


def unknown_field(name: str) -> Refusal:
    """A field that the table does not have."""
    return Refusal(422, "UNKNOWN_FIELD_NAME", f'Unknown field name: "{name}"')


def invalid_value(name: str) -> Refusal:
    """A value that the type of the field does not take."""
    return Refusal(422, "INVALID_VALUE_FOR_COLUMN", f'Field "{name}" cannot accept the provided value')


def computed_field(name: str) -> Refusal:
    """A write to a field that nobody writes."""
    message = f'Field "{name}" cannot accept a value because the field is computed'
    return Refusal(422, "INVALID_VALUE_FOR_COLUMN", message)


def duplicate_table(name: str) -> Refusal:
    """A name that another table of the base has."""
    return Refusal(422, "DUPLICATE_TABLE_NAME", f'Cannot create or rename a table to "{name}": the name is taken')


def duplicate_field() -> Refusal:
    """A name that another field of the table has, or none."""
    return Refusal(422, "DUPLICATE_OR_EMPTY_FIELD_NAME")


def invalid_options(message: str) -> Refusal:
    """Options that a field of the type cannot be made with."""
    return Refusal(422, "INVALID_FIELD_TYPE_OPTIONS_FOR_CREATE", message)


def unsupported_field(place: str, kind: str) -> Refusal:
    """A type of field that is made in the application only."""
    message = f"Invalid options for {place}: Creating {kind} fields is not supported at this time"
    return Refusal(422, "UNSUPPORTED_FIELD_TYPE_FOR_CREATE", message)


def too_many_webhooks(whose: str = "") -> Refusal:
    """A webhook more than a base, or an integration in it, may have."""
    return Refusal(422, f"TOO_MANY_WEBHOOKS{whose}_IN_BASE")


def missing_option(name: str) -> Refusal:
    """A select option that is not there, and may not be made; the name stands in two pairs of quotes."""
    # The refusal speaks of permissions even where the option is only misspelt: a client must not take it for a 403.
    message = f'Insufficient permissions to create new select option ""{name}""'
    return Refusal(422, "INVALID_MULTIPLE_CHOICE_OPTIONS", message)


def invalid_attachment(name: str) -> Refusal:
    """An attachment that can neither be fetched nor kept."""
    return Refusal(422, "INVALID_ATTACHMENT_OBJECT", f'Invalid attachment object for field "{name}"')


def invalid_record_id(value: str) -> Refusal:
    """A link to something that is no record identifier."""
    return Refusal(422, "INVALID_RECORD_ID", f'Value "{value}" is not a valid record ID.')


def no_such_row(identifier: str) -> Refusal:
    """A record of the body that is not there."""
    return Refusal(422, "ROW_DOES_NOT_EXIST", f"Record ID {identifier} does not exist in this table")


def no_such_view(view: str) -> Refusal:
    """A view that the table does not have."""
    kind = "ID" if view.startswith("viw") else "NAME"
    return Refusal(422, f"VIEW_{kind}_NOT_FOUND", f"View {kind.lower()} {view} was not found")


def expired_offset() -> Refusal:
    """An offset whose list is no longer kept; told without a message."""
    # Clients that expect every refusal to have a message fail on this one.
    return Refusal(422, "LIST_RECORDS_ITERATOR_NOT_AVAILABLE")


def invalid_formula(reason: str) -> Refusal:
    """A filter that is not understood."""
    message = f"The formula for filtering records is invalid: {reason}"
    return Refusal(422, "INVALID_FILTER_BY_FORMULA", message)


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


def absent(message: str) -> Refusal:
    """A route that is not played."""
    return Refusal(501, "NOT_IMPLEMENTED", message)


def throttled(stage: Stage, seconds: float) -> Refusal:
    """Too many requests, for the base or the token. A knob adds the header that some clients report."""
    headers = {"Retry-After": str(max(1, math.ceil(seconds)))} if stage.knobs["retry_after"] else {}
    return rate_limited(stage.knobs["throttle_envelope"], headers)


def failed() -> Refusal:
    """A fault of the stand-in itself."""
    return Refusal(500, "SERVER_ERROR", "An unexpected error occurred")


def retriable() -> Refusal:
    """A write that was not done, and may be repeated safely."""
    message = "The request could not be processed and was not applied. It is safe to retry it."
    return Refusal(503, "RETRIABLE_ERROR", message)


# Answers


async def body_of(request: web.Request) -> Mapping[str, Any]:
    """The JSON object of a request; what is not said to be JSON is not read as such."""
    content = await request.read()
    if not content or request.content_type != "application/json":
        return {}
    try:
        body = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise unparsable() from None
    if not isinstance(body, dict):
        raise invalid_request()
    return body


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


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
