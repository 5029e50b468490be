"""Return URLs: users who have connected an account are redirected to allowed URLs only."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from connector_gateway.kit.errors import InvalidParameters

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def check_return_url(url: str | None, allowed: Sequence[str]) -> None:
    """Raise ``InvalidParameters`` unless the workspace allows *url*."""
    if url is not None and not is_allowed(url, allowed):
        raise InvalidParameters(
            "return_url is not one of the return_urls of the workspace.",
            {"parameter": "return_url", "value": url, "allowed": list(allowed)},
        )


def is_allowed(url: str, allowed: Sequence[str]) -> bool:
    """Return True if *url* without its query is one of *allowed*. The app is allowed to add a query."""
    return url_problem(url) == "" and url.partition("?")[0] in allowed


def url_problem(url: str) -> str:
    """Return the reason why *url* is invalid as a return URL, or an empty string if it is valid."""
    if not url.isascii() or not url.isprintable() or set(url) & set(" \\<>\"'`"):
        return "has characters that a URL cannot contain"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "cannot be read"
    if not host or parts.username is not None or "#" in url:
        return "needs a host, and cannot contain a user name or fragment"
    if parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK):
        return ""
    return "should begin with https://; http:// is for this machine only"
