"""What the vendor's errors mean: the table, and the faults within one error."""

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
"""What the code of one fault within a 400 means; others are refused values."""

DANGLING = "INVALID_OBJECT_IDS"
"""The code of an association with a record that is not there."""

EXISTING_ID = re.compile(r"Existing ID:\s*(\d+)")
"""The only place where the vendor tells which contact has an address."""


COORDINATES, TAKEN = "propertyName=", " already has that value"
"""The words around the name, the value and the holder of a unique value, which only the vendor's text tells."""


def told_by(answer: UpstreamResponse) -> wire.Refusal | None:
    """Return what the vendor says of an error; of a batch of one, of its only error."""
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
    # The vendor says that each field may be missing.
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
        # An accepted batch that has no results and says why.
        Rejection({200, 207}, HANDLING),
        Rejection({500}, HANDLING, ended=True),
    ),
)


class ContactExists(errors.UpstreamConflict):
    """The address belongs to a contact already, perhaps as a second one."""

    def __init__(self, contact_id: str, private: str) -> None:
        super().__init__("Another contact has this address.", {"contact_id": contact_id}, private=private)


def unwrap(
    answer: UpstreamResponse,
    shape: type[W],
    missing: type[errors.GatewayError] = errors.UpstreamUnexpected,
    sought: str = "",
) -> W:
    """Return the body of a success or raise the error: *missing* if the vendor does not know what was *sought*."""
    if answer.is_success:
        return answer.decode(shape)
    raise _refusal(answer, answer.status, missing, sought)


def refuse_taken(answer: UpstreamResponse) -> None:
    """Raise ``ContactExists`` if that is why the write was refused."""
    # The vendor has no field for it. If the words change, the refusal is a plain conflict and nothing is guessed.
    holder = EXISTING_ID.search(answer.text) if answer.status == 409 else None
    if holder:
        raise ContactExists(holder[1], answer.text)


def _value_taken(told: wire.Refusal, private: str) -> errors.UniqueValueTaken | None:
    """Return the error for a value that another record has, if that is what the vendor says."""
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
    """Return the error of a successful batch of one in which nothing was done: a doubt if it does not say why."""
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
    # A wrong path answers 404 without the vendor's envelope; that is our fault and not a missing record.
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
    """What the faults of a 400 mean: the first that is known decides, and each property is told with its own code."""
    known = {**CODES, DANGLING: missing}
    refusals = [known.get(fault.code or "", errors.UpstreamRefused) for fault in faults]
    refusal = next((one for one in refusals if one is not errors.UpstreamRefused), errors.UpstreamRefused)
    details = [detail for one, fault in zip(refusals, faults, strict=True) for detail in _details(one, fault)]
    first = [detail for detail in details if detail["code"] == refusal.code]
    return refusal, first + [detail for detail in details if detail not in first]


def _details(refusal: type[errors.GatewayError], fault: wire.Fault) -> list[errors.Detail]:
    """One fault: each property that it names, or the vendor's own reason alone."""
    context, reasons = fault.context or wire.Context(), vendor_reason(fault.code, fault.message)
    reason = reasons[0] if reasons and refusal in EXPLAINED else {}
    named = [{"property": name} for name in (*context.property_name, *context.properties)]
    return [{"code": refusal.code, **name, **reason} for name in named or [{}] if name or reason]


def _faults(told: wire.Refusal) -> Sequence[wire.Fault]:
    """The faults of a refusal; some are told only within its message, as a JSON list at its end."""
    listed = _each(told.errors, wire.Fault)
    if listed or not isinstance(told.message, str):
        return listed
    # The vendor puts JSON into the text of a message, and leaves ``errors`` empty then.
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
    """Those of *listed* that have that shape; a refusal means something however it looks."""
    found = []
    for one in listed if isinstance(listed, list) else ():
        with suppress(UnexpectedShape):
            found.append(convert(one, shape))
    return found
