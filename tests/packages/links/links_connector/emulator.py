"""The emulator of the bookmark service."""

import sys
from types import MappingProxyType
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse
from workspace_sandbox.kit.routes import Route
from workspace_sandbox.kit.state.seed_values import SeedValue
from workspace_sandbox.kit.user_actions import UserActions

TOKEN = "linkbase-token-1"
PAGE_SIZE = 2


class LinkError(VendorErrorResponse):
    """An error in the vendor's form."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self._status = status

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error."""
        return web.json_response({"error": str(self)}, status=self._status)


def unknown_route(_: web.Request, status: int) -> LinkError:
    """Return the error for an unknown path or method."""
    return LinkError(status, "unknown_route")


def too_large() -> LinkError:
    """Return the error for a large body."""
    return LinkError(413, "too_large")


def not_implemented(message: str) -> LinkError:
    """Return the error for a route that is not emulated."""
    return LinkError(501, message)


def throttled(_: EmulatorContext, seconds: float) -> LinkError:
    """Return the error for a throttled client."""
    return LinkError(429, f"wait {seconds:g} seconds")


def failed() -> LinkError:
    """Return the internal error."""
    return LinkError(500, "failed")


class LinksEmulator(Emulator):
    """A bookmark service with three bookmarks of one account."""

    knobs: ClassVar[dict[str, Any]] = {}
    user_actions: UserActions = MappingProxyType({})
    routes = (
        Route(method="GET", path="/links", handler="list_links"),
        Route(method="POST", path="/links", handler="create_link"),
    )
    errors = sys.modules[__name__]

    def create_default_data(self) -> None:
        """Create three bookmarks."""
        self.revoked = False
        self.links = [{"id": f"l{number}", "href": f"https://{number}.example", "note": ""} for number in range(1, 4)]

    def credentials(self) -> dict[str, str]:
        """Return the token of the account."""
        return {"token": TOKEN}

    def client(self) -> dict[str, str]:
        """Return nothing, because the service has no OAuth apps."""
        return {}

    def revoke(self) -> None:
        """Revoke the token."""
        self.revoked = True

    def authorise(self) -> None:
        """Restore the token."""
        self.revoked = False

    def examples(self) -> dict[str, Any]:
        """Return a bookmark."""
        return {"link_id": "l1"}

    def apply_seed(self, data: SeedValue) -> dict[str, Any]:
        """Create nothing."""
        del data
        return {}

    async def serve(self, route: Route[str], request: web.Request) -> web.StreamResponse:
        """Return the response to a request."""
        if self.revoked or request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise LinkError(401, "unauthorised")
        await self.context.wait_if_delayed()
        if route.handler == "create_link":
            self.links.append({"id": f"l{len(self.links) + 1}", **await request.json()})
            return web.json_response(self.links[-1], status=201)
        notes = request.query.getall("note", [])
        links = [one for one in self.links if not notes or one["note"] in notes]
        start = int(request.query.get("after", 0))
        following = str(start + PAGE_SIZE) if start + PAGE_SIZE < len(links) else None
        return web.json_response({"links": links[start : start + PAGE_SIZE], "next": following})
