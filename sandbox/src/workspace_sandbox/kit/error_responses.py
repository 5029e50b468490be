"""The vendors' error responses."""

from typing import Protocol, TypeVar

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext

T = TypeVar("T")


class VendorErrorResponse(Exception):
    """Ends a request with the vendor's error response. It can be raised anywhere in an emulator."""

    def response(self, context: EmulatorContext) -> web.Response:
        """Return the error in the vendor's format."""
        raise NotImplementedError


class PreparedErrorResponse(VendorErrorResponse):
    """An error with a prepared response, such as a page."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(response.status)
        self._response = response

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the prepared response."""
        return self._response


class ErrorFactory(Protocol):
    """The errors of requests that no handler serves. Each emulator's ``errors`` module has these functions."""

    def unknown_route(self, request: web.Request, status: int) -> VendorErrorResponse:
        """Return the error for an unknown path, or for an unknown method (*status* 405)."""

    def too_large(self) -> VendorErrorResponse:
        """Return the error for a body that exceeds the emulator's limit."""

    def not_implemented(self, message: str) -> VendorErrorResponse:
        """Return the error for a vendor's route that is not emulated."""

    def throttled(self, context: EmulatorContext, seconds: float) -> VendorErrorResponse:
        """Return the error for a client that has to wait for *seconds*."""

    def failed(self) -> VendorErrorResponse:
        """Return the vendor's internal error."""


def require(value: T | None, error: Exception | type[Exception]) -> T:
    """Return *value*, or raise *error* if it is None."""
    if value is None:
        raise error
    return value
