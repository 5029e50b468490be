"""The meaning of the vendor's errors, by status and by text. The text is often more specific than the status."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Raw

from connector_gateway.connectors.boards import vendor_models
from connector_gateway.kit import errors
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")

TEXTS: Sequence[tuple[re.Pattern[str], type[errors.GatewayError]]] = (
    (re.compile(r"(invalid|expired) (app )?(token|key)", re.IGNORECASE), errors.ConnectionRevoked),
    (re.compile(r"missing scopes", re.IGNORECASE), errors.ConnectionScopeMissing),
    (re.compile(r"List \S+ does not exist|model not found|could not find the board"), errors.ListNotFound),
    (re.compile(r"invalid value for idList$"), errors.ListNotFound),
)
"""Error classes by the first words of the error text."""

MARKUP = ("<", "{", "[")
"""First characters of responses that are not sentences."""

_CREDENTIALS = re.compile(r"((?:key|token|\boauth_\w+)=)[^&\s\"']+|\bATTA[0-9A-Za-z]+|\b[0-9a-fA-F]{32,}\b")


@dataclass(frozen=True, slots=True)
class MissingTarget:
    """The object that a request names, and its error if the vendor does not know it."""

    error_class: type[errors.GatewayError]
    parameter: str
    value: str


def read_reason(response: UpstreamResponse) -> Reason | None:
    """Return the code and text of an error, or None for HTML, JSON of another shape, or an empty body.

    The vendor responds mostly in plain text, sometimes in JSON.
    """
    error = response.try_decode(vendor_models.VendorError)
    if error is not None:
        return (
            Reason(remove_credentials(error.code), remove_credentials(error.words))
            if error.code or error.words
            else None
        )
    text = response.text.strip()
    # A number or null is JSON of another shape, not a sentence.
    is_sentence = not text.startswith(MARKUP) and response.try_decode(Raw) is None
    return Reason(message=remove_credentials(text)) if text and is_sentence else None


def remove_credentials(text: str) -> str:
    """Return *text* without credentials, which the vendor repeats when it quotes a URL."""
    return _CREDENTIALS.sub(lambda match: f"{match[1] or ''}…", text)


STATUS_CODES = "developer.atlassian.com/cloud/trello/guides/rest-api/status-codes, read 2026-11"
LIMITS = "developer.atlassian.com/cloud/trello/guides/rest-api/rate-limits, read 2026-11"

ERRORS = ErrorTable(
    read_reason,
    # A 429 that is not retried means "too much", not "later".
    by_status={
        401: errors.BoardNotAuthorised,
        409: errors.UpstreamConflict,
        413: errors.UpstreamRefused,
        414: errors.UpstreamRefused,
        429: errors.UpstreamRefused,
    },
    messages={
        errors.BoardNotAuthorised: "The board does not exist, or the account may not do this on it.",
        errors.CardNotFound: "The card does not exist, or the account cannot see it.",
        errors.ConnectionScopeMissing: "The connection was authorised for reading only.",
        errors.ListNotFound: "The board has no such list.",
        errors.UpstreamConflict: "The vendor rejected the write because of another change.",
        errors.UpstreamForbidden: "The vendor does not allow this, because of a limit, the account's plan or a policy.",
    },
    # Most of these are for a limit that cannot be raised.
    remedies={
        errors.UpstreamForbidden: "Read the vendor's reason in details. Stay below its limit, or ask the board's "
        "administrators to allow this.",
    },
    rejections=(
        # The texts vary, so the status counts, with a body in one of the vendor's forms: a sentence, or its JSON.
        VendorRejection({400, 401, 403, 404, 409}, STATUS_CODES),
        VendorRejection({429}, LIMITS, "[A-Z]+(_[A-Z]+)+"),
        # No 500: the vendor documents no text for it, so it cannot be distinguished from a failure of a proxy.
    ),
    private=lambda response: remove_credentials(response.text),
)


def to_gateway_error(response: UpstreamResponse, target: MissingTarget | None) -> type[errors.GatewayError]:
    """Return the error class of a failed request. A 401 that does not mention credentials is not about them."""
    message = str(ERRORS.reason(response).message)
    # A 401 means either an invalid token or an inaccessible board. Only the text distinguishes them.
    matching_error = next((error for text, error in TEXTS if text.match(message)), None)
    if matching_error is not None and response.status in {400, 401, 404}:
        return matching_error
    if target and response.status == 400 and message.lower() == "invalid id":
        return target.error_class
    return ERRORS.classify(response, target.error_class if target else None)


def unwrap(response: UpstreamResponse, shape: type[W], target: MissingTarget | None = None) -> W:
    """Return the body of a successful response, or raise its error, which names the object *target*."""
    if response.is_success:
        return response.decode(shape)
    error_class = to_gateway_error(response, target)
    names_target = target is not None and error_class in {target.error_class, errors.BoardNotAuthorised}
    names = [{"parameter": target.parameter, "value": target.value}] if target and names_target else []
    raise ERRORS.create_error(response, error_class, *names)
