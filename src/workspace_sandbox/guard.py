"""Who may steer: programs on this machine, and no page that a browser shows."""

from collections.abc import Callable
from ipaddress import ip_address

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

Refuse = Callable[[int, str], web.Response]

FORM_TYPES = frozenset({"text/plain", "multipart/form-data"})
"""What a page can send anywhere without asking first, and no program needs here."""

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def reject_cross_origin(host: str, refuse: Refuse) -> Middleware:
    """Refuses what a page of another origin sends to a sandbox that listens on *host*."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if (origin := request.headers.get("Origin")) is not None:
            return refuse(403, f"A page ({origin[:100]}) may not steer the sandbox; programs send no Origin.")
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return refuse(403, "A page may not steer the sandbox.")
        # A name that its owner points at this machine would make the sandbox that page's own origin.
        if _is_local(host) and _name(request.host) not in {*LOCAL_NAMES, host}:
            return refuse(403, f"The sandbox listens on this machine alone, and is not called {request.host[:100]}.")
        if request.body_exists and request.content_type in FORM_TYPES:
            return refuse(415, f"A body of {request.content_type} is not read; send application/json.")
        return await handler(request)

    return guard


def _name(host: str) -> str:
    """The name or address in a ``Host`` header, without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].lower()


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
