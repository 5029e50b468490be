"""Errors of API keys, operator tokens, signatures and rate limits."""

from connector_gateway.kit.errors.base import KEY, CallerError


class MissingApiKey(CallerError, status=401):
    """The request carries no ``Authorization: Bearer`` header."""

    location = KEY
    remedy = "Call with {authorization}."


class InvalidApiKey(CallerError, status=401):
    """The key is unknown, revoked or expired."""

    location = KEY
    remedy = "Use a key that is neither revoked nor expired; an operator creates a new one with {create_key}."


class InvalidSignature(CallerError, status=401):
    """A delivery to a hook is not signed, wrongly signed, or too old."""

    remedy = "Sign the raw body with the secret that is set as {HOOK_SECRET}, and send it immediately."


class WriteScopeRequired(CallerError, status=403):
    """A key with read scope calls an operation that writes."""

    location = KEY
    remedy = "Use a key whose scope is read_write; an operator creates one with {create_key}."


class OperationNotAllowed(CallerError, status=403):
    """The key is limited to other operations."""

    location = KEY
    remedy = (
        "Use another {operation}, or a key that allows this one; an operator sees what a key allows with {list_keys}."
    )


class OriginNotAllowed(CallerError, status=403):
    """A web page of another origin, or a name that does not belong to this service, asks at the address for agents."""

    location = ("header", "Origin")
    remedy = "Connect from a program instead of a web page, or use the address that is set as GATEWAY_BASE_URL."


class OperatorTokenRequired(CallerError, status=403):
    """A management route is called without the operator's token, and with a key that has no right to it."""

    location = KEY
    remedy = "Use the token of an operator. For connections, a key with manages_connections will do."


class AdminRoleRequired(CallerError, status=403):
    """An operator whose role is viewer tries to change something."""

    location = KEY
    remedy = "Use the token of an operator whose role is admin; {list_operators} shows the roles."


class RateLimited(CallerError, status=429):
    """The key has used up its calls of the rolling minute, or too many wrong tokens come from the address."""

    location = KEY
    remedy = "Wait {wait}, then call again."
