"""The webhook sender: one request with one event, to a URL that is reachable from the public internet."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver

from connector_gateway.core.access.return_urls import LOOPBACK, url_problem
from connector_gateway.core.public_urls.allowed_addresses import is_public, restricted_connector
from connector_gateway.kit.errors import InvalidParameters, UrlNotAllowed

TIMEOUT_SECONDS = 15.0
"""Seconds that a receiver may take to respond. The convention suggests 15 to 30."""

MAX_URL = 2000

Result = Literal["accepted", "refused", "timed_out", "unreachable", "not_allowed"]


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """The result of one request."""

    result: Result
    status: int | None
    retry_after: float
    """Seconds to wait, as the receiver requested, or 0."""

    duration_ms: float

    @property
    def gone(self) -> bool:
        """Whether the receiver demands that all deliveries stop."""
        return self.status == 410


class WebhookSender:
    """Sends events while it is open. If *private* is set, private and loopback addresses are allowed too."""

    def __init__(
        self, *, private: bool, seconds: float = TIMEOUT_SECONDS, resolver: AbstractResolver | None = None
    ) -> None:
        self.private = private
        self._seconds = seconds
        self._resolver = resolver

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=restricted_connector(
                self._resolver,
                lambda address: self.private or is_public(address),
                create_error=lambda: UrlNotAllowed("The URL is not public.", {"parameter": "url"}),
            ),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "connector-gateway", "Content-Type": "application/json"},
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    def check(self, url: str) -> None:
        """Raise ``InvalidParameters`` if events cannot be delivered to *url*. Host names are checked per request."""
        problem = url_problem(url) or self._host_problem(urlsplit(url).hostname or "")
        if len(url) > MAX_URL or problem:
            raise InvalidParameters(
                "Events cannot be delivered to this URL.",
                {"parameter": "url", "value": url, "message": f"The URL {problem or 'is too long'}"},
            )

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryAttempt:
        """Send *body*. Errors are reported in the result."""
        started_at = time.perf_counter()
        status, retry_after = None, 0.0
        try:
            # Do not follow redirects: the workspace has not approved their target.
            async with (
                asyncio.timeout(self._seconds),
                self._session.post(url, data=body, headers=headers, allow_redirects=False) as response,
            ):
                status, retry_after = response.status, _seconds(response.headers.get("Retry-After", ""))
            result: Result = "accepted" if status in range(200, 300) else "refused"
        except UrlNotAllowed:
            result = "not_allowed"
        except TimeoutError:
            result = "timed_out"
        except (aiohttp.ClientError, OSError, ValueError):
            result = "unreachable"
        return DeliveryAttempt(result, status, retry_after, (time.perf_counter() - started_at) * 1000)

    def _host_problem(self, host: str) -> str:
        """Return why *host* is forbidden, if that is known without resolving it, or an empty string."""
        numeric = ":" in host or host.replace(".", "").isdigit()
        is_private = host in LOOPBACK or (numeric and not is_public(host))
        return "is not public" if is_private and not self.private else ""


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0
