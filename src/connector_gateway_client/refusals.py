"""What a call may be refused with: families of exceptions, each with what the service tells."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class GatewayError(Exception):
    """A call ended without its result."""

    code: ClassVar[str] = ""
    """The service's code, by which the class is chosen; it follows from the name of the class."""

    def __init_subclass__(cls) -> None:
        if GatewayError not in cls.__bases__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

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

        self.idempotency_key: str | None = None
        """The key of a write, also if the client created it: another call with it finds out, and writes once."""

    @property
    def reconnect_url(self) -> str | None:
        """The link by which the account's user connects it again; only keys that manage connections get one."""
        return next((one["reconnect_url"] for one in self.details if "reconnect_url" in one), None)

    def __str__(self) -> str:
        """Return the message, the violations, the remedy, the link, the key to repeat with, and the run."""
        lines = [f"{self.told_code}: {self.message}" if self.told_code else self.message]
        lines += [f"{one.get('parameter', '')}: {one['message']}" for one in self.details if "message" in one]
        lines += [f"What to do: {self.remedy}"] if self.remedy else []
        lines += [f"Connect again: {self.reconnect_url}"] if self.reconnect_url else []
        if self.idempotency_key is not None and not isinstance(self, CallerError):
            lines.append(f"Repeat with: idempotency_key={self.idempotency_key!r}")
        return "\n".join([*lines, *([f"Run: {self.run_id}"] if self.run_id else [])])


class CallerError(GatewayError):
    """The caller can put it right."""


class UpstreamFailure(GatewayError):
    """The application refused, failed or fell silent."""


class ServiceFailure(GatewayError):
    """The service is at fault, or not able just now."""


class ConnectionFailed(GatewayError):
    """The service cannot be reached, or its answer broke off."""


class InvalidResponse(GatewayError):
    """What came back is no answer of the service: a page of a proxy, or something cut."""
