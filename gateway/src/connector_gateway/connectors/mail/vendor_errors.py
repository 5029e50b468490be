"""Meaning of the vendor's errors."""

from typing import NoReturn, TypeVar

from connector_gateway.connectors.mail import vendor_models
from connector_gateway.kit import errors
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")


def parse_error_body(response: UpstreamResponse) -> vendor_models.ErrorBody:
    """Return the vendor's error, which is empty if the response has another shape."""
    body = response.try_decode(vendor_models.VendorError)
    return vendor_models.ErrorBody() if body is None else body.error


def get_error_reason(response: UpstreamResponse) -> str:
    """Return the vendor's reason of an error, or an empty string."""
    error = parse_error_body(response)
    return next((detail.reason for detail in (*error.errors, *error.details) if detail.reason), "")


def read_reason(response: UpstreamResponse) -> Reason | None:
    """Return the reason or status of an error in the vendor's shape, which repeats the HTTP status."""
    error = parse_error_body(response)
    code = get_error_reason(response) or error.status
    return Reason(code, error.message) if code and error.code in {None, response.status} else None


HANDLING = "developers.google.com/workspace/gmail/api/guides/handle-errors, read 2026-11"
CANONICAL = "cloud.google.com/apis/design/errors, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    by_status={409: errors.UpstreamConflict, 413: errors.UpstreamRefused, 414: errors.UpstreamRefused},
    by_code={
        "insufficientPermissions": errors.ConnectionScopeMissing,
        "accessNotConfigured": errors.UpstreamUnexpected,
        "failedPrecondition": errors.UpstreamForbidden,
    },
    messages={
        errors.AttachmentNotFound: "The message has no such attachment.",
        errors.ConnectionScopeMissing: "The connection was authorised without a permission that this operation needs.",
        errors.InvalidCursor: "The vendor no longer recognises the cursor.",
        errors.MessageNotFound: "The mailbox has no such message.",
        errors.ThreadNotFound: "The mailbox has no such thread.",
        errors.UpstreamConflict: "The vendor rejected the write because of another change.",
    },
    remedies={
        "failedPrecondition": (
            "Check the message and the account: the labels of a draft cannot be changed, "
            "and the account's mail service must be enabled."
        ),
    },
    rejections=(
        # The reasons have several spellings. Only the shape and the status are reliable.
        VendorRejection({400, 401, 403, 429}, HANDLING),
        VendorRejection({404, 409, 413}, CANONICAL),
        VendorRejection({500}, HANDLING, "backendError|internalError|INTERNAL", only_ended=True),
    ),
)


def unwrap(
    response: UpstreamResponse, shape: type[W], missing: type[errors.GatewayError] | None = None, *, named: bool = False
) -> W:
    """Return the body of a successful response, or raise its error as ``raise_error`` does."""
    if not response.is_success:
        raise_error(response, missing, named=named)
    return response.decode(shape)


def raise_error(
    response: UpstreamResponse, missing: type[errors.GatewayError] | None = None, *, named: bool = False
) -> NoReturn:
    """Raise the error of a failed request.

    The error is *missing* for a 404, and for a 400 if only an identifier was *named*.
    """
    error = ERRORS.classify(response, missing)
    raise ERRORS.create_error(response, missing if missing and named and error is errors.UpstreamRefused else error)
