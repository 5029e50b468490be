"""How a vendor turns requests down."""

from typing import Protocol, TypeVar

from aiohttp import web

from workspace_sandbox.kit.stage import EmulatorContext

T = TypeVar("T")


class Refused(Exception):
    """Ends a request with the vendor's own refusal, from wherever in the emulator it is raised."""

    def response(self, stage: EmulatorContext) -> web.Response:
        """Return the refusal as the vendor sends it."""
        raise NotImplementedError


class RefusedWith(Refused):
    """A refusal whose response is ready, such as a page."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(response.status)
        self._response = response

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the response."""
        return self._response


class Refusals(Protocol):
    """Refusals of requests that no route answers. Each emulator's module of refusals has these functions."""

    def unknown(self, request: web.Request, status: int) -> Refused:
        """Return the refusal of a path, or of a method (*status* 405), that the vendor does not have."""
        ...

    def too_large(self) -> Refused:
        """Return the refusal of a body that is too large for the emulator."""
        ...

    def absent(self, message: str) -> Refused:
        """Return the refusal of a route that the vendor has and the emulator does not play."""
        ...

    def throttled(self, stage: EmulatorContext, seconds: float) -> Refused:
        """Return the refusal of a client that has to wait for *seconds*."""
        ...

    def failed(self) -> Refused:
        """Return the vendor's internal error."""
        ...


def require(found: T | None, refusal: Exception | type[Exception]) -> T:
    """Return *found*; raise *refusal* if there is nothing."""
    if found is None:
        raise refusal
    return found
