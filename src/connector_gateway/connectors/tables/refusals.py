"""What the vendor's refusals mean: the one table, and the error that it leads to."""

from collections.abc import Mapping
from typing import TypeVar

from connector_gateway.connectors.tables import wire
from connector_gateway.kit.errors import (
    BaseNotFound,
    Detail,
    FieldNotFound,
    FileTooLarge,
    GatewayError,
    InvalidCursor,
    RecordNotFound,
    SelectOptionMissing,
    TableNotFound,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
    ViewNotFound,
)
from connector_gateway.kit.reasons import EXPLAINED, SENTENCES, STATUSES, vendor_reason
from connector_gateway.kit.rejections import Rejection, Rejections
from connector_gateway.kit.transport import Answer

W = TypeVar("W")

PLAN_USED_UP = "PUBLIC_API_BILLING_LIMIT_EXCEEDED"
"""The requests that the plan allows in a month are used up."""

REFUSALS: Mapping[str, type[GatewayError]] = {
    "INVALID_PERMISSIONS": UpstreamForbidden,
    "LIST_RECORDS_ITERATOR_NOT_AVAILABLE": InvalidCursor,
    "VIEW_NAME_NOT_FOUND": ViewNotFound,
    "VIEW_ID_NOT_FOUND": ViewNotFound,
    "UNKNOWN_FIELD_NAME": FieldNotFound,
    "INVALID_MULTIPLE_CHOICE_OPTIONS": SelectOptionMissing,
    PLAN_USED_UP: UpstreamForbidden,
}
"""What a refusal means by its type; a missing option is told in words about permissions, but is no 403."""

BY_STATUS: Mapping[int, type[GatewayError]] = {
    **STATUSES,
    413: FileTooLarge,
    422: UpstreamRefused,
    429: UpstreamForbidden,
}
"""What it means by its status, where the type says nothing more; a 429 that gets here says "never", not "later"."""

NOT_THERE = "INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND"
"""A base or table that does not exist, or not for this token: the vendor does not say which."""

MESSAGES: Mapping[type[GatewayError], str] = {
    **SENTENCES,
    BaseNotFound: "The base does not exist or is not shared with this connection.",
    FieldNotFound: "The table has no such field.",
    FileTooLarge: "The application does not take files of this size.",
    InvalidCursor: "The list this cursor belongs to is no longer kept by the application.",
    RecordNotFound: "The table has no such record.",
    SelectOptionMissing: "A select value is not a configured option, and the account may not add one.",
    TableNotFound: "The table does not exist or is not shared with this connection.",
    ViewNotFound: "The table has no such view.",
}

PARAMETERS: Mapping[type[GatewayError], str] = {BaseNotFound: "base_id", RecordNotFound: "record_id"}

REMEDIES: Mapping[str, str] = {
    PLAN_USED_UP: "Wait for the next month, or have the plan of the application's workspace enlarged.",
}
"""What to do about refusals that are about no permission."""


def unwrap(
    answer: Answer,
    shape: type[W],
    missing: type[GatewayError] = RecordNotFound,
    model: type[GatewayError] = TableNotFound,
    **named: str,
) -> W:
    """What an accepted request was answered with; a refused one raises its catalogue error.

    *missing* is what a 404 means here, *model* what is absent when the vendor speaks of a model.
    *named* are the parameters that tell of what may be absent.
    """
    if answer.accepted:
        return answer.read(shape)
    told = reason(answer)
    # Types before statuses: a missing option is told as a lack of permission, under the status of bad values.
    by_type, by_status = {**REFUSALS, NOT_THERE: model}, {**BY_STATUS, 404: missing}
    refusal = by_type.get(told.type) or by_status.get(answer.status, UpstreamUnexpected)
    details = vendor_reason(told.type, told.message) if refusal in EXPLAINED else _absent(refusal, named)
    private = f"{told.type}: {told.message}" if told.type else answer.text
    raise refusal(MESSAGES[refusal], *details, private=private, remedy=REMEDIES.get(told.type))


def error_code(answer: Answer) -> str | None:
    """Return the type of an error in one of the vendor's three envelopes."""
    return reason(answer).type or None


ERRORS = "airtable.com/developers/web/api/errors, read 2026-11"
TYPE = "[A-Z][A-Z0-9]*(_[A-Z0-9]+)*"

REJECTIONS = Rejections(
    error_code,
    (
        Rejection({400, 401, 403, 404, 413, 422}, ERRORS, TYPE),
        Rejection({429}, "airtable.com/developers/web/api/rate-limits, read 2026-11", TYPE),
        # Its message says that the request was not processed and may be sent again; other 503 do not.
        Rejection({503}, ERRORS, "RETRIABLE_ERROR"),
        Rejection({500}, ERRORS, TYPE, ended=True),
    ),
)
"""The responses that prove that nothing was done."""


def _absent(refusal: type[GatewayError], named: Mapping[str, str]) -> list[Detail]:
    """The parameter that names what does not exist."""
    parameter = PARAMETERS.get(refusal, "")
    return [{"parameter": parameter, "value": named[parameter]}] if parameter in named else []


def reason(answer: Answer) -> wire.Reason:
    """Type and message of a refusal, from whichever of the vendor's three envelopes; empty where there is none."""
    # The vendor's throttle answers in an envelope of its own.
    limits = answer.glance(wire.Refusals)
    if limits is not None and limits.errors:
        return wire.Reason(type=limits.errors[0].error, message=limits.errors[0].message)
    refusal = answer.glance(wire.Refusal)
    if refusal is None:
        return wire.Reason()
    return wire.Reason(type=refusal.error) if isinstance(refusal.error, str) else refusal.error
