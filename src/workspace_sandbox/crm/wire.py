"""How the vendor answers and refuses: pages and batches, one exception for refusals, and a function for each."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.values import timestamp
from workspace_sandbox.kit.refusals import Refused, RefusedWith
from workspace_sandbox.kit.stage import EmulatorContext

OAUTH_HELP = "https://developers.hubspot.com/docs/methods/auth/oauth-overview"
SCOPES_HELP = "https://developers.hubspot.com/scopes"

HTML = "<html><head><title>{status} {reason}</title></head><body><h1>{status} {reason}</h1></body></html>"


class ApiError(Refused):
    """Ends a request with the vendor's error envelope; ``more`` holds the keys that only some errors have."""

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
        """The envelope, ready to be sent."""
        envelope = {"status": "error", "message": self.message, "correlationId": correlation_id}
        return envelope | self.more | {"category": self.category}

    def response(self, stage: EmulatorContext) -> web.Response:
        """Return the envelope with the identifier of the request."""
        correlation_id = stage.request_id()
        headers = {"X-HubSpot-Correlation-Id": correlation_id, **self.headers}
        return web.json_response(self.body(correlation_id), status=self.status, headers=headers)

    def entry(self) -> dict[str, Any]:
        """The same error as one of several in a multi-status answer."""
        said = {"status": "error", "category": self.category, "message": self.message}
        return said | {"context": {}, "errors": [], "links": {}} | self.more


class GrantRejection(ApiError):
    """Ends a request to the token pages, which speak OAuth beside the vendor's own words."""

    def __init__(self, error: str, status_word: str, message: str) -> None:
        super().__init__(400, status_word, message)
        self.error = error

    def body(self, correlation_id: str) -> dict[str, Any]:
        """The OAuth error, ready to be sent."""
        del correlation_id
        # Both dialects in one body: HubSpot's token pages answer so, and clients read one or the other.
        said = {"error": self.error, "error_description": self.message}
        return said | {"status": self.category, "message": self.message}


@dataclass(frozen=True, slots=True)
class PropertyFault:
    """Why one property value is not accepted."""

    name: str
    code: str
    message: str


def invalid(message: str, **more: Any) -> ApiError:
    """A request that does not make sense."""
    return ApiError(400, "VALIDATION_ERROR", message, **more)


def malformed(reason: str) -> ApiError:
    """A body that cannot be read into the shape the vendor expects."""
    return invalid(f"Invalid input JSON on line 1, column 1: {reason}")


def invalid_properties(faults: Iterable[PropertyFault], portal_id: int) -> ApiError:
    """Values that break their definitions; the vendor embeds the list as JSON in the message."""
    faults = list(faults)
    embedded = [
        {
            "isValid": False,
            "message": fault.message,
            "error": fault.code,
            "name": fault.name,
            "localizedErrorMessage": fault.message,
            "portalId": portal_id,
        }
        for fault in faults
    ]
    # JSON within the text of a JSON answer. The list under ``errors`` says less; users parse the text.
    text = json.dumps(embedded, ensure_ascii=False, separators=(",", ":"))
    return invalid(f"Property values were not valid: {text}", errors=[_detail(fault) for fault in faults])


def invalid_search(*faults: PropertyFault) -> ApiError:
    """A search over properties that do not exist."""
    return invalid("There was a problem with the request.", errors=[_detail(fault) for fault in faults])


def unknown_property(name: str) -> PropertyFault:
    """A property that the portal does not have."""
    return PropertyFault(name, "PROPERTY_DOESNT_EXIST", f'Property "{name}" does not exist')


def missing_properties(label: str, names: Iterable[str]) -> ApiError:
    """A record created without what it, or the portal's rules, demand."""
    names = list(names)
    message = f"Error creating {label}. Some required properties were not set."
    error = {"message": message, "code": "REQUIRED_FIELD", "context": {"properties": names}}
    return invalid(message, errors=[error], context={"properties": names})


def invalid_associations(invalid_ids: Iterable[str]) -> ApiError:
    """Associations with records that are not there."""
    message = "One or more associations are not valid"
    error = {"message": message, "code": "INVALID_OBJECT_IDS", "context": {"invalidObjectIds": list(invalid_ids)}}
    return invalid(message, errors=[error], subCategory="crm.associations.INVALID_OBJECT_IDS")


def not_found(identifier: str) -> ApiError:
    """A record that is not there."""
    # The two blanks are HubSpot's own.
    message = "Object not found.  objectId are usually numeric."
    return ApiError(404, "OBJECT_NOT_FOUND", message, context={"id": [identifier]})


def contact_exists(identifier: str) -> ApiError:
    """An address that another contact has; the only place that names it is the text."""
    # No field carries the identifier. Clients take it out of this sentence, so the wording has to stay exact.
    return ApiError(409, "CONFLICT", f"Contact already exists. Existing ID: {identifier}")


def value_taken(identifier: str, holder: str, **coordinates: Any) -> ApiError:
    """A value of a unique property that another record has."""
    told = ", ".join(f"{name}={value}" for name, value in coordinates.items())
    message = f"Cannot set PropertyValueCoordinates{{{told}}} on {identifier}. {holder} already has that value."
    return ApiError(409, "CONFLICT", message)


def unauthenticated() -> ApiError:
    """No token, or none that the vendor knows."""
    message = (
        "Authentication credentials not found. This API supports OAuth 2.0 authentication "
        f"and you can find more details at {OAUTH_HELP}"
    )
    return ApiError(401, "INVALID_AUTHENTICATION", message, headers={"x-hubspot-auth-failure": "401 Unauthorized"})


def expired(seconds_ago: int, expired_at: str) -> ApiError:
    """A token past its half hour."""
    # "0 second(s) ago" is a real answer: clocks differ, and a token may end on its way.
    message = f"The OAuth token used to make this call expired {seconds_ago} second(s) ago."
    return ApiError(401, "EXPIRED_AUTHENTICATION", message, context={"expire time": [expired_at]})


def missing_scopes(required: Iterable[str]) -> ApiError:
    """A token without any of the scopes that would do."""
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
    """A request over one of the budgets."""
    message = f"You have reached your {limit_name} limit."
    return ApiError(429, "RATE_LIMITS", message, headers=headers, errorType="RATE_LIMIT", policyName=policy)


def _detail(fault: PropertyFault) -> dict[str, Any]:
    return {"message": fault.message, "code": fault.code, "context": {"propertyName": [fault.name]}}


# Answers


def paged(request: web.Request, results: list[dict[str, Any]], after: str | None, **more: Any) -> web.Response:
    """A page, which says where the next one starts if there is one."""
    answer: dict[str, Any] = {**more, "results": results}
    if after is not None:
        link = request.url.update_query(after=after)
        answer["paging"] = {"next": {"after": after, "link": str(link)}}
    return web.json_response(answer)


def batch(
    now: float, results: list[dict[str, Any]], errors: Iterable[ApiError] = (), *, status: int = 200
) -> web.Response:
    """The answer to a batch; with errors beside the results it is a 207."""
    at = timestamp(now)
    answer: dict[str, Any] = {"status": "COMPLETE", "results": results, "startedAt": at, "completedAt": at}
    if failed := [error.entry() for error in errors]:
        answer |= {"numErrors": len(failed), "errors": failed}
        # A batch of which a part failed is a success by its status line. Who looks at nothing else misses it.
        status = 207
    return web.json_response(answer, status=status)


def page(status: int, reason: str) -> RefusedWith:
    """The page that stands in for an answer where no application answered."""
    text = HTML.format(status=status, reason=reason)
    return RefusedWith(web.Response(status=status, text=text, content_type="text/html"))


resource_not_found = partial(ApiError, 404, "OBJECT_NOT_FOUND", "resource not found")
too_large = partial(page, 413, "Request Entity Too Large")
absent = partial(ApiError, 501, "NOT_IMPLEMENTED")
failed = partial(ApiError, 500, "INTERNAL_ERROR", "internal error")


# Refusals of what no route answers


def unknown(_: web.Request, status: int) -> RefusedWith:
    """A path or method that the vendor does not have."""
    return page(status, HTTPStatus(status).phrase)


def throttled(_: EmulatorContext, __: float) -> ApiError:
    """An application that has spent its ten seconds; the vendor does not say how long to wait."""
    return too_many("TEN_SECONDLY_ROLLING", "ten_secondly_rolling", {})
