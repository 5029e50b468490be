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

    def __str__(self) -> str:
        """Everything that whoever reads a traceback needs: what is wrong, what to do, and the run."""
        lines = [f"{self.told_code}: {self.message}" if self.told_code else self.message]
        lines += [f"{one.get('parameter', '')}: {one['message']}" for one in self.details if "message" in one]
        lines += [f"What to do: {self.remedy}"] if self.remedy else []
        return "\n".join([*lines, *([f"Run: {self.run_id}"] if self.run_id else [])])


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
