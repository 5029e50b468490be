"""Meaning of the vendor's errors: the table, and the details of one error."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from connector_gateway.connectors.crm import wire
from connector_gateway.kit import errors
from connector_gateway.kit.errors.table import EXPLAINED, ErrorTable, Reason, Rejection, vendor_reason
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.wire import UnexpectedShape, convert, decode_json

W = TypeVar("W")

CODES: Mapping[str, type[errors.GatewayError]] = {
    "PROPERTY_DOESNT_EXIST": errors.PropertyNotFound,
    "INVALID_OPTION": errors.OptionMissing,
    "READ_ONLY_VALUE": errors.ReadOnlyField,
}
"""Errors by the code of one detail of a 400. Other codes mean rejected values."""

DANGLING = "INVALID_OBJECT_IDS"
"""The code of an association with a missing record."""

EXISTING_ID = re.compile(r"Existing ID:\s*(\d+)")
"""The id of the contact with an email address, which only the message contains."""


COORDINATES, TAKEN = "propertyName=", " already has that value"
"""The words around the name, the value and the record of a unique value, which only the message contains."""


def told_by(answer: UpstreamResponse) -> wire.Refusal | None:
    """Return the vendor's error. For a batch of one, return its only error."""
    if not answer.is_success:
        return answer.try_decode(wire.Refusal)
    batch = answer.try_decode(wire.Batch[object])
    faults = [] if batch is None or batch.results else _each(batch.errors, wire.Refusal)
    return faults[0] if faults else None


def read_reason(answer: UpstreamResponse) -> Reason | None:
    """Return the category and message of an error in the vendor's shape."""
    told = told_by(answer)
    if told is None:
        return None
    if isinstance(told.category, str):
        return Reason(told.category, told.message)
    # According to the vendor, each field may be missing.
    return Reason(message=told.message) if told.status == "error" and isinstance(told.message, str) else None


HANDLING = "developers.hubspot.com/docs/api-reference/latest/error-handling, read 2026-11"
LIMITS = "developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    by_status={409: errors.UpstreamConflict, 414: errors.UpstreamRefused},
    messages={
        errors.CompanyNotFound: "The portal has no such company.",
        errors.ConnectionScopeMissing: "The connection was authorised without a permission that this needs.",
        errors.ContactNotFound: "The portal has no such contact.",
        errors.DealNotFound: "The portal has no such deal.",
        errors.OptionMissing: "The application does not know one of the options.",
        errors.PropertyNotFound: "The application does not know one of the properties.",
        errors.ReadOnlyField: "The application computes one of the properties itself.",
        errors.UpstreamConflict: "The application refused because of another record or another change.",
    },
    rejections=(
        # The categories differ between endpoints, so any of them counts.
        Rejection({400, 401, 403, 404, 409, 414, 423, 477}, HANDLING),
        Rejection({429}, LIMITS),
        # An accepted batch without results, with the reason.
        Rejection({200, 207}, HANDLING),
        Rejection({500}, HANDLING, ended=True),
    ),
)


class ContactExists(errors.UpstreamConflict):
    """The email address already belongs to a contact, possibly as a secondary address."""

    def __init__(self, contact_id: str, private: str) -> None:
        super().__init__("Another contact has this address.", {"contact_id": contact_id}, private=private)


def unwrap(
    answer: UpstreamResponse,
    shape: type[W],
    missing: type[errors.GatewayError] = errors.UpstreamUnexpected,
    sought: str = "",
) -> W:
    """Return the body of a successful response or raise its error, *missing* if the vendor does not know *sought*."""
    if answer.is_success:
        return answer.decode(shape)
    raise _refusal(answer, answer.status, missing, sought)


def refuse_taken(answer: UpstreamResponse) -> None:
    """Raise ``ContactExists`` if the write was rejected for that reason."""
    # The vendor has no field for it. If the words change, the error is a plain conflict without an id.
    holder = EXISTING_ID.search(answer.text) if answer.status == 409 else None
    if holder:
        raise ContactExists(holder[1], answer.text)


def _value_taken(told: wire.Refusal, private: str) -> errors.UniqueValueTaken | None:
    """Return the error for a value that another record has, if the vendor reports one."""
    message = told.message if isinstance(told.message, str) else ""
    name, _, rest = message.partition(COORDINATES)[2].partition(", value=")
    value, closed, sentence = rest.rpartition(TAKEN)[0].rpartition("} on ")
    holder = sentence.rpartition(" ")[2]
    if not (closed and name.isidentifier() and holder.isdecimal()):
        return None
    return errors.UniqueValueTaken(
        f'Another record has this value of "{name}".',
        {"property": name, "value": value, "record_id": holder},
        private=private,
    )


def refused_within(answer: UpstreamResponse) -> errors.GatewayError:
    """Return the error of an accepted batch of one without results. Without a reason, the outcome is unknown."""
    if told_by(answer) is not None:
        return _refusal(answer, 400, errors.UpstreamUnexpected, "")
    message = "The application answered without what it did; whether it did the work is not known."
    return errors.OutcomeUnknown(message, private=answer.text, doubt="garbled")


def _refusal(
    answer: UpstreamResponse, status: int, missing: type[errors.GatewayError], sought: str
) -> errors.GatewayError:
    told = told_by(answer)
    told_of = told or wire.Refusal()
    taken = _value_taken(told_of, answer.text) if status == 409 else None
    if taken is not None:
        return taken
    # A wrong path returns 404 without the vendor's envelope, which is our error and not a missing record.
    if status == 404 and told is not None:
        return ERRORS.create_error(answer, missing, {"value": sought})
    faults = _faults(told_of)
    if status == 403 and told_of.category == "MISSING_SCOPES":
        scopes = [{"scopes": list(fault.context.required_granular_scopes)} for fault in faults if fault.context]
        return ERRORS.create_error(answer, errors.ConnectionScopeMissing, *scopes)
    if status == 400:
        refusal, details = _of_faults(faults, missing)
        return ERRORS.create_error(answer, refusal, *details)
    return ERRORS.create_error(answer, ERRORS.classify(answer))


def _of_faults(
    faults: Sequence[wire.Fault], missing: type[errors.GatewayError]
) -> tuple[type[errors.GatewayError], list[errors.Detail]]:
    """Return the error class and the details of a 400. The first known code decides, and each property has its own."""
    known = {**CODES, DANGLING: missing}
    refusals = [known.get(fault.code or "", errors.UpstreamRefused) for fault in faults]
    refusal = next((one for one in refusals if one is not errors.UpstreamRefused), errors.UpstreamRefused)
    details = [detail for one, fault in zip(refusals, faults, strict=True) for detail in _details(one, fault)]
    first = [detail for detail in details if detail["code"] == refusal.code]
    return refusal, first + [detail for detail in details if detail not in first]


def _details(refusal: type[errors.GatewayError], fault: wire.Fault) -> list[errors.Detail]:
    """Return the details of one error: the properties that it names, or only the vendor's reason."""
    context, reasons = fault.context or wire.Context(), vendor_reason(fault.code, fault.message)
    reason = reasons[0] if reasons and refusal in EXPLAINED else {}
    named = [{"property": name} for name in (*context.property_name, *context.properties)]
    return [{"code": refusal.code, **name, **reason} for name in named or [{}] if name or reason]


def _faults(told: wire.Refusal) -> Sequence[wire.Fault]:
    """Return the details of an error. Some are only in its message, as a JSON list at the end."""
    listed = _each(told.errors, wire.Fault)
    if listed or not isinstance(told.message, str):
        return listed
    # The vendor puts JSON into the text of a message and then leaves ``errors`` empty.
    _, bracket, rest = told.message.partition("[")
    try:
        embedded = _each(decode_json((bracket + rest).encode(), list[object]), wire.EmbeddedFault)
    except UnexpectedShape:
        return []
    return [
        wire.Fault(code=fault.error, message=fault.message, context=wire.Context(property_name=[fault.name]))
        for fault in embedded
    ]


def _each(listed: object, shape: type[W]) -> list[W]:
    """Return the elements of *listed* with that shape. An error counts even if parts of it cannot be decoded."""
    found = []
    for one in listed if isinstance(listed, list) else ():
        with suppress(UnexpectedShape):
            found.append(convert(one, shape))
    return found
