"""What the vendor's errors mean: the table, and the texts that mostly tell more than the status."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Raw

from connector_gateway.connectors.boards import wire
from connector_gateway.kit import errors
from connector_gateway.kit.errors.table import ErrorTable, Reason, Rejection
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")

TEXTS: Sequence[tuple[re.Pattern[str], type[errors.GatewayError]]] = (
    (re.compile(r"(invalid|expired) (app )?(token|key)", re.IGNORECASE), errors.ConnectionRevoked),
    (re.compile(r"missing scopes", re.IGNORECASE), errors.ConnectionScopeMissing),
    (re.compile(r"List \S+ does not exist|model not found|could not find the board"), errors.ListNotFound),
    (re.compile(r"invalid value for idList$"), errors.ListNotFound),
)
"""Refusals that are known by their first words."""

MARKUP = ("<", "{", "[")
"""How an answer begins that is not made of sentences."""

_CREDENTIALS = re.compile(r"((?:key|token|\boauth_\w+)=)[^&\s\"']+|\bATTA[0-9A-Za-z]+|\b[0-9a-fA-F]{32,}\b")


@dataclass(frozen=True, slots=True)
class MissingTarget:
    """What a request names, and the refusal when the vendor knows nothing of it."""

    refusal: type[errors.GatewayError]
    parameter: str
    value: str


def read_reason(answer: UpstreamResponse) -> Reason | None:
    """Return the code and text of an error; None for a page of HTML, JSON of another shape, or nothing.

    The vendor answers in JSON sometimes, mostly in plain text.
    """
    told = answer.try_decode(wire.Refusal)
    if told is not None:
        return Reason(scrubbed(told.code), scrubbed(told.words)) if told.code or told.words else None
    text = answer.text.strip()
    # A number or null is JSON of another shape, and no sentence.
    is_sentence = not text.startswith(MARKUP) and answer.try_decode(Raw) is None
    return Reason(message=scrubbed(text)) if text and is_sentence else None


def scrubbed(text: str) -> str:
    """Return *text* without credentials, which the vendor repeats when it quotes an address."""
    return _CREDENTIALS.sub(lambda found: f"{found[1] or ''}…", text)


STATUS_CODES = "developer.atlassian.com/cloud/trello/guides/rest-api/status-codes, read 2026-11"
LIMITS = "developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    # A 429 that is not resent says "too much", not "later".
    by_status={
        401: errors.BoardNotAuthorised,
        409: errors.UpstreamConflict,
        413: errors.UpstreamRefused,
        414: errors.UpstreamRefused,
        429: errors.UpstreamRefused,
    },
    messages={
        errors.BoardNotAuthorised: "The board does not exist, or the account may not do that on it.",
        errors.CardNotFound: "There is no such card that the account can see.",
        errors.ConnectionScopeMissing: "This connection was authorised for reading only.",
        errors.ListNotFound: "There is no such list on the board.",
        errors.UpstreamConflict: "The application refused the change because of another one.",
        errors.UpstreamForbidden: "The application does not allow this, because of a limit, its plan or its policy.",
    },
    # Most of these are for a limit, which nobody can lift.
    remedies={
        errors.UpstreamForbidden: "Read the application's reason in details: stay below its limit, or have the board's "
        "administrators allow it.",
    },
    rejections=(
        # The texts vary, so that the status counts, with a body that is one of the vendor's: a sentence, or its JSON.
        Rejection({400, 401, 403, 404, 409}, STATUS_CODES),
        Rejection({429}, LIMITS, "[A-Z]+(_[A-Z]+)+"),
        # No 500: the vendor documents no text of its own for it, so it is like any failure in front of the vendor.
    ),
    private=lambda answer: scrubbed(answer.text),
)


def to_gateway_error(answer: UpstreamResponse, sought: MissingTarget | None) -> type[errors.GatewayError]:
    """Return the error of a failed request; a 401 that names no credentials does not speak of them."""
    said = str(ERRORS.reason(answer).message)
    # A 401 means a dead token as well as a board that one may not see. Only the words tell which.
    known = next((error for text, error in TEXTS if text.match(said)), None)
    if known is not None and answer.status in {400, 401, 404}:
        return known
    if sought and answer.status == 400 and said.lower() == "invalid id":
        return sought.refusal
    return ERRORS.classify(answer, sought.refusal if sought else None)


def unwrap(answer: UpstreamResponse, shape: type[W], sought: MissingTarget | None = None) -> W:
    """Return the body of a successful response; raise the error of any other one, which names what was *sought*."""
    if answer.is_success:
        return answer.decode(shape)
    refusal = to_gateway_error(answer, sought)
    named = sought is not None and refusal in {sought.refusal, errors.BoardNotAuthorised}
    names = [{"parameter": sought.parameter, "value": sought.value}] if sought and named else []
    raise ERRORS.create_error(answer, refusal, *names)
