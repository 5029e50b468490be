"""The vendor's errors, from https://acme.example/docs/errors."""

from collections.abc import Mapping
from types import MappingProxyType

from aiohttp import web

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import VendorErrorResponse


class AcmeError(VendorErrorResponse):
    """An error in the vendor's form."""

    def __init__(self, status: int, code: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(code)
        self._status, self._headers = status, headers

    def response(self, _: EmulatorContext) -> web.Response:
        """Return the error."""
        return web.json_response({"error": str(self)}, status=self._status, headers=self._headers)


def unauthorised() -> AcmeError:
    """Return the error for a missing, unknown or expired token."""
    return AcmeError(401, "unauthorised")


def unknown_route(_: web.Request, status: int) -> AcmeError:
    """Return the error for an unknown path or method."""
    return AcmeError(status, "unknown_route")


def too_large() -> AcmeError:
    """Return the error for a large body."""
    return AcmeError(413, "too_large")


def not_implemented(message: str) -> AcmeError:
    """Return the error for a route of the vendor that is not emulated."""
    return AcmeError(501, message)


def throttled(_: EmulatorContext, seconds: float) -> AcmeError:
    """Return the error for a client that has to wait."""
    return AcmeError(429, "rate_limited", {"Retry-After": f"{seconds:.3f}"})


def failed() -> AcmeError:
    """Return the vendor's internal error."""
    return AcmeError(500, "internal")
