"""Meaning of the vendor's errors."""

from typing import TypeVar

from connector_gateway.connectors.tables import vendor_models
from connector_gateway.kit import errors
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")

PLAN_LIMIT_EXCEEDED = "PUBLIC_API_BILLING_LIMIT_EXCEEDED"
"""The monthly requests of the plan are used up."""

MODEL_NOT_FOUND = "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND"
"""A base or table that does not exist or is not visible to this token. The vendor does not distinguish them."""


def read_reason(response: UpstreamResponse) -> Reason | None:
    """Return type and message of an error in one of the vendor's three envelopes."""
    # Throttling responses have a different envelope.
    limits = response.try_decode(vendor_models.RateLimitError)
    if limits is not None and limits.errors:
        return Reason(limits.errors[0].error, limits.errors[0].message)
    body = response.try_decode(vendor_models.VendorError)
    error = body.error if body else ""
    reason = Reason(error) if isinstance(error, str) else Reason(error.type, error.message)
    return reason if reason.code else None


def private_text(response: UpstreamResponse) -> str:
    """Return type and message, in which the vendor names fields and values, or the body if there are none."""
    reason = read_reason(response)
    return f"{reason.code}: {reason.message}" if reason else response.text


PAGE = "airtable.com/developers/web/api/errors, read 2026-11"
TYPE = "[A-Z][A-Z0-9]*(_[A-Z0-9]+)*"

ERRORS = ErrorTable(
    read_reason,
    # A 429 that is not retried means "never", not "later".
    by_status={413: errors.FileTooLarge, 422: errors.UpstreamRefused, 429: errors.UpstreamForbidden},
    # The error of a missing option mentions permissions, but is not a 403.
    by_code={
        "INVALID_PERMISSIONS": errors.UpstreamForbidden,
        "LIST_RECORDS_ITERATOR_NOT_AVAILABLE": errors.InvalidCursor,
        "VIEW_NAME_NOT_FOUND": errors.ViewNotFound,
        "VIEW_ID_NOT_FOUND": errors.ViewNotFound,
        "UNKNOWN_FIELD_NAME": errors.FieldNotFound,
        "INVALID_MULTIPLE_CHOICE_OPTIONS": errors.SelectOptionMissing,
        PLAN_LIMIT_EXCEEDED: errors.UpstreamForbidden,
    },
    messages={
        errors.BaseNotFound: "The base does not exist or is not shared with this connection.",
        errors.FieldNotFound: "The table has no such field.",
        errors.FileTooLarge: "The vendor does not accept files of this size.",
        errors.InvalidCursor: "The vendor no longer stores the list of this cursor.",
        errors.RecordNotFound: "The table has no such record.",
        errors.SelectOptionMissing: "A select value is not a configured option, and the account may not add one.",
        errors.TableNotFound: "The table does not exist or is not shared with this connection.",
        errors.ViewNotFound: "The table has no such view.",
    },
    remedies={PLAN_LIMIT_EXCEEDED: "Wait for the next month, or upgrade the plan of the workspace in {vendor}."},
    rejections=(
        VendorRejection({400, 401, 403, 404, 413, 422}, PAGE, TYPE),
        VendorRejection({429}, "airtable.com/developers/web/api/rate-limits, read 2026-11", TYPE),
        # According to its message, the request was not processed and may be retried. This is not true of other 503s.
        VendorRejection({503}, PAGE, "RETRIABLE_ERROR"),
        VendorRejection({500}, PAGE, TYPE, only_ended=True),
    ),
    private=private_text,
)


def unwrap(
    response: UpstreamResponse,
    shape: type[W],
    missing: type[errors.GatewayError] = errors.RecordNotFound,
    model: type[errors.GatewayError] = errors.TableNotFound,
) -> W:
    """Return the body of a successful response or raise its error.

    The error is *missing* for a 404, and *model* if the vendor names a model.
    """
    return ERRORS.unwrap(response, shape, missing, {MODEL_NOT_FOUND: model})
