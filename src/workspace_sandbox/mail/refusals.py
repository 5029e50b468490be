"""Every error body that the vendor sends, by name."""

from collections.abc import Callable, Mapping
from functools import partial

from aiohttp import web

from workspace_sandbox.kit.clock import instant
from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.mail.wire import ErrorDetail, Refusal

SIGN_IN = (
    "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
    "See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
QUOTA = (
    "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service "
    "'gmail.googleapis.com' for consumer 'project_number:482910337701'."
)
RPC = "caribou.api.proto.MailboxService."
NO_RAW = "'raw' RFC822 payload message string or uploading message via /upload/* URL required"


invalid = partial(Refusal, 400, "INVALID_ARGUMENT", "invalidArgument")
not_found = partial(Refusal, 404, "NOT_FOUND", "notFound", "Requested entity was not found.")
# The reason was seen in several spellings. Only the status is to be relied on.
conflict = partial(Refusal, 409, "ALREADY_EXISTS", "duplicate")
too_large = partial(Refusal, 413, "INVALID_ARGUMENT", "uploadTooLarge", "Request Entity Too Large")
absent = partial(Refusal, 501, "UNIMPLEMENTED", "notImplemented")
failed = partial(Refusal, 500, "INTERNAL", "backendError", "Internal error encountered.")


def unbindable(message: str, path: str = "") -> Refusal:
    """A request whose names or types are not the vendor's."""
    violation: dict[str, str] = ({"field": path} if path else {}) | {"description": message}
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    return Refusal(400, "INVALID_ARGUMENT", "invalid", message, details=details)


def unknown_parameter(name: str) -> Refusal:
    """A query parameter that the method does not have."""
    return unbindable(
        f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
        f"Field '{name}' could not be found in request message."
    )


def unknown_name(name: str, path: str) -> Refusal:
    """A field of the JSON body that the message type does not have."""
    where = f" at '{path}'" if path else ""
    return unbindable(f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.', path)


def invalid_value(path: str, kind: str, value: str) -> Refusal:
    """A field or parameter of the wrong type."""
    return unbindable(f"Invalid value at '{path}' ({kind}), {value}", path)


def unparsable(what: str) -> Refusal:
    """A body that is not JSON."""
    return Refusal(400, "INVALID_ARGUMENT", "parseError", f"Invalid JSON payload received. {what}")


def bad_mask(mask: str) -> Refusal:
    """A ``fields`` parameter that selects what there is not."""
    violation = {
        "field": mask,
        "description": f"Error expanding 'fields' parameter. Cannot find matching fields for path '{mask}'.",
    }
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    message = "Request contains an invalid argument."
    return Refusal(400, "INVALID_ARGUMENT", "badRequest", message, details=details)


def precondition(message: str = "Precondition check failed.") -> Refusal:
    """A request that this object cannot take now."""
    return Refusal(400, "FAILED_PRECONDITION", "failedPrecondition", message)


def payload_too_large(limit: int) -> Refusal:
    """A JSON body beyond the limit of the front end."""
    return Refusal(400, "INVALID_ARGUMENT", "badRequest", f"Request payload size exceeds the limit: {limit} bytes.")


def missing_credential(rpc: str) -> Refusal:
    """A request without a token."""
    return Refusal(
        401,
        "UNAUTHENTICATED",
        "required",
        f"Request is missing required authentication credential. {SIGN_IN}",
        short="Login Required.",
        location="Authorization",
        details=[_info("CREDENTIALS_MISSING", "googleapis.com", rpc)],
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'},
    )


def invalid_credential(_: str = "") -> Refusal:
    """A token that is unknown, expired or revoked."""
    return Refusal(
        401,
        "UNAUTHENTICATED",
        "authError",
        f"Request had invalid authentication credentials. {SIGN_IN}",
        short="Invalid Credentials",
        location="Authorization",
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/", error="invalid_token"'},
    )


def missing_scope(rpc: str) -> Refusal:
    """A token without the scope that the method wants."""
    return Refusal(
        403,
        "PERMISSION_DENIED",
        "insufficientPermissions",
        "Request had insufficient authentication scopes.",
        short="Insufficient Permission",
        details=[_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "googleapis.com", rpc)],
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/", error="insufficient_scope"'},
    )


def metadata_scope(what: str) -> Refusal:
    """What a token of the metadata scope alone may not do."""
    message = f"Metadata scope does not support {what}"
    return Refusal(403, "PERMISSION_DENIED", "forbidden", message)


def delegation_denied(user: str) -> Refusal:
    """A mailbox that is not the token's own."""
    return Refusal(403, "PERMISSION_DENIED", "forbidden", f"Delegation denied for {user}")


def quota(_: float) -> Refusal:
    """The minute's units are spent: the form that only says so."""
    # A throttle that looks like a refusal of rights: by the guide on errors, both 403 and 429 mean "too fast".
    return Refusal(403, "PERMISSION_DENIED", "rateLimitExceeded", QUOTA, domain="usageLimits")


def retry_after_403(until: float) -> Refusal:
    """The minute's units are spent: the older form that names a time."""
    return Refusal(403, "PERMISSION_DENIED", "userRateLimitExceeded", _retry_text(until), domain="usageLimits")


def retry_after_429(until: float) -> Refusal:
    """The same as a 429; also how the daily sending limit is told."""
    return Refusal(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", _retry_text(until))


def exhausted(_: float) -> Refusal:
    """The minute's units are spent: the form without any figure."""
    message = "Resource has been exhausted (e.g. check quota)."
    return Refusal(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", message)


def concurrent(_: float = 0) -> Refusal:
    """More requests at once than a user may have."""
    return Refusal(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", "Too many concurrent requests for user.")


def unknown(request: web.Request, _: int) -> Refusal:
    """An address that the vendor does not have."""
    return page_not_found(request.method, request.path)


def throttled(stage: EmulatorContext, seconds: float) -> Refusal:
    """The minute's units are spent, in the dialect that the knob ``throttle`` names."""
    return THROTTLES[stage.knobs["throttle"]](stage.now() + seconds)


def page_not_found(method: str, path: str) -> Refusal:
    """An address that the vendor does not have, answered by its front end."""
    message = f"The requested URL <code>{method} {path}</code> was not found on this server."
    return Refusal(404, "Not Found", "notFound", message, html=True)


THROTTLES: Mapping[str, Callable[[float], Refusal]] = {
    "quota": quota,
    "retry_after_403": retry_after_403,
    "retry_after_429": retry_after_429,
    "exhausted": exhausted,
}
"""The dialects of an exceeded minute, by the value of the knob ``throttle``; each is given the time it is over."""


def forced(name: str, rpc: str, now: float) -> Refusal:
    """The refusal that the knob ``force`` asks for."""
    if name in THROTTLES:
        return THROTTLES[name](now + 30)
    return FORCED[name](rpc)


def _failed(code: int, status: str, reason: str, message: str, *, html: bool = False) -> Callable[[str], Refusal]:
    return lambda _: Refusal(code, status, reason, message, html=html)


FORCED: Mapping[str, Callable[[str], Refusal]] = {
    "unauthenticated": invalid_credential,
    "scope": missing_scope,
    "concurrency": lambda _: concurrent(),
    "daily_limit": lambda _: Refusal(
        403, "PERMISSION_DENIED", "dailyLimitExceeded", "Daily Limit Exceeded", domain="usageLimits"
    ),
    "domain_policy": _failed(
        403, "PERMISSION_DENIED", "domainPolicy", "The domain administrators have disabled Gmail apps."
    ),
    "api_disabled": lambda rpc: Refusal(
        403,
        "PERMISSION_DENIED",
        "accessNotConfigured",
        "Gmail API has not been used in project 482910337701 before or it is disabled.",
        domain="usageLimits",
        details=[_info("SERVICE_DISABLED", "googleapis.com", rpc)],
    ),
    "mail_disabled": lambda _: precondition("Mail service not enabled"),
    "backend_error": _failed(500, "INTERNAL", "backendError", "Backend Error"),
    "unavailable": _failed(503, "UNAVAILABLE", "backendError", "The service is currently unavailable."),
    # The front end answers before the API is reached, and knows no JSON.
    "unavailable_html": _failed(
        503, "Service Unavailable", "backendError", "The service you requested is not available yet.", html=True
    ),
}
"""What the knob ``force`` may name beside the throttles."""


def _retry_text(until: float) -> str:
    stamp = instant(until).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # The time stands in the text alone: Gmail sends no ``Retry-After`` with it.
    return f"User-rate limit exceeded.  Retry after {stamp}"


def _info(reason: str, domain: str, rpc: str) -> ErrorDetail:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": {"service": "gmail.googleapis.com", "method": f"{RPC}{rpc}"},
    }
