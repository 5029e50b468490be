"""What the vendor's refusals mean: the one table, and the error that it leads to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Raw

from connector_gateway.connectors.boards import wire
from connector_gateway.kit.errors import (
    BoardNotAuthorised,
    CardNotFound,
    ConnectionRevoked,
    ConnectionScopeMissing,
    Detail,
    GatewayError,
    ListNotFound,
    UpstreamConflict,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.reasons import EXPLAINED, SENTENCES, STATUSES, vendor_reason
from connector_gateway.kit.rejections import Rejection, Rejections
from connector_gateway.kit.transport import Answer

W = TypeVar("W")

TEXTS: Sequence[tuple[re.Pattern[str], type[GatewayError]]] = (
    (re.compile(r"(invalid|expired) (app )?(token|key)", re.IGNORECASE), ConnectionRevoked),
    (re.compile(r"missing scopes", re.IGNORECASE), ConnectionScopeMissing),
    (re.compile(r"List \S+ does not exist|model not found|could not find the board"), ListNotFound),
    (re.compile(r"invalid value for idList$"), ListNotFound),
)
"""Refusals that are known by their first words."""

REFUSALS: Mapping[int, type[GatewayError]] = {
    **STATUSES,
    401: BoardNotAuthorised,
    409: UpstreamConflict,
    413: UpstreamRefused,
    414: UpstreamRefused,
    429: UpstreamRefused,
}
"""What others mean; a 404 depends on what was asked for, and a 429 that gets here says "too much", not "later"."""

MESSAGES: Mapping[type[GatewayError], str] = {
    **SENTENCES,
    BoardNotAuthorised: "The board does not exist, or the account may not do that on it.",
    CardNotFound: "There is no such card that the account can see.",
    ConnectionScopeMissing: "This connection was authorised for reading only.",
    ListNotFound: "There is no such list on the board.",
    UpstreamConflict: "The application refused the change because of another one.",
    UpstreamForbidden: "The application does not allow this, because of a limit, its plan or its policy.",
}

REMEDIES: Mapping[type[GatewayError], str] = {
    UpstreamForbidden: "Read the application's reason in details: stay below its limit, or have the board's "
    "administrators allow it.",
}
"""Where the catalogue's remedy does not fit: most of these refusals are for a limit, which nobody can lift."""

MARKUP = ("<", "{", "[")
"""How an answer begins that is not made of sentences."""

_CREDENTIALS = re.compile(r"((?:key|token|\boauth_\w+)=)[^&\s\"']+|\bATTA[0-9A-Za-z]+|\b[0-9a-fA-F]{32,}\b")


@dataclass(frozen=True, slots=True)
class Sought:
    """What a request names, and the refusal when the vendor knows nothing of it."""

    refusal: type[GatewayError]
    parameter: str
    value: str


def told_by(answer: Answer) -> wire.Refusal:
    """What the vendor says of a refusal: sometimes JSON, mostly plain text."""
    return answer.glance(wire.Refusal) or wire.Refusal(message=answer.text.strip())


def error_code(answer: Answer) -> str | None:
    """Return the code or the text of a refusal; None for a page of HTML, JSON of another shape, or nothing."""
    told = answer.glance(wire.Refusal)
    if told is not None:
        return told.code or told.words or None
    text = answer.text.strip()
    # A number or null is JSON of another shape, and no sentence.
    is_sentence = not text.startswith(MARKUP) and answer.glance(Raw) is None
    return text if text and is_sentence else None


STATUS_CODES = "developer.atlassian.com/cloud/trello/guides/rest-api/status-codes, read 2026-11"
LIMITS = "developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits, read 2026-11"

REJECTIONS = Rejections(
    error_code,
    (
        # The texts vary, so that the status counts, with a body that is one of the vendor's: a sentence, or its JSON.
        Rejection({400, 401, 403, 404, 409}, STATUS_CODES),
        Rejection({429}, LIMITS, "[A-Z]+(_[A-Z]+)+"),
    ),
)
"""The responses that prove that nothing was done. The vendor says most of them in plain text.

It documents no text of its own for a 500, so that one is like any other failure in front of it.
"""


def scrubbed(text: str) -> str:
    """*text* without credentials, which the vendor repeats when it quotes an address."""
    return _CREDENTIALS.sub(lambda found: f"{found[1] or ''}…", text)


def reason(answer: Answer) -> list[Detail]:
    """The vendor's reason for callers; none where it gave a page of HTML, or JSON of an unknown shape."""
    told = told_by(answer)
    words = "" if told.words.startswith(MARKUP) else scrubbed(told.words)
    return vendor_reason(scrubbed(told.code), words)


def refusal_of(answer: Answer, sought: Sought | None) -> type[GatewayError]:
    """What a refused request means; of a 401 that names no credentials it is taken for granted that they are good."""
    said = told_by(answer).words
    # A 401 means a dead token as well as a board that one may not see. Only the words tell which.
    known = next((error for text, error in TEXTS if text.match(said)), None)
    if known is not None and answer.status in {400, 401, 404}:
        return known
    if sought and (answer.status == 404 or (answer.status == 400 and said.lower() == "invalid id")):
        return sought.refusal
    return REFUSALS.get(answer.status, UpstreamUnexpected)


def unwrap(answer: Answer, shape: type[W], sought: Sought | None = None) -> W:
    """What an accepted request was answered with; a refused one raises its catalogue error."""
    if answer.accepted:
        return answer.read(shape)
    refusal = refusal_of(answer, sought)
    named = sought is not None and refusal in {sought.refusal, BoardNotAuthorised}
    names = [{"parameter": sought.parameter, "value": sought.value}] if sought and named else []
    reasons = reason(answer) if refusal in EXPLAINED else []
    private, remedy = scrubbed(answer.text), REMEDIES.get(refusal)
    raise refusal(MESSAGES[refusal], *names, *reasons, private=private, remedy=remedy)
