"""What the vendor's errors mean: the table, and values of properties that name something unknown."""

import re
from collections.abc import Mapping
from typing import TypeVar
from uuid import UUID

from connector_gateway.connectors.notes import wire
from connector_gateway.kit import errors
from connector_gateway.kit.errors.table import ErrorTable, Reason, Rejection, vendor_reason
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")
Names = Mapping[str, tuple[str, str]]
"""Kind and name of the properties in which a request names pages or people, by the identifiers of these."""

NO_NAMES: Names = {}

_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b")
COLLISION = "conflict_error"


def read_reason(answer: UpstreamResponse) -> Reason | None:
    """Return the code and message of an error in the vendor's shape; the front end's HTML has none."""
    told = answer.try_decode(wire.Refusal)
    if told is None or told.object != "error" or told.status not in {None, answer.status}:
        return None
    return Reason(told.code, told.message) if isinstance(told.code, str) else None


STATUS_CODES = "developers.notion.com/reference/status-codes, read 2026-11"
LIMITS = "developers.notion.com/reference/request-limits, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    # A 409 of any other code is a full table, and a 429 that is not resent means "blocked".
    by_status={409: errors.UpstreamForbidden, 413: errors.UpstreamRefused, 429: errors.UpstreamForbidden},
    by_code={COLLISION: errors.UpstreamConflict},
    messages={
        errors.DatabaseNotShared: "The database does not exist or is not shared with this connection.",
        errors.PageNotFound: "The page does not exist or is not shared with this connection.",
        errors.UpstreamConflict: "The application refused the change because another one was being saved.",
    },
    rejections=(
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


def collides(answer: UpstreamResponse) -> bool:
    """Return True if another change was being saved; other conflicts, such as a limit of rows, last."""
    return answer.status == 409 and ERRORS.reason(answer).code == COLLISION


def unwrap(
    answer: UpstreamResponse, shape: type[W], missing: type[errors.GatewayError] | None = None, names: Names = NO_NAMES
) -> W:
    """Return the body of a successful response; raise the error of any other one, *missing* for a 404.

    If a value names something unknown, the error tells its property.
    """
    if not answer.is_success:
        # The vendor's front end answers in HTML: such a 403 says nothing about rights.
        if answer.raw is None:
            raise errors.UpstreamError("The application's doorkeeper turned the request away.", private=answer.text)
        told = answer.try_decode(wire.Refusal) or wire.Refusal()
        if named := _named(answer, told, names):
            raise _unknown_value(answer, told, named)
    return ERRORS.unwrap(answer, shape, missing)


def _named(answer: UpstreamResponse, told: wire.Refusal, names: Names) -> Names:
    """Those of the identifiers sent that a refusal is about; all of them where a 404 names nothing at all."""
    said = told.message if isinstance(told.message, str) else ""
    mentioned = {str(UUID(found)) for found in _UUID.findall(said)} if answer.status in {400, 404} else set()
    # A 404 without any identifier may be about each of the pages that were named.
    if answer.status == 404 and not mentioned:
        return names
    return {identifier: named for identifier, named in names.items() if identifier in mentioned}


def _unknown_value(answer: UpstreamResponse, told: wire.Refusal, names: Names) -> errors.GatewayError:
    details = [{"property": name, "value": identifier} for identifier, (_, name) in names.items()]
    listed = ", ".join(dict.fromkeys(f'"{name}"' for _, name in names.values()))
    if answer.status == 404 and {kind for kind, _ in names.values()} == {"relation"}:
        message = f"A page that {listed} names does not exist or is not shared with this connection."
        return errors.PageNotFound(message, *details, private=answer.text)
    message = f"The application refused what {listed} names."
    return errors.UpstreamRefused(message, *details, *vendor_reason(told.code, told.message), private=answer.text)
