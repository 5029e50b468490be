"""The base class of all errors, and their three families."""

import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

Detail = Mapping[str, Any]
"""Machine-readable facts about one error: ``parameter``, ``property``, ``value``, ``allowed``, ``index`` …"""

SUBJECT_KEYS = frozenset({"parameter", "property", "field", "scopes", "vendor_code"})
"""The keys of a detail that name the subject of the error."""

KEY = ("header", "Authorization")
CONNECTION = ("parameter", "connection_id")
BODY = ("parameter", "body")
"""The locations of errors: the API key, the connection and the body."""

VALUE = {"value"}
"""The keys of a detail that has a value without its subject."""

InDoubtReason = Literal["failed", "edge", "garbled", "cut", "silent", "interrupted"]
"""The reason why the outcome of a write is unknown: the vendor reported a failure, an edge in front of it did so while
the request may continue, the response was unreadable, the connection broke, no response arrived in time, or this
service stopped during the write.
"""


class GatewayError(Exception):
    """An error that ends a call without its result.

    ``message`` is safe to return to the caller. ``private`` is for the log and may contain the vendor's text. ``doubt``
    is set if a write may have been carried out, and gives the reason why that is unknown.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    """The name of the class in snake case, which is part of the public contract."""

    remedy: str
    """The next step, with references in braces (``core.calls.remedies``). An instance can have a more specific one."""

    subject_parameters: ClassVar[tuple[str, ...]] = ()
    """The parameters that name the subject of the error, if an operation has one of them."""

    location: ClassVar[tuple[str, str] | None] = None
    """The kind and name of the part of a request that the error is about, by default the first of
    ``subject_parameters``.
    """

    def __init_subclass__(cls, *, status: int | None = None) -> None:
        """Add the class to the catalogue with *status* and its own code.

        A class without a status shares the entry of its parent.
        """
        super().__init_subclass__()
        if status is not None:
            cls.status, cls.code = status, re.sub(r"\B[A-Z]", r"_\g<0>", cls.__name__).lower()

    def __init__(
        self,
        message: str,
        *details: Detail,
        private: str = "",
        retry_after: float | None = None,
        doubt: InDoubtReason | None = None,
        remedy: str | None = None,
        dry_run: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)
        self.private = private
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        self.doubt = doubt
        self.dry_run = dry_run
        """The result of a dry run, for responses only."""

        if remedy is not None:
            self.remedy = remedy

    @classmethod
    def default_location(cls) -> Mapping[str, str]:
        """Return the location of details that have none."""
        kind, name = cls.location or (
            ("parameter", cls.subject_parameters[0]) if cls.subject_parameters else ("place", "request")
        )
        return {kind: name}

    def attach_subject(self, parameters: Mapping[str, Any]) -> None:
        """Name the parameter that the error is about, unless its details already name a subject."""
        name = next((name for name in self.subject_parameters if parameters.get(name) is not None), None)
        if name is None or any(not SUBJECT_KEYS.isdisjoint(detail) for detail in self.details):
            return
        others = [detail for detail in self.details if detail.keys() != VALUE]
        self.details = [{"parameter": name, "value": parameters[name]}, *others]


class CallerError(GatewayError):
    """An error that the caller can correct."""


class UpstreamFailure(GatewayError):
    """The vendor rejected the request, failed or did not respond."""


class ServiceFailure(GatewayError):
    """This service failed, or is unavailable."""
