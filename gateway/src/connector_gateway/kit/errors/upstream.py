"""Errors that the vendor causes."""

from connector_gateway.kit.errors.base import CONNECTION, UpstreamFailure


class UpstreamForbidden(UpstreamFailure, status=403):
    """The vendor's plan, policy or permissions forbid this."""

    location = CONNECTION
    remedy = "Ask an administrator of the account in {vendor} to allow it."


class UpstreamRefused(UpstreamFailure, status=422):
    """The vendor understood the request and rejected its values."""

    remedy = (
        "Check the values against what {vendor} accepts. If it gave a reason, vendor_message in details contains it."
    )


class UpstreamConflict(UpstreamFailure, status=409):
    """The request conflicts with another change: the vendor rejected it, or a call that goes first takes too long."""

    remedy = "Call again once. If the conflict persists, change the value that vendor_message in details names."


class UpstreamRateLimited(UpstreamFailure, status=429):
    """The vendor's rate limit is used up for longer than a call may wait."""

    location = CONNECTION
    remedy = "Wait {wait}, then retry."


class UpstreamError(UpstreamFailure, status=502):
    """The vendor failed, or returned a response that cannot be read."""

    remedy = "Call again later. If the error persists, report the run_id to the operator."


class ResponseTooLarge(UpstreamError):
    """The vendor's response is too large. Published as ``UpstreamError`` if a smaller one cannot be requested."""

    remedy = "Request less: a smaller limit, or a narrower search."


class UpstreamUnexpected(UpstreamFailure, status=502):
    """The vendor returned a response or an error that this gateway does not recognise."""

    remedy = "Report the run_id to the operator; {show_run} explains the call."

    vendor_code: str = ""
    """The unknown code, or the status if there is none. Empty if the response has an unknown shape."""


class UpstreamTimeout(UpstreamFailure, status=504):
    """The vendor did not respond in time."""

    remedy = "Call again later."


class UpstreamUnavailable(UpstreamFailure, status=503):
    """The vendor cannot be reached. Nothing was sent."""

    remedy = "Call again later."


class OutcomeUnknown(UpstreamFailure, status=502):
    """A write was sent but got no response, and a search could not establish whether it took effect."""

    remedy = (
        "Check in {vendor} whether the write took effect, or retry with the same {idempotency_key}, which is safe; "
        "if a retry_after is given, after that many seconds."
    )
