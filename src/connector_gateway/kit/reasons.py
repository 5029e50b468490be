"""Why a third party refused: our sentences for what all of them mean alike, and its own reason, cleaned to be shown."""

import re
from collections.abc import Mapping

from connector_gateway.kit.errors import (
    ConnectionRevoked,
    Detail,
    GatewayError,
    UpstreamConflict,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)

STATUSES: Mapping[int, type[GatewayError]] = {
    400: UpstreamRefused,
    401: ConnectionRevoked,
    403: UpstreamForbidden,
}
"""What a refusal means by its status alone; each connector adds what its third party means by others."""

SENTENCES: Mapping[type[GatewayError], str] = {
    ConnectionRevoked: "The authorisation of this connection was withdrawn.",
    UpstreamForbidden: "The application does not allow this connection to do that.",
    UpstreamRefused: "The application refused the values.",
    UpstreamUnexpected: "The application refused in an unknown way.",
}
"""What refusals are told with, unless a connector can say it more exactly."""

EXPLAINED = frozenset({UpstreamConflict, UpstreamForbidden, UpstreamRefused})
"""Refusals with many causes: ours says little, so they carry the vendor's own reason."""

MAX_MESSAGE = 500
"""Characters of a vendor's sentence that are passed on."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
_SECRETS = re.compile(
    r"((?:key|token|secret|password|authorization|\boauth_\w+)[\"']?\s*[=:]\s*[\"']?(?:bearer\s+)?)[^\s&\"',;}]+"
    r"|\bbearer\s+\S+",
    re.IGNORECASE,
)


def vendor_reason(code: object, message: object) -> list[Detail]:
    """The one detail that tells a vendor's own code and sentence; none where it gave no text."""
    given = {"vendor_code": _clean(code, 100), "vendor_message": _clean(message, MAX_MESSAGE)}
    told = {name: value for name, value in given.items() if value}
    return [told] if told else []


def _clean(value: object, most: int) -> str:
    """Text on one line without what looks like credentials; empty for anything that is not text."""
    if not isinstance(value, str):
        return ""
    shown = _SECRETS.sub(lambda found: f"{found[1] or ''}…", _UNPRINTABLE.sub(" ", value)).strip()
    return shown if len(shown) <= most else shown[: most - 1] + "…"
