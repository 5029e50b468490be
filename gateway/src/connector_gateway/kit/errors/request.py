"""Errors of requests: format, routes, parameters, cursors, idempotency keys and tool calls."""

from connector_gateway.kit.errors.base import BODY, KEY, CallerError


class InvalidJson(CallerError, status=400):
    """The body is not a JSON text."""

    location = BODY
    remedy = "Send one JSON object, encoded in UTF-8, with each key once."


class UnsupportedMediaType(CallerError, status=415):
    """The body is declared to be something other than JSON."""

    location = ("header", "Content-Type")
    remedy = "Send the header 'Content-Type: application/json'."


class PayloadTooLarge(CallerError, status=413):
    """The body is larger than the service takes."""

    location = BODY
    remedy = "Send less, for example fewer items per call."


class MalformedRequest(CallerError, status=400):
    """What was sent is not HTTP as this service understands it; the connection is closed."""

    remedy = "Send HTTP/1.1, and wait for responses before sending many more requests on one connection."


class HeadersTooLarge(CallerError, status=431):
    """Request line, headers and trailers are larger than the service takes; the connection is closed."""

    remedy = "Send fewer or shorter headers, and long values in the body."


class RequestIncomplete(CallerError, status=408):
    """The request did not arrive whole in time; nothing was done."""

    location = BODY
    remedy = "Send the complete request: its headers within 10 seconds, its body within 30."


class InvalidParameters(CallerError, status=422):
    """One or more parameters are missing, unknown or not of the expected form; ``details`` lists all of them."""

    remedy = "Correct the {parameters} listed in details."


class InvalidMessage(CallerError, status=400):
    """What an agent's program sent is no message of JSON-RPC 2.0."""

    location = BODY
    remedy = "Send one request or notification at a time, as libraries for the protocol do."


class ToolNotFound(CallerError, status=404):
    """No tool of that name is open to this key."""

    location = KEY
    remedy = "List the tools and call one of them; the list depends on the key and on the workspace's connections."


class ResultTooLarge(CallerError, status=422):
    """What was read is more than an agent is given at once."""

    remedy = "Ask for less: a smaller limit, fewer fields, or a link instead of the content."


class InvalidCursor(CallerError, status=422):
    """The cursor is damaged, or was issued for another route, connection or filter."""

    location = ("parameter", "cursor")
    remedy = (
        "Pass next_cursor of the previous response unchanged as {cursor}, with the same filters, or leave {cursor} out."
    )


class RouteNotFound(CallerError, status=404):
    """There is nothing at this address."""

    remedy = "See {routes} for what there is."


class MethodNotAllowed(CallerError, status=405):
    """The address exists, but not for this method."""

    remedy = "Use a method named in the Allow header."


class IdempotencyInProgress(CallerError, status=409):
    """A call with the same idempotency key is still being carried out."""

    location = ("parameter", "idempotency_key")
    remedy = "Wait {wait}, then repeat with the same {idempotency_key} to get the result of the first call."


class IdempotencyKeyReused(CallerError, status=422):
    """The idempotency key was used for another object: another card, another page, another channel."""

    location = ("parameter", "idempotency_key")
    remedy = (
        "Use a new {idempotency_key} for another object, or name the object of the first call to get its result; "
        "first_run_id in details is that call."
    )
