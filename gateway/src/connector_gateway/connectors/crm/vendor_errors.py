"""Meaning of the vendor's errors: the table, and the details of one error."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.kit import errors
from connector_gateway.kit.errors.vendor_error_table import (
    ERRORS_WITH_REASON,
    ErrorTable,
    Reason,
    VendorRejection,
    reason_details,
)
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import UnexpectedShape, convert, decode_json

W = TypeVar("W")

ERROR_MAP: Mapping[str, type[errors.GatewayError]] = {
    "PROPERTY_DOESNT_EXIST": errors.PropertyNotFound,
    "INVALID_OPTION": errors.OptionMissing,
    "READ_ONLY_VALUE": errors.ReadOnlyField,
}
"""Errors by the code of one detail of a 400. Other codes mean rejected values."""

MISSING_ASSOCIATION = "INVALID_OBJECT_IDS"
"""The code of an association with a missing record."""

EXISTING_ID = re.compile(r"Existing ID:\s*(\d+)")
"""The id of the contact with an email address, which only the message contains."""


COORDINATES, TAKEN = "propertyName=", " already has that value"
"""The words around the name, the value and the record of a unique value, which only the message contains."""


def parse_vendor_error(response: UpstreamResponse) -> vendor_models.VendorError | None:
    """Return the vendor's error. For a batch of one, return its only error."""
    if not response.is_success:
        return response.try_decode(vendor_models.VendorError)
    batch = response.try_decode(vendor_models.Batch[object])
    batch_errors = [] if batch is None or batch.results else _decode_each(batch.errors, vendor_models.VendorError)
    return batch_errors[0] if batch_errors else None


def read_reason(response: UpstreamResponse) -> Reason | None:
    """Return the category and message of an error in the vendor's shape."""
    error = parse_vendor_error(response)
    if error is None:
        return None
    if isinstance(error.category, str):
        return Reason(error.category, error.message)
    # According to the vendor, each field may be missing.
    return Reason(message=error.message) if error.status == "error" and isinstance(error.message, str) else None


HANDLING = "developers.hubspot.com/docs/api-reference/latest/error-handling, read 2026-11"
LIMITS = "developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    by_status={409: errors.UpstreamConflict, 414: errors.UpstreamRefused},
    messages={
        errors.CompanyNotFound: "The portal has no such company.",
        errors.ConnectionScopeMissing: "The connection was authorised without a permission that this operation needs.",
        errors.ContactNotFound: "The portal has no such contact.",
        errors.DealNotFound: "The portal has no such deal.",
        errors.OptionMissing: "The vendor does not have one of the options.",
        errors.PropertyNotFound: "The vendor does not have one of the properties.",
        errors.ReadOnlyField: "The vendor computes one of the properties.",
        errors.UpstreamConflict: "The vendor rejected the write because of another record or change.",
    },
    rejections=(
        # The categories differ between endpoints, so any of them counts.
        VendorRejection({400, 401, 403, 404, 409, 414, 423, 477}, HANDLING),
        VendorRejection({429}, LIMITS),
        # An accepted batch without results, with the reason.
        VendorRejection({200, 207}, HANDLING),
        VendorRejection({500}, HANDLING, only_ended=True),
    ),
)


class ContactExists(errors.UpstreamConflict):
    """The email address already belongs to a contact, possibly as a secondary address."""

    def __init__(self, contact_id: str, private: str) -> None:
        super().__init__("Another contact has this address.", {"contact_id": contact_id}, private=private)


def unwrap(
    response: UpstreamResponse,
    shape: type[W],
    missing: type[errors.GatewayError] = errors.UpstreamUnexpected,
    requested_id: str = "",
) -> W:
    """Return the body of a successful response or raise its error, *missing* if the vendor has no *requested_id*."""
    if response.is_success:
        return response.decode(shape)
    raise _to_error(response, response.status, missing, requested_id)


def check_not_taken(response: UpstreamResponse) -> None:
    """Raise ``ContactExists`` if the write was rejected for that reason."""
    # The vendor has no field for it. If the words change, the error is a plain conflict without an id.
    match = EXISTING_ID.search(response.text) if response.status == 409 else None
    if match:
        raise ContactExists(match[1], response.text)


def _unique_value_error(error: vendor_models.VendorError, private: str) -> errors.UniqueValueTaken | None:
    """Return the error for a value that another record has, if the vendor reports one."""
    message = error.message if isinstance(error.message, str) else ""
    name, _, rest = message.partition(COORDINATES)[2].partition(", value=")
    value, closed, sentence = rest.rpartition(TAKEN)[0].rpartition("} on ")
    holder_id = sentence.rpartition(" ")[2]
    if not (closed and name.isidentifier() and holder_id.isdecimal()):
        return None
    return errors.UniqueValueTaken(
        f'Another record has this value of "{name}".',
        {"property": name, "value": value, "record_id": holder_id},
        private=private,
    )


def batch_error(response: UpstreamResponse) -> errors.GatewayError:
    """Return the error of an accepted batch of one without results. Without a reason, the outcome is unknown."""
    if parse_vendor_error(response) is not None:
        return _to_error(response, 400, errors.UpstreamUnexpected, "")
    message = "The vendor's response does not contain the result, so the outcome is unknown."
    return errors.OutcomeUnknown(message, private=response.text, doubt="garbled")


def _to_error(
    response: UpstreamResponse, status: int, missing: type[errors.GatewayError], requested_id: str
) -> errors.GatewayError:
    vendor_error = parse_vendor_error(response)
    error_fields = vendor_error or vendor_models.VendorError()
    taken_error = _unique_value_error(error_fields, response.text) if status == 409 else None
    if taken_error is not None:
        return taken_error
    # A wrong path returns 404 without the vendor's envelope, which is our error and not a missing record.
    if status == 404 and vendor_error is not None:
        return ERRORS.create_error(response, missing, {"value": requested_id})
    vendor_details = _error_details(error_fields)
    if status == 403 and error_fields.category == "MISSING_SCOPES":
        scopes = [
            {"scopes": list(detail.context.required_granular_scopes)} for detail in vendor_details if detail.context
        ]
        return ERRORS.create_error(response, errors.ConnectionScopeMissing, *scopes)
    if status == 400:
        error_class, details = _classify_details(vendor_details, missing)
        return ERRORS.create_error(response, error_class, *details)
    return ERRORS.create_error(response, ERRORS.classify(response))


def _classify_details(
    vendor_details: Sequence[vendor_models.ErrorDetail], missing: type[errors.GatewayError]
) -> tuple[type[errors.GatewayError], list[errors.Detail]]:
    """Return the error class and the details of a 400. The first known code decides, and each property has its own."""
    error_map = {**ERROR_MAP, MISSING_ASSOCIATION: missing}
    error_classes = [
        error_map.get(vendor_detail.code or "", errors.UpstreamRefused) for vendor_detail in vendor_details
    ]
    error_class = next((one for one in error_classes if one is not errors.UpstreamRefused), errors.UpstreamRefused)
    details = [
        detail
        for one, vendor_detail in zip(error_classes, vendor_details, strict=True)
        for detail in _details(one, vendor_detail)
    ]
    first = [detail for detail in details if detail["code"] == error_class.code]
    return error_class, first + [detail for detail in details if detail not in first]


def _details(error_class: type[errors.GatewayError], vendor_detail: vendor_models.ErrorDetail) -> list[errors.Detail]:
    """Return the details of one error: the properties that it names, or only the vendor's reason."""
    context, reasons = (
        vendor_detail.context or vendor_models.ErrorContext(),
        reason_details(vendor_detail.code, vendor_detail.message),
    )
    reason = reasons[0] if reasons and error_class in ERRORS_WITH_REASON else {}
    properties = [{"property": name} for name in (*context.property_name, *context.properties)]
    return [{"code": error_class.code, **name, **reason} for name in properties or [{}] if name or reason]


def _error_details(error: vendor_models.VendorError) -> Sequence[vendor_models.ErrorDetail]:
    """Return the details of an error. Some are only in its message, as a JSON list at the end."""
    details = _decode_each(error.errors, vendor_models.ErrorDetail)
    if details or not isinstance(error.message, str):
        return details
    # The vendor puts JSON into the text of a message and then leaves ``errors`` empty.
    _, bracket, rest = error.message.partition("[")
    try:
        embedded = _decode_each(decode_json((bracket + rest).encode(), list[object]), vendor_models.EmbeddedErrorDetail)
    except UnexpectedShape:
        return []
    return [
        vendor_models.ErrorDetail(
            code=detail.error, message=detail.message, context=vendor_models.ErrorContext(property_name=[detail.name])
        )
        for detail in embedded
    ]


def _decode_each(elements: object, shape: type[W]) -> list[W]:
    """Return the items of *elements* with that shape. An error counts even if parts of it cannot be decoded."""
    decoded = []
    for one in elements if isinstance(elements, list) else ():
        with suppress(UnexpectedShape):
            decoded.append(convert(one, shape))
    return decoded
