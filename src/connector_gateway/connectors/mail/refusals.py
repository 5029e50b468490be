"""What the vendor's refusals mean: the one table, and the error that it leads to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from connector_gateway.connectors.mail import wire
from connector_gateway.kit.errors import (
    AttachmentNotFound,
    ConnectionScopeMissing,
    Detail,
    GatewayError,
    InvalidCursor,
    MessageNotFound,
    ThreadNotFound,
    UpstreamConflict,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.reasons import EXPLAINED, SENTENCES, STATUSES, vendor_reason
from connector_gateway.kit.rejections import Rejection, Rejections
from connector_gateway.kit.transport import Answer

W = TypeVar("W")

REFUSALS: Mapping[int, type[GatewayError]] = {
    **STATUSES,
    409: UpstreamConflict,
    413: UpstreamRefused,
    414: UpstreamRefused,
}
"""What a refusal means; 404 depends on what was asked for."""

REASONS: Mapping[str, type[GatewayError]] = {
    "insufficientPermissions": ConnectionScopeMissing,
    "accessNotConfigured": UpstreamUnexpected,
    "failedPrecondition": UpstreamForbidden,
}
"""What a reason says more exactly than its status."""

REMEDIES: Mapping[str, str] = {
    "failedPrecondition": (
        "Check what was to be changed, and the account: the labels of a draft stay as they are, "
        "and an account whose mail service is switched off can do nothing."
    ),
}
"""What to do about a reason, where it is something else than its refusal mostly calls for."""

MESSAGES: Mapping[type[GatewayError], str] = {
    **SENTENCES,
    AttachmentNotFound: "The message has no such attachment.",
    ConnectionScopeMissing: "The connection was authorised without a permission that this needs.",
    InvalidCursor: "The application does not know the cursor any more.",
    MessageNotFound: "The mailbox has no such message.",
    ThreadNotFound: "The mailbox has no such thread.",
    UpstreamConflict: "The application refused because of another change.",
}


def fault_of(answer: Answer) -> wire.Fault:
    """What the vendor says of its refusal; nothing where that is not told as the vendor does."""
    told = answer.glance(wire.Refusal)
    return wire.Fault() if told is None else told.error


def reason_of(answer: Answer) -> str:
    """The vendor's word for why it refused; empty where it gives none."""
    fault = fault_of(answer)
    return next((told.reason for told in (*fault.errors, *fault.details) if told.reason), "")


def error_code(answer: Answer) -> str | None:
    """Return the reason or status of an error in the vendor's shape, which repeats the HTTP status."""
    fault = fault_of(answer)
    return (reason_of(answer) or fault.status or None) if fault.code in {None, answer.status} else None


ERRORS = "developers.google.com/workspace/gmail/api/guides/handle-errors, read 2026-11"
CANONICAL = "cloud.google.com/apis/design/errors, read 2026-11"

REJECTIONS = Rejections(
    error_code,
    (
        # The reasons were seen in several spellings; the shape and the status are what can be relied on.
        Rejection({400, 401, 403, 429}, ERRORS),
        Rejection({404, 409, 413}, CANONICAL),
        Rejection({500}, ERRORS, "backendError|internalError|INTERNAL", ended=True),
    ),
)
"""The responses that prove that nothing was done."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What a request names, and the refusal when the vendor knows nothing of it."""

    refusal: type[GatewayError]
    parameter: str
    value: str | None = None
    """As the caller sent it; None where the vendor was given another name."""

    @property
    def detail(self) -> Detail:
        """What a refusal tells of it."""
        return {"parameter": self.parameter} | ({} if self.value is None else {"value": self.value})


def unwrap(answer: Answer, shape: type[W], sought: Sought | None = None, *, named: bool = False) -> W:
    """What an accepted request was answered with; a refused one raises its catalogue error, as of ``refuse``."""
    if not answer.accepted:
        refuse(answer, sought, named=named)
    return answer.read(shape)


def refuse(answer: Answer, sought: Sought | None = None, *, named: bool = False) -> NoReturn:
    """Raise what a refusal means.

    A 404 means that what was *sought* is missing; so does a 400 where nothing but its identifier was *named*.
    """
    reason, fault = reason_of(answer), fault_of(answer)
    refusal = REASONS.get(reason) or REFUSALS.get(answer.status, UpstreamUnexpected)
    if sought and (answer.status == 404 or (named and refusal is UpstreamRefused)):
        raise sought.refusal(MESSAGES[sought.refusal], sought.detail, private=answer.text)
    told = vendor_reason(reason or fault.status, fault.message) if refusal in EXPLAINED else []
    raise refusal(MESSAGES[refusal], *told, private=answer.text, remedy=REMEDIES.get(reason))
