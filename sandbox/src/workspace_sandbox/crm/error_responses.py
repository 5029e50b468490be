"""HubSpot's errors: an exception, and a function for each error."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import PreparedErrorResponse, VendorErrorResponse

OAUTH_HELP = "https://developers.hubspot.com/docs/methods/auth/oauth-overview"
SCOPES_HELP = "https://developers.hubspot.com/scopes"

HTML = "<html><head><title>{status} {reason}</title></head><body><h1>{status} {reason}</h1></body></html>"


class ApiError(VendorErrorResponse):
    """Ends a request with the vendor's error. ``more`` contains the keys of particular errors."""

    def __init__(
        self, status: int, category: str, message: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status = status
        self.category = category
        self.message = message
        self.headers = dict(headers or {})
        self.more = more

    def body(self, correlation_id: str) -> dict[str, Any]:
        """Return the response body."""
        envelope = {"status": "error", "message": self.message, "correlationId": correlation_id}
        return envelope | self.more | {"category": self.category}

    def response(self, context: EmulatorContext) -> web.Response:
        """Return the response with the ID of the request."""
        correlation_id = context.request_id()
        headers = {"X-HubSpot-Correlation-Id": correlation_id, **self.headers}
        return web.json_response(self.body(correlation_id), status=self.status, headers=headers)

    def entry(self) -> dict[str, Any]:
        """Return the error as one of several in a multi-status response."""
        fields = {"status": "error", "category": self.category, "message": self.message}
        return fields | {"context": {}, "errors": [], "links": {}} | self.more


class OAuthError(ApiError):
    """Ends a token request with an OAuth error in addition to the vendor's own fields."""

    def __init__(self, error: str, status_word: str, message: str) -> None:
        super().__init__(400, status_word, message)
        self.error = error

    def body(self, correlation_id: str) -> dict[str, Any]:
        """Return the response body."""
        del correlation_id
        # Both formats in one body, as in HubSpot. Clients read either of them.
        fields = {"error": self.error, "error_description": self.message}
        return fields | {"status": self.category, "message": self.message}


@dataclass(frozen=True, slots=True)
class PropertyViolation:
    """The error of one property value."""

    name: str
    code: str
    message: str


def invalid(message: str, **more: Any) -> ApiError:
    """Return the error for an invalid request."""
    return ApiError(400, "VALIDATION_ERROR", message, **more)


def malformed(reason: str) -> ApiError:
    """Return the error for a body of the wrong structure."""
    return invalid(f"Invalid input JSON on line 1, column 1: {reason}")


def invalid_properties(violations: Iterable[PropertyViolation], portal_id: int) -> ApiError:
    """Return the error for invalid property values, with the list as JSON in its message."""
    violations = list(violations)
    embedded = [
        {
            "isValid": False,
            "message": violation.message,
            "error": violation.code,
            "name": violation.name,
            "localizedErrorMessage": violation.message,
            "portalId": portal_id,
        }
        for violation in violations
    ]
    # JSON inside the text of a JSON response. The list in ``errors`` has less detail, so users parse the text.
    text = json.dumps(embedded, ensure_ascii=False, separators=(",", ":"))
    return invalid(f"Property values were not valid: {text}", errors=[_detail(violation) for violation in violations])


def invalid_search(*violations: PropertyViolation) -> ApiError:
    """Return the error for a search with unknown properties."""
    return invalid("There was a problem with the request.", errors=[_detail(violation) for violation in violations])


def unknown_property(name: str) -> PropertyViolation:
    """Return the error for an unknown property."""
    return PropertyViolation(name, "PROPERTY_DOESNT_EXIST", f'Property "{name}" does not exist')


def missing_properties(label: str, names: Iterable[str]) -> ApiError:
    """Return the error for a new record without required properties."""
    names = list(names)
    message = f"Error creating {label}. Some required properties were not set."
    error = {"message": message, "code": "REQUIRED_FIELD", "context": {"properties": names}}
    return invalid(message, errors=[error], context={"properties": names})


def invalid_associations(invalid_ids: Iterable[str]) -> ApiError:
    """Return the error for associations with missing records."""
    message = "One or more associations are not valid"
    error = {"message": message, "code": "INVALID_OBJECT_IDS", "context": {"invalidObjectIds": list(invalid_ids)}}
    return invalid(message, errors=[error], subCategory="crm.associations.INVALID_OBJECT_IDS")


def not_found(identifier: str) -> ApiError:
    """Return the error for a missing record."""
    # The two spaces are HubSpot's own.
    message = "Object not found.  objectId are usually numeric."
    return ApiError(404, "OBJECT_NOT_FOUND", message, context={"id": [identifier]})


def contact_exists(identifier: str) -> ApiError:
    """Return the error for the email address of another contact, whose ID is only in the text."""
    # No field contains the ID. Clients parse this sentence, so its wording must be exact.
    return ApiError(409, "CONFLICT", f"Contact already exists. Existing ID: {identifier}")


def value_taken(identifier: str, holder: str, **coordinates: Any) -> ApiError:
    """Return the error for a duplicate value of a unique property."""
    coordinate_text = ", ".join(f"{name}={value}" for name, value in coordinates.items())
    message = (
        f"Cannot set PropertyValueCoordinates{{{coordinate_text}}} on {identifier}. {holder} already has that value."
    )
    return ApiError(409, "CONFLICT", message)


def unauthenticated() -> ApiError:
    """Return the error for a missing or unknown token."""
    message = (
        "Authentication credentials not found. This API supports OAuth 2.0 authentication "
        f"and you can find more details at {OAUTH_HELP}"
    )
    return ApiError(401, "INVALID_AUTHENTICATION", message, headers={"x-hubspot-auth-failure": "401 Unauthorized"})


def expired(seconds_ago: int, expired_at: str) -> ApiError:
    """Return the error for an expired token."""
    # "0 second(s) ago" is a real response, because clocks differ and a token can expire in transit.
    message = f"The OAuth token used to make this call expired {seconds_ago} second(s) ago."
    return ApiError(401, "EXPIRED_AUTHENTICATION", message, context={"expire time": [expired_at]})


def missing_scopes(required: Iterable[str]) -> ApiError:
    """Return the error for a token without any of the required scopes."""
    message = (
        "This app hasn't been granted all required scopes to make this call. "
        f"Read more about required scopes here: {SCOPES_HELP}."
    )
    error = {
        "message": "One or more of the following scopes are required.",
        "context": {"requiredGranularScopes": list(required)},
    }
    return ApiError(403, "MISSING_SCOPES", message, errors=[error], links={"scopes": SCOPES_HELP})


def too_many(policy: str, limit_name: str, headers: Mapping[str, str]) -> ApiError:
    """Return the error for an exceeded budget."""
    message = f"You have reached your {limit_name} limit."
    return ApiError(429, "RATE_LIMITS", message, headers=headers, errorType="RATE_LIMIT", policyName=policy)


def _detail(violation: PropertyViolation) -> dict[str, Any]:
    return {"message": violation.message, "code": violation.code, "context": {"propertyName": [violation.name]}}


def error_page(status: int, reason: str) -> PreparedErrorResponse:
    """Return an HTML error page, as sent by the vendor's infrastructure."""
    text = HTML.format(status=status, reason=reason)
    return PreparedErrorResponse(web.Response(status=status, text=text, content_type="text/html"))


resource_not_found = partial(ApiError, 404, "OBJECT_NOT_FOUND", "resource not found")
too_large = partial(error_page, 413, "Request Entity Too Large")
not_implemented = partial(ApiError, 501, "NOT_IMPLEMENTED")
failed = partial(ApiError, 500, "INTERNAL_ERROR", "internal error")


def unknown_route(_: web.Request, status: int) -> PreparedErrorResponse:
    """Return the error for an unknown path or method."""
    return error_page(status, HTTPStatus(status).phrase)


def throttled(_: EmulatorContext, __: float) -> ApiError:
    """Return the error for an app that used up its ten seconds. The vendor does not include the time to wait."""
    return too_many("TEN_SECONDLY_ROLLING", "ten_secondly_rolling", {})
