"""Errors that the vendor causes."""

from connector_gateway.kit.errors.base import CONNECTION, UpstreamFailure


class UpstreamForbidden(UpstreamFailure, status=403):
    """The third party's plan, policy or permissions forbid this."""

    location = CONNECTION
    remedy = "Ask an administrator of the account in {vendor} to allow it."


class UpstreamRefused(UpstreamFailure, status=422):
    """The third party understood the request and refused its values."""

    remedy = (
        "Check the values against what {vendor} accepts; its own reason, if it gave one, is vendor_message in details."
    )


class UpstreamConflict(UpstreamFailure, status=409):
    """A collision with another change: the application refused, or a call that goes first takes too long."""

    remedy = "Call again once. If the conflict persists, change the value that vendor_message in details names."


class UpstreamRateLimited(UpstreamFailure, status=429):
    """The third party's budget is used up for longer than a call may wait."""

    location = CONNECTION
    remedy = "Wait {wait}, then retry."


class UpstreamError(UpstreamFailure, status=502):
    """The third party failed, or answered something that cannot be read."""

    remedy = "Call again later; if it persists, report the run_id to the operator."


class ResponseTooLarge(UpstreamError):
    """The third party answered more than is read at once; told as ``UpstreamError`` where less cannot be asked for."""

    remedy = "Ask for less at once: a smaller limit, or a narrower search."


class UpstreamUnexpected(UpstreamFailure, status=502):
    """The third party answered or refused in a way that is not known here."""

    remedy = "Report the run_id to the operator; {show_run} explains the call."


class UpstreamTimeout(UpstreamFailure, status=504):
    """The third party did not answer in time."""

    remedy = "Call again later."


class UpstreamUnavailable(UpstreamFailure, status=503):
    """The third party cannot be reached; nothing was sent."""

    remedy = "Call again later."


class OutcomeUnknown(UpstreamFailure, status=502):
    """A write was sent, its answer never came, and looking it up did not settle whether it was done."""

    remedy = "Look in {vendor} whether it was done; repeating with the same {idempotency_key} is safe."
