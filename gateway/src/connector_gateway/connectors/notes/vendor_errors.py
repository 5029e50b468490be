"""Meaning of the vendor's errors, and errors of property values that reference unknown objects."""

import re
from collections.abc import Mapping
from typing import TypeVar
from uuid import UUID

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.kit import errors
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection, reason_details
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")
Names = Mapping[str, tuple[str, str]]
"""Kind and name of the properties that reference pages or people, by the identifiers of these."""

NO_NAMES: Names = {}

_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b")
COLLISION = "conflict_error"


def read_reason(response: UpstreamResponse) -> Reason | None:
    """Return the code and message of an error in the vendor's shape. An HTML page of its front end has none."""
    error = response.try_decode(vendor_models.VendorError)
    if error is None or error.object != "error" or error.status not in {None, response.status}:
        return None
    return Reason(error.code, error.message) if isinstance(error.code, str) else None


STATUS_CODES = "developers.notion.com/reference/status-codes, read 2026-11"
LIMITS = "developers.notion.com/reference/request-limits, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    # A 409 with any other code means a full table, and a 429 that is not retried means "blocked".
    by_status={409: errors.UpstreamForbidden, 413: errors.UpstreamRefused, 429: errors.UpstreamForbidden},
    by_code={COLLISION: errors.UpstreamConflict},
    messages={
        errors.DatabaseNotShared: "The database does not exist or is not shared with this connection.",
        errors.PageNotFound: "The page does not exist or is not shared with this connection.",
        errors.UpstreamConflict: "The vendor rejected the write because another change was being saved.",
    },
    rejections=(
        VendorRejection(
            {400, 413},
            STATUS_CODES,
            "invalid_(json|request|request_url|grant)|validation_error|missing_version",
        ),
        VendorRejection({401}, STATUS_CODES, "unauthorized"),
        VendorRejection({403}, STATUS_CODES, "restricted_resource"),
        VendorRejection({404}, STATUS_CODES, "object_not_found"),
        # conflict_error means "The transaction could not be completed", row_limit_exceeded a full table.
        VendorRejection({409}, STATUS_CODES, "conflict_error|row_limit_exceeded"),
        VendorRejection({429, 529}, LIMITS, "rate_limited|service_overload"),
        # Not 503: according to the page on status codes, the write may have been saved.
        VendorRejection({500}, STATUS_CODES, "internal_server_error", only_ended=True),
    ),
)


def is_write_conflict(response: UpstreamResponse) -> bool:
    """Return True if another change was being saved. Other conflicts, such as a row limit, are permanent."""
    return response.status == 409 and ERRORS.reason(response).code == COLLISION


def unwrap(
    response: UpstreamResponse,
    shape: type[W],
    missing: type[errors.GatewayError] | None = None,
    names: Names = NO_NAMES,
) -> W:
    """Return the body of a successful response or raise its error, *missing* for a 404.

    If a value references an unknown object, the error names its property.
    """
    if not response.is_success:
        # HTML comes from the vendor's front end. Such a 403 does not mean that permissions are missing.
        if response.raw is None:
            raise errors.UpstreamError("The vendor's front end rejected the request.", private=response.text)
        error = response.try_decode(vendor_models.VendorError) or vendor_models.VendorError()
        if references := _mentioned_references(response, error, names):
            raise _unknown_value(response, error, references)
    return ERRORS.unwrap(response, shape, missing)


def _mentioned_references(response: UpstreamResponse, error: vendor_models.VendorError, names: Names) -> Names:
    """Return the sent identifiers that an error mentions, or all of them if a 404 mentions none."""
    message = error.message if isinstance(error.message, str) else ""
    mentioned = {str(UUID(match)) for match in _UUID.findall(message)} if response.status in {400, 404} else set()
    # A 404 without identifiers may concern each referenced page.
    if response.status == 404 and not mentioned:
        return names
    return {identifier: reference for identifier, reference in names.items() if identifier in mentioned}


def _unknown_value(response: UpstreamResponse, error: vendor_models.VendorError, names: Names) -> errors.GatewayError:
    details = [{"property": name, "value": identifier} for identifier, (_, name) in names.items()]
    quoted_names = ", ".join(dict.fromkeys(f'"{name}"' for _, name in names.values()))
    if response.status == 404 and {kind for kind, _ in names.values()} == {"relation"}:
        message = f"A page in {quoted_names} does not exist or is not shared with this connection."
        return errors.PageNotFound(message, *details, private=response.text)
    message = f"The vendor rejected the value of {quoted_names}."
    return errors.UpstreamRefused(message, *details, *reason_details(error.code, error.message), private=response.text)
