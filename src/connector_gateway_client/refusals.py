"""What a call may be refused with: families of exceptions, each with what the service tells."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class GatewayError(Exception):
    """A call ended without its result."""

    code: ClassVar[str] = ""
    """The service's code, by which the class is chosen."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        told_code: str = "",
        remedy: str = "",
        details: Sequence[Mapping[str, Any]] = (),
        run_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """The HTTP status; None where no answer came."""

        self.told_code = told_code or self.code
        """The code as it was told, also where this release of the client does not know it."""

        self.remedy = remedy
        self.details = details
        self.run_id = run_id
        self.retry_after = retry_after
        """Seconds after which the same call may succeed."""


class CallerError(GatewayError):
    """The caller can put it right."""


class UpstreamFailure(GatewayError):
    """The application refused, failed or fell silent."""


class ServiceFailure(GatewayError):
    """The service is at fault, or not able just now."""


class NoAnswer(GatewayError):
    """The service cannot be reached, or its answer broke off."""


class UnreadableAnswer(GatewayError):
    """What came back is no answer of the service: a page of a proxy, or something cut."""
