"""Errors of requests: format, routes, parameters, cursors, idempotency keys and tool calls."""

from connector_gateway.kit.errors.base import BODY, KEY, CallerError


class InvalidJson(CallerError, status=400):
    """The body is not valid JSON."""

    location = BODY
    remedy = "Send one JSON object, encoded in UTF-8, with each key once."


class UnsupportedMediaType(CallerError, status=415):
    """The body is not declared as JSON, or has a Content-Encoding."""

    location = ("header", "Content-Type")
    remedy = "Send the header 'Content-Type: application/json'."


class PayloadTooLarge(CallerError, status=413):
    """The body is larger than the limit."""

    location = BODY
    remedy = "Send a smaller request, for example with fewer items per call."


class MalformedRequest(CallerError, status=400):
    """The request is not valid HTTP. The connection is closed."""

    remedy = "Send HTTP/1.1, and wait for responses before sending many more requests on one connection."


class HeadersTooLarge(CallerError, status=431):
    """The request line, headers and trailers are larger than the limit. The connection is closed."""

    remedy = "Send fewer or shorter headers, and long values in the body."


class RequestIncomplete(CallerError, status=408):
    """The request did not arrive completely in time. Nothing was done."""

    location = BODY
    remedy = "Send the complete request: its headers within 10 seconds, its body within 30."


class InvalidParameters(CallerError, status=422):
    """One or more parameters are missing, unknown or invalid; ``details`` lists all of them."""

    remedy = "Correct the {parameters} listed in details."


class InvalidMessage(CallerError, status=400):
    """The message of an MCP client is not valid JSON-RPC 2.0."""

    location = BODY
    remedy = "Send one request or notification at a time, as MCP client libraries do."


class ToolNotFound(CallerError, status=404):
    """No tool with that name is available to this key."""

    location = KEY
    remedy = "List the tools and call one of them. The list depends on the key and on the workspace's connections."


class ResultTooLarge(CallerError, status=422):
    """The result is larger than the limit for agents."""

    remedy = "Request less: a smaller limit, fewer fields, or a link instead of the content."


class InvalidCursor(CallerError, status=422):
    """The cursor is invalid, or was issued for another route, connection or filter."""

    location = ("parameter", "cursor")
    remedy = (
        "Pass next_cursor of the previous response unchanged as {cursor}, with the same filters, or leave {cursor} out."
    )


class RouteNotFound(CallerError, status=404):
    """This route does not exist."""

    remedy = "See {routes} for what is available."


class MethodNotAllowed(CallerError, status=405):
    """The route does not support this method."""

    remedy = "Use a method from the Allow header."


class IdempotencyInProgress(CallerError, status=409):
    """A call with the same idempotency key is still in progress."""

    location = ("parameter", "idempotency_key")
    remedy = "Wait {wait}, then repeat with the same {idempotency_key} to get the result of the first call."


class IdempotencyKeyReused(CallerError, status=422):
    """The idempotency key was used for another object: another card, page or channel."""

    location = ("parameter", "idempotency_key")
    remedy = (
        "Use a new {idempotency_key} for another object, or name the object of the first call to get its result. The "
        "first call is first_run_id in details."
    )
