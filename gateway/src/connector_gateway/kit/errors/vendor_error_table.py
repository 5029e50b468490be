"""The meaning of a vendor's error responses: one table per connector.

After a write was sent, only a response among the table's rejections shows that nothing was done. Every other response
leaves the write in doubt: an edge in front of the vendor may return any status while the request goes on behind it.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from connector_gateway.kit import errors
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")
Error = type[errors.GatewayError]

STATUSES: Mapping[int, Error] = {
    400: errors.UpstreamRefused,
    401: errors.ConnectionRevoked,
    403: errors.UpstreamForbidden,
}
"""The errors of statuses that mean the same for all vendors."""

MESSAGES: Mapping[Error, str] = {
    errors.ConnectionRevoked: "The authorisation of this connection was withdrawn.",
    errors.UpstreamForbidden: "The vendor does not allow this connection to do that.",
    errors.UpstreamRefused: "The vendor rejected the values.",
    errors.UpstreamUnexpected: "The vendor returned an error that this gateway does not recognise.",
}

ERRORS_WITH_REASON = frozenset({errors.UpstreamConflict, errors.UpstreamForbidden, errors.UpstreamRefused})
"""Errors with many causes. Our message is general, so they include the vendor's own reason."""

REASON_KEYS = frozenset({"vendor_code", "vendor_message"})
"""The fields of a detail that contain the vendor's own reason."""

MAX_MESSAGE = 500
"""The maximum number of characters of a vendor's message that are passed on."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_SECRETS = re.compile(
    r"((?:key|token|secret|password|authorization|\boauth_\w+)[\"']?\s*[=:]\s*[\"']?(?:bearer\s+)?)[^\s&\"',;}]+"
    r"|\bbearer\s+\S+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reason:
    """A vendor's own code and message for an error, or empty if there are none."""

    code: str = ""
    message: object = ""


@dataclass(frozen=True, slots=True)
class VendorRejection:
    """Responses with which a vendor rejects a request before it changes anything."""

    statuses: Container[int]
    source: str
    """The vendor's documentation page for this."""

    codes: str = ".*"
    """A regular expression for the vendor's whole code, or for its whole message if it has no code."""

    only_ended: bool = False
    """True if the response only proves that the vendor has stopped processing, so that a search shows the outcome."""

    def matches(self, status: int, reason: Reason) -> bool:
        """Return True if a response with this status and reason is one of these."""
        subject = reason.code or str(reason.message)
        return status in self.statuses and re.fullmatch(self.codes, subject, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The error table of one connector, which extends the entries common to all vendors."""

    parse_reason: Callable[[UpstreamResponse], Reason | None] = lambda _: None
    """Return the reason of an error response, or None if it is not an error in the vendor's own shape."""

    by_status: Mapping[int, Error] = field(default_factory=dict)
    by_code: Mapping[str, Error] = field(default_factory=dict)
    """The errors of single codes, whatever the status."""

    messages: Mapping[Error, str] = field(default_factory=dict)
    remedies: Mapping[str | Error, str] = field(default_factory=dict)
    """Remedies of single codes or errors, for which the catalogue's do not fit."""

    rejections: Sequence[VendorRejection] = ()
    """The responses that prove that nothing was done."""

    private: Callable[[UpstreamResponse], str] = attrgetter("text")
    """Return the text for the log."""

    def unwrap(
        self,
        response: UpstreamResponse,
        shape: type[W],
        missing: Error | None = None,
        codes: Mapping[str, Error] | None = None,
    ) -> W:
        """Return the body of a successful response as *shape*, or raise the error of the response."""
        if response.is_success:
            return response.decode(shape)
        raise self.create_error(response, self.classify(response, missing, codes))

    def classify(
        self, response: UpstreamResponse, missing: Error | None = None, codes: Mapping[str, Error] | None = None
    ) -> Error:
        """Return the error class of a failed request: by *codes*, by the table's codes, then by status.

        *missing* is the class for a 404.
        """
        code = self.reason(response).code
        by_vendor_code = (codes or {}).get(code) or self.by_code.get(code)
        by_status = {**STATUSES, **self.by_status} if missing is None else {**STATUSES, **self.by_status, 404: missing}
        return by_vendor_code or by_status.get(response.status, errors.UpstreamUnexpected)

    def create_error(self, response: UpstreamResponse, error: Error, *details: errors.Detail) -> errors.GatewayError:
        """Create an error with its message and remedy, and with the vendor's reason if the error has many causes."""
        reason = self.reason(response)
        explained = error in ERRORS_WITH_REASON and not any(REASON_KEYS & detail.keys() for detail in details)
        vendor_details = reason_details(reason.code, reason.message) if explained else []
        remedy = self.remedies.get(reason.code) or self.remedies.get(error)
        created = error(self.message(error), *details, *vendor_details, private=self.private(response), remedy=remedy)
        if isinstance(created, errors.UpstreamUnexpected):
            created.vendor_code = reason.code or f"status_{response.status}"
        return created

    def reason(self, response: UpstreamResponse) -> Reason:
        """Return the reason of an error response, or an empty one if it is not in the vendor's own shape."""
        return self.parse_reason(response) or Reason()

    def message(self, error: Error) -> str:
        """Return the message of an error, by default the first line of its docstring."""
        return self.messages.get(error) or MESSAGES.get(error) or (error.__doc__ or error.code).partition("\n")[0]

    def in_doubt_reason(self, response: UpstreamResponse) -> errors.InDoubtReason | None:
        """Return why the outcome of a write with this response is unknown, or None if nothing was done."""
        reason = self.parse_reason(response)
        rows = self.rejections if reason else ()
        row = next((row for row in rows if row.matches(response.status, reason or Reason())), None)
        if row is None:
            return "garbled" if response.is_success else "edge"
        return "failed" if row.only_ended else None


NO_ERRORS = ErrorTable()
"""An empty table for connectors without one: every failed write is in doubt."""


def reason_details(code: object, message: object) -> list[errors.Detail]:
    """Return the detail with a vendor's own code and message, or no detail if there is no text."""
    cleaned = {"vendor_code": _clean(code, 100), "vendor_message": _clean(message, MAX_MESSAGE)}
    reason = {name: value for name, value in cleaned.items() if value}
    return [reason] if reason else []


def _clean(value: object, max_length: int) -> str:
    """Return text on one line without credentials, or an empty text for any other value."""
    if not isinstance(value, str):
        return ""
    text = _SECRETS.sub(lambda match: f"{match[1] or ''}…", _UNPRINTABLE.sub(" ", value)).strip()
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
