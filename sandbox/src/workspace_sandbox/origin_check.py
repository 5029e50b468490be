"""Protection of the control routes: local programs may use them, pages of other origins in a browser may not."""

from collections.abc import Callable
from ipaddress import ip_address

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

ErrorResponse = Callable[[int, str], web.Response]

FORM_TYPES = frozenset({"text/plain", "multipart/form-data"})
"""Content types that a page can send to any origin without a preflight request. No program needs them here."""

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def reject_cross_origin(host: str, error_response: ErrorResponse) -> Middleware:
    """Return a middleware that rejects cross-origin requests from pages to a sandbox that listens on *host*."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if (origin := request.headers.get("Origin")) is not None:
            return error_response(
                403, f"A page ({origin[:100]}) cannot control the sandbox; programs send no Origin header."
            )
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return error_response(403, "Web pages cannot control the sandbox.")
        # With DNS rebinding, the sandbox would share the origin of a malicious page.
        if _is_local(host) and _host_name(request.host) not in {*LOCAL_NAMES, host}:
            return error_response(
                403, f"The sandbox listens only on this machine, not under the name {request.host[:100]}."
            )
        if request.body_exists and request.content_type in FORM_TYPES:
            return error_response(415, f"A body of {request.content_type} is not accepted; send application/json.")
        return await handler(request)

    return guard


def _host_name(host: str) -> str:
    """Return the name or address in a ``Host`` header, without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].lower()


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
