"""Errors of API keys, operator tokens, signatures and rate limits."""

from connector_gateway.kit.errors.base import KEY, CallerError


class MissingApiKey(CallerError, status=401):
    """The request has no ``Authorization: Bearer`` header."""

    location = KEY
    remedy = "Call with {authorization}."


class InvalidApiKey(CallerError, status=401):
    """The key is unknown, revoked or expired."""

    location = KEY
    remedy = "Use a key that is neither revoked nor expired. An operator can create a new one with {create_key}."


class InvalidSignature(CallerError, status=401):
    """The signature of a vendor's webhook request is missing, wrong or too old."""

    remedy = "Sign the raw request body with the secret that is set as {HOOK_SECRET}, and send it promptly."


class WriteScopeRequired(CallerError, status=403):
    """A key with read scope calls an operation that writes."""

    location = KEY
    remedy = "Use a key with the scope read_write. An operator can create one with {create_key}."


class ConfirmationRequired(CallerError, status=409):
    """The key requires that a person confirms this write. Nothing was written; ``dry_run`` is what would be."""

    location = KEY
    remedy = (
        "Show dry_run to a person. If they agree, repeat exactly this call within five minutes with the "
        "confirmation_token in details as {confirmation}."
    )


class ConfirmationDeclined(CallerError, status=409):
    """A person was asked through the agent's client, and declined this write. Nothing was written."""

    location = KEY
    remedy = "Do not repeat the call. Ask the user what should be different."


class OperationNotAllowed(CallerError, status=403):
    """The key does not allow this operation."""

    location = KEY
    remedy = (
        "Use another {operation}, or a key that allows this one. An operator can see what a key allows with "
        "{list_keys}."
    )


class OriginNotAllowed(CallerError, status=403):
    """The MCP endpoint was called from a web page of another origin, or with a host name that is not this service's."""

    location = ("header", "Origin")
    remedy = "Connect from a program instead of a web page, or use the URL that is set as GATEWAY_BASE_URL."


class OperatorTokenRequired(CallerError, status=403):
    """A management route was called without an operator's token, and with a key that does not allow it."""

    location = KEY
    remedy = "Use the token of an operator. For connections, a key with manages_connections also works."


class AdminRoleRequired(CallerError, status=403):
    """An operator with the role viewer requested a change."""

    location = KEY
    remedy = "Use the token of an operator with the role admin; {list_operators} shows the roles."


class RateLimited(CallerError, status=429):
    """The key has used up its calls of the rolling minute, or the client's network has sent too many wrong tokens."""

    location = KEY
    remedy = "Wait {wait}, then call again."
