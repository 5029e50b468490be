"""Gmail's errors: an exception, and a function for each error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse
from workspace_sandbox.mail.raw_http import HTML, Reply

SIGN_IN = (
    "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
    "See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
QUOTA = (
    "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service "
    "'gmail.googleapis.com' for consumer 'project_number:482910337701'."
)
RPC = "caribou.api.proto.MailboxService."
PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n  <title>Error {code} ({title})!!1</title>\n"
    "  <p><b>{code}.</b> <ins>That&rsquo;s an error.</ins>\n  <p>{message}  <ins>That&rsquo;s all we know.</ins>\n"
)
NO_RAW = "'raw' RFC822 payload message string or uploading message via /upload/* URL required"

ErrorDetail = dict[str, Any]


@dataclass(eq=False)
class ApiError(VendorErrorResponse):
    """An error response of the API."""

    code: int
    status: str
    reason: str
    message: str
    short: str = ""
    domain: str = "global"
    location: str = ""
    details: list[ErrorDetail] = field(default_factory=list)
    headers: Mapping[str, str] = field(default_factory=dict)
    html: bool = False

    @property
    def body(self) -> dict[str, Any]:
        """The JSON error object."""
        first = {"message": self.short or self.message, "domain": self.domain, "reason": self.reason}
        if self.location:
            first |= {"location": self.location, "locationType": "header"}
        error = {"code": self.code, "message": self.message, "errors": [first], "status": self.status}
        return {"error": error | ({"details": self.details} if self.details else {})}

    @property
    def page(self) -> str:
        """The HTML error page of the vendor's front end."""
        return PAGE.format(code=self.code, title=self.status, message=self.message)

    @property
    def reply(self) -> Reply:
        """The error as a response, which can be part of a batch."""
        if self.html:
            return Reply(self.code, self.page.encode(), {"Content-Type": HTML})
        return Reply.json(self.body, self.code, headers=self.headers)

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error as a response."""
        return self.reply.response


invalid = partial(ApiError, 400, "INVALID_ARGUMENT", "invalidArgument")
not_found = partial(ApiError, 404, "NOT_FOUND", "notFound", "Requested entity was not found.")
# Several spellings of the reason have been reported. Only the status is reliable.
conflict = partial(ApiError, 409, "ALREADY_EXISTS", "duplicate")
too_large = partial(ApiError, 413, "INVALID_ARGUMENT", "uploadTooLarge", "Request Entity Too Large")
not_implemented = partial(ApiError, 501, "UNIMPLEMENTED", "notImplemented")
failed = partial(ApiError, 500, "INTERNAL", "backendError", "Internal error encountered.")


def unbindable(message: str, path: str = "") -> ApiError:
    """Return the error of a request whose names or types are invalid."""
    violation: dict[str, str] = ({"field": path} if path else {}) | {"description": message}
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    return ApiError(400, "INVALID_ARGUMENT", "invalid", message, details=details)


def unknown_parameter(name: str) -> ApiError:
    """Return the error of an unknown query parameter."""
    return unbindable(
        f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
        f"Field '{name}' could not be found in request message."
    )


def unknown_name(name: str, path: str) -> ApiError:
    """Return the error of an unknown field in the JSON body."""
    suffix = f" at '{path}'" if path else ""
    return unbindable(f'Invalid JSON payload received. Unknown name "{name}"{suffix}: Cannot find field.', path)


def invalid_value(path: str, kind: str, value: str) -> ApiError:
    """Return the error of a field or parameter of the wrong type."""
    return unbindable(f"Invalid value at '{path}' ({kind}), {value}", path)


def unparsable(what: str) -> ApiError:
    """Return the error of a body that is not JSON."""
    return ApiError(400, "INVALID_ARGUMENT", "parseError", f"Invalid JSON payload received. {what}")


def bad_mask(mask: str) -> ApiError:
    """Return the error of a ``fields`` parameter that selects an unknown field."""
    violation = {
        "field": mask,
        "description": f"Error expanding 'fields' parameter. Cannot find matching fields for path '{mask}'.",
    }
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]
    message = "Request contains an invalid argument."
    return ApiError(400, "INVALID_ARGUMENT", "badRequest", message, details=details)


def precondition(message: str = "Precondition check failed.") -> ApiError:
    """Return the error of a request that conflicts with the state of its object."""
    return ApiError(400, "FAILED_PRECONDITION", "failedPrecondition", message)


def payload_too_large(limit: int) -> ApiError:
    """Return the front end's error of a JSON body that exceeds the limit."""
    return ApiError(400, "INVALID_ARGUMENT", "badRequest", f"Request payload size exceeds the limit: {limit} bytes.")


def missing_credential(rpc: str) -> ApiError:
    """Return the error of a request without a token."""
    return ApiError(
        401,
        "UNAUTHENTICATED",
        "required",
        f"Request is missing required authentication credential. {SIGN_IN}",
        short="Login Required.",
        location="Authorization",
        details=[_info("CREDENTIALS_MISSING", "googleapis.com", rpc)],
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'},
    )


def invalid_credential(_: str = "") -> ApiError:
    """Return the error of a token that is unknown, expired or revoked."""
    return ApiError(
        401,
        "UNAUTHENTICATED",
        "authError",
        f"Request had invalid authentication credentials. {SIGN_IN}",
        short="Invalid Credentials",
        location="Authorization",
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/", error="invalid_token"'},
    )


def missing_scope(rpc: str) -> ApiError:
    """Return the error of a token without a required scope."""
    return ApiError(
        403,
        "PERMISSION_DENIED",
        "insufficientPermissions",
        "Request had insufficient authentication scopes.",
        short="Insufficient Permission",
        details=[_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "googleapis.com", rpc)],
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/", error="insufficient_scope"'},
    )


def metadata_scope(what: str) -> ApiError:
    """Return the error of a request that the metadata scope does not cover."""
    message = f"Metadata scope does not support {what}"
    return ApiError(403, "PERMISSION_DENIED", "forbidden", message)


def delegation_denied(user: str) -> ApiError:
    """Return the error of a request for a mailbox that is not the token's own."""
    return ApiError(403, "PERMISSION_DENIED", "forbidden", f"Delegation denied for {user}")


def quota(_: float) -> ApiError:
    """Return the error of an exceeded minute in the form without a time."""
    # A throttle with status 403: by the guide on errors, both 403 and 429 can mean "too many requests".
    return ApiError(403, "PERMISSION_DENIED", "rateLimitExceeded", QUOTA, domain="usageLimits")


def retry_after_403(until: float) -> ApiError:
    """Return the error of an exceeded minute in the older form with a time and status 403."""
    return ApiError(403, "PERMISSION_DENIED", "userRateLimitExceeded", _retry_text(until), domain="usageLimits")


def retry_after_429(until: float) -> ApiError:
    """Return the error of an exceeded minute, or of the daily sending limit, with a time and status 429."""
    return ApiError(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", _retry_text(until))


def exhausted(_: float) -> ApiError:
    """Return the error of an exceeded minute in the form without any figure."""
    message = "Resource has been exhausted (e.g. check quota)."
    return ApiError(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", message)


def concurrent(_: float = 0) -> ApiError:
    """Return the error of too many concurrent requests of a user."""
    return ApiError(429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", "Too many concurrent requests for user.")


def unknown_route(request: web.Request, _: int) -> ApiError:
    """Return the error of an unknown path."""
    return page_not_found(request.method, request.path)


def throttled(context: EmulatorContext, seconds: float) -> ApiError:
    """Return the error of an exceeded minute in the form that the knob ``throttle`` names."""
    return THROTTLES[context.knobs["throttle"]](context.now() + seconds)


def page_not_found(method: str, path: str) -> ApiError:
    """Return the front end's error of an unknown path."""
    message = f"The requested URL <code>{method} {path}</code> was not found on this server."
    return ApiError(404, "Not Found", "notFound", message, html=True)


THROTTLES: Mapping[str, Callable[[float], ApiError]] = {
    "quota": quota,
    "retry_after_403": retry_after_403,
    "retry_after_429": retry_after_429,
    "exhausted": exhausted,
}
"""The forms of the error of an exceeded minute, by the value of ``throttle``. Each takes the time of its end."""


def forced(name: str, rpc: str, now: float) -> ApiError:
    """Return the error that the knob ``force`` requests."""
    if name in THROTTLES:
        return THROTTLES[name](now + 30)
    return FORCED[name](rpc)


def _failed(code: int, status: str, reason: str, message: str, *, html: bool = False) -> Callable[[str], ApiError]:
    return lambda _: ApiError(code, status, reason, message, html=html)


FORCED: Mapping[str, Callable[[str], ApiError]] = {
    "unauthenticated": invalid_credential,
    "scope": missing_scope,
    "concurrency": lambda _: concurrent(),
    "daily_limit": lambda _: ApiError(
        403, "PERMISSION_DENIED", "dailyLimitExceeded", "Daily Limit Exceeded", domain="usageLimits"
    ),
    "domain_policy": _failed(
        403, "PERMISSION_DENIED", "domainPolicy", "The domain administrators have disabled Gmail apps."
    ),
    "api_disabled": lambda rpc: ApiError(
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
    # The front end responds before the API is reached, in HTML.
    "unavailable_html": _failed(
        503, "Service Unavailable", "backendError", "The service you requested is not available yet.", html=True
    ),
}
"""The values of the knob ``force`` besides the throttles."""


def _retry_text(until: float) -> str:
    # The time is only in the text: Gmail sends no ``Retry-After`` with it.
    return f"User-rate limit exceeded.  Retry after {format_timestamp(until)}"


def _info(reason: str, domain: str, rpc: str) -> ErrorDetail:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": {"service": "gmail.googleapis.com", "method": f"{RPC}{rpc}"},
    }
