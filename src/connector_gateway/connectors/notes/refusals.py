"""What the vendor's refusals mean: the one table, and the error that it leads to."""

import re
from collections.abc import Mapping
from typing import TypeVar
from uuid import UUID

from connector_gateway.connectors.notes import wire
from connector_gateway.kit.errors import (
    DatabaseNotShared,
    GatewayError,
    PageNotFound,
    UpstreamConflict,
    UpstreamError,
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
    429: UpstreamForbidden,
}
"""What a refusal means; 404 depends on what was asked for, and a 429 that gets here says "blocked", not "later"."""

MESSAGES: Mapping[type[GatewayError], str] = {
    **SENTENCES,
    DatabaseNotShared: "The database does not exist or is not shared with this connection.",
    PageNotFound: "The page does not exist or is not shared with this connection.",
    UpstreamConflict: "The application refused the change because another one was being saved.",
}

Names = Mapping[str, tuple[str, str]]
"""Kind and name of the properties in which a request names pages or people, by the identifiers of these."""

NO_NAMES: Names = {}

_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b")
COLLISION = "conflict_error"


def error_code(answer: Answer) -> str | None:
    """Return the code of an error in the vendor's shape; the front end's HTML has none."""
    told = answer.glance(wire.Refusal)
    if told is None or told.object != "error" or told.status not in {None, answer.status}:
        return None
    return told.code if isinstance(told.code, str) else None


STATUS_CODES = "developers.notion.com/reference/status-codes, read 2026-11"
LIMITS = "developers.notion.com/reference/request-limits, read 2026-11"

REJECTIONS = Rejections(
    error_code,
    (
        Rejection(
            {400, 413},
            STATUS_CODES,
            "invalid_(json|request|request_url|grant)|validation_error|missing_version",
        ),
        Rejection({401}, STATUS_CODES, "unauthorized"),
        Rejection({403}, STATUS_CODES, "restricted_resource"),
        Rejection({404}, STATUS_CODES, "object_not_found"),
        # "The transaction could not be completed"; the other one is a table that is full.
        Rejection({409}, STATUS_CODES, "conflict_error|row_limit_exceeded"),
        Rejection({429, 529}, LIMITS, "rate_limited|service_overload"),
        # Not 503: the page on status codes says that a write may have been saved all the same.
        Rejection({500}, STATUS_CODES, "internal_server_error", ended=True),
    ),
)
"""The responses that prove that nothing was done."""


def collides(answer: Answer) -> bool:
    """Whether another change was being saved; other conflicts, such as a limit of rows, last."""
    return answer.status == 409 and (answer.glance(wire.Refusal) or wire.Refusal()).code == COLLISION


def unwrap(
    answer: Answer, shape: type[W], missing: type[GatewayError] = UpstreamUnexpected, names: Names = NO_NAMES
) -> W:
    """What an accepted request was answered with; a refused one raises its catalogue error, *missing* for a 404."""
    if answer.accepted:
        return answer.read(shape)
    # The vendor's front end answers in HTML: such a 403 says nothing about rights.
    if answer.raw is None:
        raise UpstreamError("The application's doorkeeper turned the request away.", private=answer.text)
    raise refusal_of(answer, missing, names)


def refusal_of(answer: Answer, missing: type[GatewayError], names: Names) -> GatewayError:
    """The catalogue error of a refusal; of a value that names something unknown, the one that tells its property."""
    told = answer.glance(wire.Refusal) or wire.Refusal()
    named = _named(answer, told, names)
    if named:
        return _unknown_value(answer, told, named)
    refusal = missing if answer.status == 404 else REFUSALS.get(answer.status, UpstreamUnexpected)
    # A full table is a 409 as well. Trying again never helps there.
    if refusal is UpstreamConflict and not collides(answer):
        refusal = UpstreamForbidden
    reason = vendor_reason(told.code, told.message) if refusal in EXPLAINED else []
    return refusal(MESSAGES[refusal], *reason, private=answer.text)


def _named(answer: Answer, told: wire.Refusal, names: Names) -> Names:
    """Those of the identifiers sent that a refusal is about; all of them where a 404 names nothing at all."""
    said = told.message if isinstance(told.message, str) else ""
    mentioned = {str(UUID(found)) for found in _UUID.findall(said)} if answer.status in {400, 404} else set()
    # A 404 without any identifier may be about each of the pages that were named.
    if answer.status == 404 and not mentioned:
        return names
    return {identifier: named for identifier, named in names.items() if identifier in mentioned}


def _unknown_value(answer: Answer, told: wire.Refusal, names: Names) -> GatewayError:
    details = [{"property": name, "value": identifier} for identifier, (_, name) in names.items()]
    listed = ", ".join(dict.fromkeys(f'"{name}"' for _, name in names.values()))
    if answer.status == 404 and {kind for kind, _ in names.values()} == {"relation"}:
        message = f"A page that {listed} names does not exist or is not shared with this connection."
        return PageNotFound(message, *details, private=answer.text)
    message = f"The application refused what {listed} names."
    return UpstreamRefused(message, *details, *vendor_reason(told.code, told.message), private=answer.text)
