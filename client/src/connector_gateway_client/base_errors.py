"""The base classes of the exceptions that calls raise."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class GatewayError(Exception):
    """The base class of all errors of a call."""

    code: ClassVar[str] = ""
    """The error code of the service for this class, derived from the name of the class."""

    def __init_subclass__(cls) -> None:
        if GatewayError not in cls.__bases__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        service_code: str = "",
        remedy: str = "",
        details: Sequence[Mapping[str, Any]] = (),
        run_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """The HTTP status. None if there was no response."""

        self.service_code = service_code or self.code
        """The error code as sent, even if this release of the client does not know it."""

        self.remedy = remedy
        self.details = details
        self.run_id = run_id
        self.retry_after = retry_after
        """Seconds after which the same call can succeed."""

        self.idempotency_key: str | None = None
        """The idempotency key of a write, given or generated. A retry with it writes at most once."""

    @property
    def reconnect_url(self) -> str | None:
        """The link with which the user reconnects the account. Only keys that manage connections receive it."""
        return next((one["reconnect_url"] for one in self.details if "reconnect_url" in one), None)

    def __str__(self) -> str:
        """Return the message, the violations, the remedy, the link, the key to repeat with, and the run."""
        lines = [f"{self.service_code}: {self.message}" if self.service_code else self.message]
        lines += [f"{one.get('parameter', '')}: {one['message']}" for one in self.details if "message" in one]
        lines += [f"What to do: {self.remedy}"] if self.remedy else []
        lines += [f"Connect again: {self.reconnect_url}"] if self.reconnect_url else []
        if self.idempotency_key is not None and not isinstance(self, CallerError):
            lines.append(f"Repeat with: idempotency_key={self.idempotency_key!r}")
        return "\n".join([*lines, *([f"Run: {self.run_id}"] if self.run_id else [])])


class CallerError(GatewayError):
    """The request was rejected, and the caller can correct it."""


class UpstreamFailure(GatewayError):
    """The vendor rejected the request, failed, or did not respond."""


class ServiceFailure(GatewayError):
    """The service failed, or is temporarily unavailable."""


class ConnectionFailed(GatewayError):
    """The service is unreachable, or its response was interrupted."""


class InvalidResponse(GatewayError):
    """The response is not one of the service, such as a page of a proxy or a truncated body."""
